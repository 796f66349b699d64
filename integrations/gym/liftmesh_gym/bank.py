"""The environment: one child process, which simulates the bank in virtual time."""

import json
import os
import subprocess

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

#: What each decision costs, as the keys of `weights` and of `info["costs"]`: person-seconds at a
#: landing; person-seconds until the destination; starts and metres of all cars, for their energy.
COSTS = ("waiting", "journey", "starts", "metres")

#: The columns of `observation["cars"]`, from the least to the greatest value; `None` is the top.
CAR = {
    "floor": (0, None),
    "next_stop": (0, None),
    "stop_at": (0, None),
    "motion": (-1, 1),
    "direction": (-1, 1),
    "door": (0, 3),
    "since": (0, 60),
    "load": (0, 100),
}


class LiftmeshError(RuntimeError):
    """The program is missing, refused a request, or ended."""


class BankEnv(gymnasium.Env):
    """A bank of cars whose hall calls the agent assigns, one call per step.

    `building` is A12, B16, car-park, express, crites-barto, or the path of a TOML file.
    `pattern` (up, lunch, down, inter), `rate` (per cent of the population in five minutes),
    `minutes` (of arrivals) and `reassign` (seconds after which a call may change its car, or None)
    are defaults for `reset(options=...)`. `weights` has a weight for some of `COSTS`; the reward is
    minus the weighted sum. `program` is the path of liftmesh [default: $LIFTMESH, or the PATH].
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        building="A12",
        pattern="lunch",
        rate=8.0,
        minutes=10.0,
        reassign=None,
        weights=None,
        program=None,
    ):
        self.weights = {"waiting": 1.0} if weights is None else dict(weights)
        if unknown := set(self.weights) - set(COSTS):
            raise ValueError(f"no cost is called {', '.join(sorted(unknown))}: use {COSTS}")
        self.options = dict(pattern=pattern, rate=rate, minutes=minutes, reassign=reassign)
        program = program or os.environ.get("LIFTMESH", "liftmesh")
        command = [program, "lab", "gym", "--building", str(building)]
        pipe = subprocess.PIPE
        try:
            self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise LiftmeshError(f"{program} can't be run: set LIFTMESH to its path") from error
        shape = self._read()
        cars, floors = shape["cars"], shape["floors"]
        top = floors - 1
        low = [least for least, _ in CAR.values()]
        high = [top if most is None else most for _, most in CAR.values()]

        def box(low, high, shape):
            low, high = (np.broadcast_to(np.float32(it), shape) for it in (low, high))
            return Box(low, high, dtype=np.float32)

        self.observation_space = Dict(
            cars=box(low, high, (cars, len(CAR))),
            car_calls=box(0, 1, (cars, floors)),
            waits=box(-1, 3600, (2, floors)),
            assigned=box(0, 1, (cars, 2, floors)),
            call=box([0, -1, 0], [top, 1, 3600], (3,)),
        )
        self.action_space = Discrete(cars)
        # The parts in the order in which the program sends them: a `Dict` space sorts its keys.
        self._parts, begin = [], 0
        for name in ("cars", "car_calls", "waits", "assigned", "call"):
            part = self.observation_space[name].shape
            end = begin + int(np.prod(part))
            self._parts.append((name, slice(begin, end), part))
            begin = end

    def reset(self, *, seed=None, options=None):
        """Begins an episode. The options are those of the class, and `seed`: that of the passengers
        alone, as `liftmesh lab traffic --seed` has it."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**32))
        observation, _, _, _, info = self._begin(**{"seed": drawn, **(options or {})})
        return observation, info

    def step(self, action):
        return self._ask({"step": int(action)})

    def play(self, strategy, seed, **options):
        """Lets a strategy of the fleet decide a whole episode, such as planner or collective, with
        the passengers of this seed; returns the `info` at the end. Call `reset` afterwards."""
        return self._begin(seed=seed, strategy=strategy, **options)[4]

    def close(self):
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()

    def _begin(self, **options):
        return self._ask({"reset": {**self.options, **options}})

    def _ask(self, request):
        try:
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()
        except OSError:
            pass  # It has ended, which is what the answer shows.
        moment = self._read()
        flat = np.array(moment["observation"], dtype=np.float32)
        observation = {name: flat[part].reshape(shape) for name, part, shape in self._parts}
        costs = moment["costs"]
        reward = -float(sum(weight * costs[name] for name, weight in self.weights.items()))
        info = {
            "costs": costs,
            "time": moment["time"],
            "arrived": moment["arrived"],
            "action_mask": np.array(moment["mask"], dtype=np.int8),
        }
        return observation, reward, moment["terminated"], moment["truncated"], info

    def _read(self):
        line = self._child.stdout.readline()
        if not line:
            code = self._child.wait()
            raise LiftmeshError(f"liftmesh lab gym ended with {code}; standard error says why")
        answer = json.loads(line)
        if "error" in answer:
            raise LiftmeshError(answer["error"])
        return answer

#!/usr/bin/env python3
"""Trains a linear dispatcher in under a minute, and compares it with others on fresh passengers.

A decision gives the call to the car with the least score, a weighted sum of seven features. The
cross-entropy method finds the weights: it draws candidates, plays each, and moves to the best.

    python3 example.py --svg gym.svg        # needs gymnasium, numpy; matplotlib for --svg
"""

import argparse
import time

import gymnasium
import numpy as np

import liftmesh_gym  # noqa: F401, registers the environment

FEATURES = ["distance", "turns first", "other way", "car calls", "hall calls", "load", "stop there"]
STRATEGIES = ["nearest-car", "time-to-idle", "collective", "planner"]


def features(observation):
    """One row for each car, all columns about 0 to 1."""
    floor, way, _ = observation["call"]
    cars, floors = observation["car_calls"].shape
    _, at, _, motion, direction, _, _, load = observation["cars"].T
    heading = np.where(motion != 0, motion, direction)
    calls = observation["assigned"].sum(axis=1) + observation["car_calls"]
    return np.column_stack([
        np.abs(at - floor) / floors,
        (floor - at) * heading < 0,
        way * heading < 0,
        observation["car_calls"].sum(axis=1) / 4,
        observation["assigned"].sum(axis=(1, 2)) / 4,
        load / 100,
        calls[:, int(floor)] > 0,
    ])


def linear(weights):
    def choose(observation, mask):
        return int(np.argmin(np.where(mask, features(observation) @ weights, np.inf)))

    return choose


def at_random(seed=0):
    random = np.random.default_rng(seed)
    return lambda _, mask: int(random.choice(np.flatnonzero(mask)))


def mean_wait(env, choose, seed):
    """The mean wait of the passengers of a seed, s, and the number of decisions."""
    observation, info = env.reset(options={"seed": int(seed)})
    total, decisions, ended = info["costs"]["waiting"], 0, False
    while not ended:
        observation, _, terminated, ended, info = env.step(choose(observation, info["action_mask"]))
        ended |= terminated
        decisions += 1
        total += info["costs"]["waiting"]
    return total / info["arrived"], decisions


def train(env, generations=8, candidates=16, episodes=3, seed=1, say=print):
    """Returns the weights, and what the mean of the candidates' distribution cost by generation."""
    random = np.random.default_rng(seed)
    mean, spread = np.zeros(len(FEATURES)), np.ones(len(FEATURES))
    curve, total, begun = [], 0, time.perf_counter()
    for generation in range(generations):
        passengers = random.integers(2**31, 2**32, episodes)
        drawn = mean + spread * random.standard_normal((candidates, len(FEATURES)))
        scores = []
        for weights in drawn:
            runs = [mean_wait(env, linear(weights), seed) for seed in passengers]
            scores.append(np.mean([wait for wait, _ in runs]))
            total += sum(decisions for _, decisions in runs)
        best = drawn[np.argsort(scores)[: candidates // 4]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        curve.append((min(scores), float(np.median(scores))))
        rate = total / (time.perf_counter() - begun)
        say(f"generation {generation + 1}: mean wait {min(scores):.1f} s (best), "
            f"{np.median(scores):.1f} s (median); {rate:.0f} decisions/s")
    return mean, curve


def compare(env, weights, seeds):
    """The mean waits by dispatcher, on passengers that the training did not see."""
    agents = {"random": at_random(), "linear": linear(weights)}
    waits = {}
    for name, agent in agents.items():
        waits[name] = [mean_wait(env, agent, seed)[0] for seed in seeds]
    for strategy in STRATEGIES:
        runs = [env.unwrapped.play(strategy, int(seed)) for seed in seeds]
        waits[strategy] = [run["costs"]["waiting"] / run["arrived"] for run in runs]
    return waits


def plot(curve, waits, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "liftmesh", "font.size": 9})
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    steps = range(1, len(curve) + 1)
    left.plot(steps, [best for best, _ in curve], "o-", label="best candidate")
    left.plot(steps, [median for _, median in curve], "o--", label="median candidate")
    left.set(xlabel="generation", ylabel="mean wait, s", title="Training", ylim=0)
    left.legend()
    names = sorted(waits, key=lambda name: -np.mean(waits[name]))
    means = [np.mean(waits[name]) for name in names]
    errors = [1.96 * np.std(waits[name], ddof=1) / len(waits[name]) ** 0.5 for name in names]
    colours = ["tab:orange" if name == "linear" else "tab:blue" for name in names]
    right.barh(names, means, xerr=errors, color=colours)
    right.set(xlabel="mean wait, s", title=f"{len(waits['linear'])} fresh seeds")
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--building", default="A12", help="a building of the lab, or a TOML file")
    parser.add_argument("--pattern", default="lunch", choices=["up", "lunch", "down", "inter"])
    parser.add_argument("--rate", type=float, default=10.0, help="%% of the population in 5 min")
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--svg", metavar="PATH", help="plot to this file")
    args = parser.parse_args()
    env = gymnasium.make(
        "liftmesh/Bank-v0", building=args.building, pattern=args.pattern, rate=args.rate
    )
    weights, curve = train(env, args.generations)
    for name, weight in zip(FEATURES, weights):
        print(f"  {name:12} {weight:+.2f}")
    waits = compare(env, weights, range(1000, 1020))
    env.close()
    print("mean wait on fresh seeds, s")
    for name in sorted(waits, key=lambda name: np.mean(waits[name])):
        print(f"  {name:12} {np.mean(waits[name]):5.1f}")
    if args.svg:
        plot(curve, waits, args.svg)


if __name__ == "__main__":
    main()

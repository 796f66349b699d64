"""Against Gymnasium's own checker and the program itself: LIFTMESH has its path."""

import os
import time
import unittest

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import example
from liftmesh_gym import COSTS, BankEnv, LiftmeshError


def play(env, seed, actions=None):
    """The rewards, the costs in all, and the last observation of an episode of the first able car,
    or of random actions."""
    observation, info = env.reset(seed=seed)
    random, rewards, costs, ended = np.random.default_rng(actions), [], dict(info["costs"]), False
    while not ended:
        able = np.flatnonzero(info["action_mask"])
        action = able[0] if actions is None else random.choice(able)
        observation, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        rewards.append(reward)
        for name in COSTS:
            costs[name] += info["costs"][name]
    return rewards, costs, observation


class Bank(unittest.TestCase):
    def env(self, **options):
        env = BankEnv(**options)
        self.addCleanup(env.close)
        return env

    def test_gymnasium_accepts_it(self):
        for building in ["A12", "car-park", "crites-barto"]:
            env = gymnasium.make("liftmesh/Bank-v0", building=building, disable_env_checker=True)
            check_env(env.unwrapped)
            env.close()

    def test_every_observation_is_in_its_space(self):
        env = self.env(rate=12, reassign=2)
        observation, info = env.reset(seed=1)
        seen = {name: part.copy() for name, part in observation.items()}
        for _ in range(2000):
            self.assertIn(observation, env.observation_space)
            observation, _, terminated, _, info = env.step(env.action_space.sample())
            for name, part in observation.items():
                np.maximum(seen[name], part, out=seen[name])
            if terminated:
                observation, info = env.reset()
        # Each column of the cars, each car's calls, each call is in use.
        self.assertTrue((seen["cars"] > 0).all() and seen["assigned"].any(axis=(1, 2)).all())
        self.assertGreater((seen["waits"] >= 0).sum(), 12)
        self.assertEqual((seen["waits"][0, -1], seen["waits"][1, 0]), (-1, -1), "no such buttons")

    def test_a_seed_reproduces_an_episode(self):
        env, other = self.env(), self.env()
        rewards, costs, last = play(env, 5, actions=1)
        again = play(other, 5, actions=1)
        self.assertEqual((rewards, costs), again[:2])
        for name, part in last.items():
            np.testing.assert_array_equal(part, again[2][name])
        self.assertNotEqual(rewards, play(env, 6, actions=1)[0], "other passengers")
        self.assertNotEqual(rewards, play(env, 5, actions=2)[0], "other decisions")
        # Without a seed come other passengers, whom the seed before determines as well.
        following = play(env, None)[0]
        self.assertEqual(following, play(other, None)[0])
        self.assertNotEqual(following, play(env, 5)[0])

    def test_the_reward_is_minus_the_weighted_costs(self):
        weights = {"waiting": 0.5, "journey": 2.0, "starts": 30.0, "metres": 4.0}
        _, costs, _ = play(self.env(weights=weights), 3)
        self.assertTrue(all(costs[name] > 0 for name in COSTS), costs)
        self.assertGreater(costs["journey"], costs["waiting"])
        for some in [weights, {"waiting": 1.0}, {"starts": 7.0}]:
            env = self.env(weights=some)
            first = env.reset(seed=3)[1]["costs"]
            rewards, again, _ = play(env, 3)
            self.assertEqual(again, costs)
            expected = -sum(weight * (costs[name] - first[name]) for name, weight in some.items())
            self.assertAlmostEqual(sum(rewards), expected, places=6)
        with self.assertRaisesRegex(ValueError, "no cost is called energy"):
            BankEnv(weights={"energy": 1})

    def test_an_error_says_what_is_wrong(self):
        with self.assertRaisesRegex(LiftmeshError, "set LIFTMESH to its path"):
            BankEnv(program="/nowhere/liftmesh")
        with self.assertRaisesRegex(LiftmeshError, "ended with"):
            BankEnv(building="tower")
        env = self.env()
        with self.assertRaisesRegex(LiftmeshError, "rate must be 0.1 to 100 %"):
            env.reset(options={"rate": 500})
        env.reset(seed=1)
        env.step(0)

    def test_a_short_training_beats_random_decisions(self):
        env = self.env(rate=10, minutes=5)
        quiet = {"say": lambda _: None}
        weights, _ = example.train(env, generations=3, candidates=8, episodes=1, **quiet)
        waits = example.compare(env, weights, range(500, 506))
        means = {name: round(float(np.mean(wait)), 1) for name, wait in waits.items()}
        print(f"\nmean wait on fresh seeds, s: {means}")
        self.assertLess(means["linear"], 0.8 * means["random"])

    def test_decisions_per_second(self):
        for reassign in [None, 1.0]:
            env = self.env(rate=12, reassign=reassign)
            decisions, begun, seed = 0, time.perf_counter(), 0
            while time.perf_counter() < begun + 3:
                seed += 1
                decisions += len(play(env, seed)[0])
            rate = decisions / (time.perf_counter() - begun)
            print(f"\n{rate:.0f} decisions/s, reassign={reassign}: {os.environ['LIFTMESH']}")
            self.assertGreater(rate, 4, "a tenth of what a program without optimizations does")


if __name__ == "__main__":
    unittest.main()

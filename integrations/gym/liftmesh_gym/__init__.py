"""A bank of elevators with passengers as a Gymnasium environment, on top of `liftmesh lab gym`."""

import gymnasium

from .bank import COSTS, BankEnv, LiftmeshError

__all__ = ["COSTS", "BankEnv", "LiftmeshError"]

gymnasium.register(id="liftmesh/Bank-v0", entry_point="liftmesh_gym:BankEnv")

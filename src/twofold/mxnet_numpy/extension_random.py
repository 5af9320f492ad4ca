"""``mx.npx.random``: Bernoulli samples, and batches of samples for each element of the parameters."""

from .. import random
from ..device import Device
from .array_functions import FUNCTIONS
from .sampling import Batches

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]

FACE = Batches(FUNCTIONS)
bernoulli, normal_n, uniform_n = FACE.bernoulli, FACE.normal_n, FACE.uniform_n


def seed(seed: int, ctx: Device | str = "all") -> None:
    """Seed the random streams; see `twofold.random.seed`."""
    random.seed(seed, ctx)

"""``mx.npx.random``: Bernoulli samples, and samples of which a batch is drawn for each element of the parameters."""

from ..random import seed
from .array_functions import FUNCTIONS
from .batches import Batches

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]

FACE = Batches(FUNCTIONS)
bernoulli, normal_n, uniform_n = FACE.bernoulli, FACE.normal_n, FACE.uniform_n

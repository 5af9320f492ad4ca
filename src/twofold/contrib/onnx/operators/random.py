"""Random numbers: every run draws new ones, from this package's own generators."""

from collections.abc import Callable

from ....symbol.symbol import Symbol
from ..op_reader import reads, unsupported
from ..values import Graph
from .elementwise import dtype_of_code
from .functions import F

#: The code of float32.
_FLOAT = 1


def _drawn(graph: Graph, function: Callable[..., Symbol], shape: list[int], dtype: int, seed: float | None, **params: float) -> Symbol:
    if seed is not None:
        raise unsupported(graph, "seeds are not supported", seed, "remove the attribute, and call mx.random.seed")
    if not shape:
        raise unsupported(graph, "a single random number is not supported", "shape []", "draw an array of one element")
    return function(shape=tuple(shape), dtype=dtype_of_code(graph, dtype), **params)


@reads
def RandomUniform(graph, *, shape, dtype=_FLOAT, low=0.0, high=1.0, seed=None):
    """Numbers from a range."""
    return _drawn(graph, F.random.uniform, shape, dtype, seed, low=low, high=high)


@reads
def RandomNormal(graph, *, shape, dtype=_FLOAT, mean=0.0, scale=1.0, seed=None):
    """Numbers with a mean and a standard deviation."""
    return _drawn(graph, F.random.normal, shape, dtype, seed, loc=mean, scale=scale)


@reads
def RandomUniformLike(graph, x, *, dtype=None, low=0.0, high=1.0, seed=None):
    """Numbers from a range, in another operand's shape."""
    return RandomUniform(graph, shape=list(x.known_sizes), dtype=dtype or _FLOAT, low=low, high=high, seed=seed)


@reads
def RandomNormalLike(graph, x, *, dtype=None, mean=0.0, scale=1.0, seed=None):
    """Numbers with a mean and a standard deviation, in another operand's shape."""
    return RandomNormal(graph, shape=list(x.known_sizes), dtype=dtype or _FLOAT, mean=mean, scale=scale, seed=seed)

"""The primitives ``convolve``, ``convolve_data`` and ``convolve_weight``: each by the algorithm that the table has for its sizes.

The choice depends on sizes, dtype and the setting ``winograd``, never on time or threads: every mode of execution makes the same one.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, get_args

import numpy as np

from twofold.config import SETTINGS

from . import columns, patches, pointwise, winograd
from .convolution_table import Choice, choice
from .geometry import Geometry, Kind, Sizes
from .memory import POOL

Operands = tuple[np.ndarray, np.ndarray]
#: Computes one kind of a geometry: (geometry, operand, operand, into).
Algorithm = Callable[[Geometry, np.ndarray, np.ndarray, np.ndarray], None]
#: Multiplications by the definition from which Winograd's algorithm is worth its rounding.
WORTH = 1 << 24
_FUNCTIONS = {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}


def convolve(data: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, **params: Any) -> np.ndarray:
    """Cross-correlation of data (n, c, d…) with a weight (f, c / groups, kernel…), in ``out`` if it is given."""
    (n, c, *size), (f, _, *kernel) = data.shape, weight.shape
    return _run("forward", _geometry(n, c, f, tuple(size), tuple(kernel), **params), (data, weight), out)


def convolve_data(result: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, *, size: Sizes, **params: Any) -> np.ndarray:
    """The transpose in the data."""
    f, depth, *kernel = weight.shape
    return _run("data", _geometry(len(result), depth * params["groups"], f, size, tuple(kernel), **params), (result, weight), out)


def convolve_weight(data: np.ndarray, result: np.ndarray, out: np.ndarray | None = None, *, kernel: Sizes, **params: Any) -> np.ndarray:
    """The transpose in the weight."""
    n, c, *size = data.shape
    return _run("weight", _geometry(n, c, result.shape[1], tuple(size), kernel, **params), (data, result), out)


@lru_cache(1024)
def _geometry(n: int, c: int, f: int, size: Sizes, kernel: Sizes, *, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Geometry:
    return Geometry(n, c, f, groups, size, kernel, stride, dilate, pad)


def _run(kind: Kind, g: Geometry, operands: Operands, out: np.ndarray | None) -> np.ndarray:
    """Compute in float32 what is stored in 16 bits, and round once."""
    common = np.result_type(*operands)
    computed = np.dtype(np.float32) if common.itemsize == 2 and common.kind in "fV" else common
    if out is None:
        out = POOL.empty(shape_of(kind, g), common)
    plain = out.dtype == computed and out.flags.c_contiguous
    into = out if plain else POOL.empty(out.shape, computed)
    first, second = (np.ascontiguousarray(x, computed) for x in operands)
    if first.size and second.size:
        chosen(kind, g, computed, SETTINGS.winograd)(g, first, second, into)
    else:
        into.fill(0)  # a sum of nothing
    if not plain:
        out[...] = into
    return out


def shape_of(kind: Kind, g: Geometry) -> Sizes:
    """The shape of what is computed."""
    if kind == "forward":
        return (g.n, g.filters, *g.out)
    return (g.n, g.channels, *g.size) if kind == "data" else (g.filters, g.channels // g.groups, *g.kernel)


@lru_cache(1024)
def chosen(kind: Kind, g: Geometry, dtype: np.dtype[Any], with_winograd: bool) -> Algorithm:
    """The table's algorithm; one that computes the sums as they are defined unless Winograd's may be used."""
    return algorithm(kind, choice(kind, g, with_winograd and g.products >= WORTH and is_for_winograd(g, dtype)))


def is_for_winograd(g: Geometry, dtype: np.dtype[Any]) -> bool:
    """Whether Winograd's algorithm can compute it: in float32, whose rounding the results still show."""
    return dtype == np.float32 and winograd.is_applicable(g)


def algorithm(kind: Kind, named: Choice) -> Algorithm:
    """An algorithm by its name and the bytes of its blocks."""
    function = _FUNCTIONS[kind]
    if named.name == "pointwise":
        return getattr(pointwise, function)
    if named.name in get_args(columns.Order):
        return partial(getattr(columns, function), order=named.name, nbytes=named.nbytes)
    module = winograd if named.name == "winograd" else patches
    return partial(getattr(module, function), nbytes=named.nbytes)


def applicable(g: Geometry, dtype: np.dtype[Any]) -> list[str]:
    """The names of the algorithms that can compute a convolution, from the simplest on."""
    names = {
        "pointwise": g.is_pointwise,
        "gathered": True,
        "flat": g.is_dense and not g.is_pointwise,
        "batched": g.n > 1,
        "patches": g.groups == 1,
        "winograd": is_for_winograd(g, dtype),
    }
    return [name for name, is_so in names.items() if is_so]

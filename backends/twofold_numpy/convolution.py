"""The primitives ``convolve``, ``convolve_data`` and ``convolve_weight``: each by the algorithm that the table has for its sizes.

The choice depends on sizes, dtype and the setting ``winograd``, never on time or threads: every mode of execution makes the same one.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, get_args

import numpy as np

from twofold.config import SETTINGS

from . import columns, patches, pointwise, winograd
from .convolution_table import Choice, choice, saving
from .geometry import Geometry, Kind, Sizes
from .memory import POOL

Operands = tuple[np.ndarray, np.ndarray]
#: Computes one kind of a geometry: (geometry, operand, operand, into), the images as (n, c, …) in row-major order of memory;
#: some take it with the channels last, too.
Algorithm = Callable[[Geometry, np.ndarray, np.ndarray, np.ndarray], None]
#: Multiplications by the definition from which Winograd's algorithm is worth its rounding.
WORTH = 1 << 24
_FUNCTIONS = {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}


def convolve(
    data: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, *, channels_last: bool = False, **params: Any
) -> np.ndarray:
    """Cross-correlation of data (n, c, d…) with a weight (f, c / groups, kernel…), in ``out`` if it is given.

    With ``channels_last``, here and below, data and results are (n, d…, c).
    """
    data = _first(data, channels_last)
    (n, c, *size), (f, _, *kernel) = data.shape, weight.shape
    return _run("forward", _geometry(n, c, f, tuple(size), tuple(kernel), **params), (data, weight), out, channels_last)


def convolve_data(
    result: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, *, size: Sizes, channels_last: bool = False, **params: Any
) -> np.ndarray:
    """The transpose in the data."""
    f, depth, *kernel = weight.shape
    g = _geometry(len(result), depth * params["groups"], f, size, tuple(kernel), **params)
    return _run("data", g, (_first(result, channels_last), weight), out, channels_last)


def convolve_weight(
    data: np.ndarray, result: np.ndarray, out: np.ndarray | None = None, *, kernel: Sizes, channels_last: bool = False, **params: Any
) -> np.ndarray:
    """The transpose in the weight."""
    data, result = _first(data, channels_last), _first(result, channels_last)
    n, c, *size = data.shape
    return _run("weight", _geometry(n, c, result.shape[1], tuple(size), kernel, **params), (data, result), out, False)


@lru_cache(1024)
def _geometry(n: int, c: int, f: int, size: Sizes, kernel: Sizes, *, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Geometry:
    return Geometry(n, c, f, groups, size, kernel, stride, dilate, pad)


def _run(kind: Kind, g: Geometry, operands: Operands, out: np.ndarray | None, channels_last: bool) -> np.ndarray:
    """Compute in float32 what is stored in 16 bits, and round once."""
    common = np.result_type(*operands)
    computed = np.dtype(np.float32) if common.itemsize == 2 and common.kind in "fV" else common
    if out is None:
        n, c, *size = shape_of(kind, g)
        out = POOL.empty((n, *size, c) if channels_last else (n, c, *size), common)
    target, compute = _first(out, channels_last), chosen(kind, g, computed, SETTINGS.winograd)
    plain = target.dtype == computed and _is_packed(target, compute)
    into = target if plain else POOL.empty(target.shape, computed)
    first, second = (x if x.dtype == computed and _is_packed(x, compute) else np.ascontiguousarray(x, computed) for x in operands)
    if first.size and second.size:
        compute(g, first, second, into)
    else:
        into.fill(0)  # a sum of nothing
    if not plain:
        target[...] = into
    return out


def _first(x: np.ndarray, channels_last: bool) -> np.ndarray:
    """A view with the channels on axis 1."""
    return np.moveaxis(x, -1, 1) if channels_last else x


def _is_packed(x: np.ndarray, compute: Algorithm) -> bool:
    """Whether an array (n, c, …) is in an order of memory that an algorithm takes."""
    return x.flags.c_contiguous or (takes_channels_last(compute) and np.moveaxis(x, 1, -1).flags.c_contiguous)


def takes_channels_last(compute: Algorithm) -> bool:
    """Whether an algorithm computes the same results, bit for bit, of images whose memory has the channels last."""
    return isinstance(compute, partial) and compute.func.__module__ in (patches.__name__, winograd.__name__)


def bytes_saved(op: str, params: dict[str, Any], first: Sizes, second: Sizes, dtype: str) -> float | None:
    """What a primitive with its channels first gains by having them last, as bytes of images that are transposed in that time.

    ``first`` and ``second`` are its operands' shapes; None where the algorithm has them first.
    """
    kind: Kind = "forward" if op == "convolve" else "data" if op == "convolve_data" else "weight"
    facts = {name: params[name] for name in ("stride", "dilate", "pad", "groups")}
    data, weight = first, second
    if kind == "weight":
        weight = (second[1], first[1] // params["groups"], *params["kernel"])
    elif kind == "data":
        data = (first[0], second[1] * params["groups"], *params["size"])
    g, computed = _geometry(data[0], data[1], weight[0], data[2:], weight[2:], **facts), np.dtype(dtype)
    if computed.kind != "f" or computed.itemsize == 2 or not takes_channels_last(chosen(kind, g, computed, SETTINGS.winograd)):
        return None
    images = math.prod(shape_of("data", g)) + math.prod(shape_of("forward", g))
    return saving(kind, g, _by_winograd(g, computed, SETTINGS.winograd)) * images * computed.itemsize


def shape_of(kind: Kind, g: Geometry) -> Sizes:
    """The shape of what is computed."""
    if kind == "forward":
        return (g.n, g.filters, *g.out)
    return (g.n, g.channels, *g.size) if kind == "data" else (g.filters, g.channels // g.groups, *g.kernel)


@lru_cache(1024)
def chosen(kind: Kind, g: Geometry, dtype: np.dtype[Any], with_winograd: bool) -> Algorithm:
    """The table's algorithm; one that computes the sums as they are defined unless Winograd's may be used."""
    return algorithm(kind, choice(kind, g, _by_winograd(g, dtype, with_winograd)))


def _by_winograd(g: Geometry, dtype: np.dtype[Any], with_winograd: bool) -> bool:
    return with_winograd and g.products >= WORTH and is_for_winograd(g, dtype)


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

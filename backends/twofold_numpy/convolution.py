"""The primitives ``convolve``, ``convolve_data`` and ``convolve_weight``, each by the algorithm that the table has for its sizes.

The choice depends on sizes, dtype, the settings ``winograd`` and ``jit`` and whether there is a compiler, never on time or threads, so it
is the same in every mode of execution.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from types import ModuleType
from typing import TypedDict, Unpack, get_args

import numpy as np

from twofold.backend import workers
from twofold.backend.kernel import ArrayType, Params
from twofold.backend.strides import Sizes
from twofold.config import ON_CHANGE, SETTINGS

from . import columns, depthwise_gradients, direct, frames, grouped_tiles, patches, pointwise, winograd
from .convolution_table import Choice, choice, saving
from .copies import packed
from .geometry import Geometry, Kind
from .image_blocks import shares_images
from .memory import POOL

Operands = tuple[np.ndarray, np.ndarray]
#: Computes one kind of convolution, called with (geometry, operand, operand, out). Images are C-contiguous (n, c, …); some algorithms also
#: take views of arrays with channels last.
Algorithm = Callable[[Geometry, np.ndarray, np.ndarray, np.ndarray], None]
#: Multiplications of the direct algorithm from which Winograd's is worth its rounding errors.
MIN_PRODUCTS = 1 << 22


class WindowParams(TypedDict):
    """The position of a convolution's windows on its images."""

    stride: Sizes
    dilate: Sizes
    pad: Sizes
    groups: int


_IN_BLOCKS = {"patches": patches, "winograd": winograd}
_FUNCTIONS = {"forward": "convolve", "data": "convolve_data", "weight": "convolve_weight"}


def convolve(
    data: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, *, channels_last: bool = False, **params: Unpack[WindowParams]
) -> np.ndarray:
    """Cross-correlation of data (n, c, d…) with a weight (f, c / groups, kernel…), into ``out`` if it is given.

    With ``channels_last``, here and below, data and results are (n, d…, c).
    """
    data = _channels_first(data, channels_last)
    return _run("forward", geometry_of(data, weight, **params), (data, weight), out, channels_last)


def convolve_packed(
    data: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None, *, shape: Sizes, **params: Unpack[WindowParams]
) -> np.ndarray:
    """`convolve` with a weight of some shape in panels."""
    g = direct_geometry({**params, "shape": shape}, [ArrayType(x.shape, x.dtype.name) for x in (data, weight)])
    if g is None:  # machine code has been turned off since the weight was packed
        filters = weight.swapaxes(1, 2).reshape(params["groups"], -1, weight.shape[1])[:, : shape[0] // params["groups"]]
        return convolve(data, filters.reshape(shape), out, **params)
    if out is None:
        out = POOL.empty(shape_of("forward", g), data.dtype)
    direct.convolve_packed(g, data, weight, out)
    return out


def convolve_without_transforms(data: np.ndarray, weight: np.ndarray, **params: Unpack[WindowParams]) -> np.ndarray:
    """`convolve` by sums of products alone, which are exact for integers."""
    return _run("forward", geometry_of(data, weight, **params), (data, weight), None, False, False)


def geometry_of(data: np.ndarray, weight: np.ndarray, **params: Unpack[WindowParams]) -> Geometry:
    """The geometry of a convolution of data (n, c, d…)."""
    (n, c, *size), (f, _, *kernel) = data.shape, weight.shape
    return _geometry(n, c, f, tuple(size), tuple(kernel), **params)


def convolve_data(
    result: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray | None = None,
    *,
    size: Sizes,
    channels_last: bool = False,
    **params: Unpack[WindowParams],
) -> np.ndarray:
    """The gradient with respect to the data."""
    f, depth, *kernel = weight.shape
    g = _geometry(len(result), depth * params["groups"], f, size, tuple(kernel), **params)
    return _run("data", g, (_channels_first(result, channels_last), weight), out, channels_last)


def convolve_weight(
    data: np.ndarray,
    result: np.ndarray,
    out: np.ndarray | None = None,
    *,
    kernel: Sizes,
    channels_last: bool = False,
    **params: Unpack[WindowParams],
) -> np.ndarray:
    """The gradient with respect to the weight."""
    data, result = _channels_first(data, channels_last), _channels_first(result, channels_last)
    n, c, *size = data.shape
    return _run("weight", _geometry(n, c, result.shape[1], tuple(size), kernel, **params), (data, result), out, False)


@lru_cache(1024)
def _geometry(n: int, c: int, f: int, size: Sizes, kernel: Sizes, *, stride: Sizes, dilate: Sizes, pad: Sizes, groups: int) -> Geometry:
    return Geometry(n, c, f, groups, size, kernel, stride, dilate, pad)


def _run(
    kind: Kind, g: Geometry, operands: Operands, out: np.ndarray | None, channels_last: bool, with_transforms: bool = True
) -> np.ndarray:
    """Run the algorithm; 16-bit floats are computed in float32 and rounded once."""
    common = np.result_type(*operands)
    computed = np.dtype(np.float32) if common.itemsize == 2 and common.kind in "fV" else common
    if out is None:
        n, c, *size = shape_of(kind, g)
        out = POOL.empty((n, *size, c) if channels_last else (n, c, *size), common)
    target, compute = _channels_first(out, channels_last), chosen(kind, g, computed, with_transforms and SETTINGS.winograd)
    # the algorithm writes to the result itself if it can; otherwise to temporary memory, which is copied at the end
    plain = target.dtype == computed and (target.flags.c_contiguous if kind == "weight" else _is_accepted(target, compute))
    into = target if plain else POOL.empty(target.shape, computed)
    first, second = (x if x.dtype == computed and _is_accepted(x, compute) else packed(x, computed) for x in operands)
    if first.size and second.size:
        compute(g, first, second, into)
    else:
        into.fill(0)  # a sum of nothing
    if not plain:
        target[...] = into
    return out


def bound(op: str, params: Params, inputs: Sequence[ArrayType]) -> Callable[[np.ndarray, np.ndarray, np.ndarray], object]:
    """One of these primitives for operands of known types, called with them and the result.

    What depends on types alone is looked up now: in a network each line of Python between two convolutions is slow, because these leave
    nothing else in the cache.
    """
    general = partial(globals()[op], **params)
    first, second = inputs
    if params.get("channels_last") or first.dtype != second.dtype or first.dtype not in ("float32", "float64"):
        return general
    if not math.prod(first.shape) * math.prod(second.shape):
        return general
    if op == "convolve_packed":
        g = direct_geometry(params, inputs)
        return general if g is None else direct.at_once(g, is_packed=True)
    kind, g = _kind_and_geometry(op, params, first.shape, second.shape)
    compute = chosen(kind, g, np.dtype(first.dtype), SETTINGS.winograd)
    if compute is direct.convolve and direct.is_whole(g):
        return direct.at_once(g)

    at_once = grouped_tiles.at_once(kind, g) if _is_in_tiles(compute, g) else partial(compute, g)

    def run(first: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
        # a view may have gaps, and so may a part of a joined result
        if first.flags.c_contiguous and second.flags.c_contiguous and out.flags.c_contiguous:
            at_once(first, second, out)
        else:
            general(first, second, out)

    return run


def _kind_and_geometry(op: str, params: Params, first: Sizes, second: Sizes) -> tuple[Kind, Geometry]:
    """The kind and the geometry of a channels-first primitive, by its operands' shapes."""
    # each primitive lacks one of the three shapes, which follows from the other two and its parameters
    kind: Kind = "forward" if op == "convolve" else "data" if op == "convolve_data" else "weight"
    data, weight = first, second
    if kind == "weight":
        weight = (second[1], first[1] // params["groups"], *params["kernel"])
    elif kind == "data":
        data = (first[0], second[1] * params["groups"], *params["size"])
    return kind, _geometry(data[0], data[1], weight[0], tuple(data[2:]), tuple(weight[2:]), **_facts(params))


def _facts(params: Params) -> WindowParams:
    return {"stride": params["stride"], "dilate": params["dilate"], "pad": params["pad"], "groups": params["groups"]}


def _channels_first(x: np.ndarray, channels_last: bool) -> np.ndarray:
    """A view with the channels as axis 1."""
    return np.moveaxis(x, -1, 1) if channels_last else x


def _is_accepted(x: np.ndarray, compute: Algorithm) -> bool:
    """Whether an array (n, c, …) has a memory layout that an algorithm takes."""
    return x.flags.c_contiguous or (takes_channels_last(compute) and np.moveaxis(x, 1, -1).flags.c_contiguous)


def takes_channels_last(compute: Algorithm) -> bool:
    """Whether an algorithm takes images with channels last in memory, with the same results bit for bit."""
    return _is_of(compute, patches, winograd)


def _is_in_tiles(compute: Algorithm, g: Geometry) -> bool:
    """Whether an algorithm is Winograd's, in machine code from images to results."""
    return _is_of(compute, winograd) and winograd.is_in_machine_code(g)


def _is_of(compute: Algorithm, *modules: ModuleType) -> bool:
    """Whether an algorithm is a function of one of these modules with parameters given."""
    return isinstance(compute, partial) and compute.func.__module__ in [module.__name__ for module in modules]


def bytes_saved(op: str, params: Params, first: Sizes, second: Sizes, dtype: str) -> float | None:
    """The time that a channels-first primitive saves with channels last, as the bytes of images that can be transposed in that time.

    ``first`` and ``second`` are the operands' shapes; None if the algorithm needs channels first.
    """
    (kind, g), computed = _kind_and_geometry(op, params, first, second), np.dtype(dtype)
    if computed.kind != "f" or computed.itemsize == 2:
        return None
    compute = chosen(kind, g, computed, SETTINGS.winograd)
    if not takes_channels_last(compute):
        return None
    if _is_in_tiles(compute, g):
        return 0.0  # it reads either order
    images = math.prod(shape_of("data", g)) + math.prod(shape_of("forward", g))
    # the table is for one thread: threads share an algorithm's copies like its other work
    shared = 2 if shares_images(g) and workers.count() > 1 else 1
    return saving(kind, g, _by_winograd(g, computed, SETTINGS.winograd)) * images * computed.itemsize / shared


def direct_geometry(params: Params, inputs: Sequence[ArrayType]) -> Geometry | None:
    """The geometry of a convolution that is computed by the direct algorithm at once; None for any other."""
    g = _of_machine_code(params, inputs)
    return g if g is not None and _is_direct(g) else None


def treats_images_alike(params: Params, inputs: Sequence[ArrayType], images: int) -> bool:
    """Whether so many images at a time are computed by the machine code that computes all: neither depends on how many come together."""
    g = _of_machine_code(params, inputs)
    if g is None:
        return False
    ways = [(_is_direct(part), _is_in_tiles(_forward(part), part)) for part in (g, replace(g, n=images))]
    return ways[0] == ways[1] and any(ways[0])


def _of_machine_code(params: Params, inputs: Sequence[ArrayType]) -> Geometry | None:
    """The geometry of a convolution that machine code may compute; None if it does not take the operands."""
    data, weight = inputs
    shape = params.get("shape", weight.shape)  # of a weight in panels
    if params.get("channels_last") or not data.dtype == weight.dtype == "float32" or not math.prod(data.shape) * math.prod(shape):
        return None
    return _geometry(*data.shape[:2], shape[0], data.shape[2:], shape[2:], **_facts(params))


def _is_direct(g: Geometry) -> bool:
    return _forward(g) is direct.convolve and direct.is_whole(g)


def _forward(g: Geometry) -> Algorithm:
    return chosen("forward", g, np.dtype(np.float32), SETTINGS.winograd)


def shape_of(kind: Kind, g: Geometry) -> Sizes:
    """The shape of the result."""
    if kind == "forward":
        return (g.n, g.filters, *g.out)
    return (g.n, g.channels, *g.size) if kind == "data" else (g.filters, g.channels // g.groups, *g.kernel)


@lru_cache(1024)
def chosen(kind: Kind, g: Geometry, dtype: np.dtype[np.generic], with_winograd: bool) -> Algorithm:
    """The table's algorithm; Winograd's only if it is allowed and pays, and those in machine code only with a compiler."""
    if depthwise_gradients.is_applicable(kind, g, dtype) and direct.is_worth_compiling(g) and depthwise_gradients.is_available():
        return getattr(depthwise_gradients, _FUNCTIONS[kind])
    if frames.is_applicable(g) and _pays_by_frames(kind, g, dtype, with_winograd):
        return partial(getattr(frames, _FUNCTIONS[kind]), planes=partial(_compute, kind, dtype, with_winograd))
    is_direct = direct.is_applicable(kind, g, dtype) and direct.is_worth_compiling(g) and direct.is_faster(kind, g)
    is_direct = is_direct and direct.is_available()
    return algorithm(kind, choice(kind, g, _by_winograd(g, dtype, with_winograd), is_direct, is_direct and direct.has_two_wide_units()))


def _pays_by_frames(kind: Kind, g: Geometry, dtype: np.dtype[np.generic], with_winograd: bool) -> bool:
    """Whether a convolution of volumes takes less time as one of planes than by the columns of its own windows."""
    if g.products < frames.LEAST:
        return False
    if kind == "weight" or not g.is_dense:
        return True
    # the columns of a frame repeat those of its neighbors for each tap along the depth, while those of a volume are copied in longer runs
    planes = [chosen(kind, run.plane, dtype, with_winograd) for run in frames.runs(kind, g)]
    return not any(_is_of(compute, columns, patches) for compute in planes)


def _compute(
    kind: Kind, dtype: np.dtype[np.generic], with_winograd: bool, g: Geometry, first: np.ndarray, second: np.ndarray, out: np.ndarray
) -> None:
    """Compute by the algorithm that is chosen for a convolution."""
    chosen(kind, g, dtype, with_winograd)(g, first, second, out)


def _by_winograd(g: Geometry, dtype: np.dtype[np.generic], with_winograd: bool) -> bool:
    return with_winograd and g.products >= MIN_PRODUCTS and is_for_winograd(g, dtype)


def is_for_winograd(g: Geometry, dtype: np.dtype[np.generic]) -> bool:
    """Whether Winograd's algorithm applies; only in float32, where its rounding errors are acceptable."""
    return dtype == np.float32 and winograd.is_applicable(g)


def algorithm(kind: Kind, named: Choice) -> Algorithm:
    """An algorithm by its name and the bytes of its blocks."""
    function = _FUNCTIONS[kind]
    if named.name in ("pointwise", "direct"):
        return getattr(pointwise if named.name == "pointwise" else direct, function)
    if named.name in get_args(columns.Order):
        return partial(getattr(columns, function), order=named.name, nbytes=named.nbytes)
    return partial(getattr(_IN_BLOCKS[named.name], function), nbytes=named.nbytes)


ON_CHANGE.append(chosen.cache_clear)  # the setting ``jit``


def applicable(kind: Kind, g: Geometry, dtype: np.dtype[np.generic]) -> list[str]:
    """The names of the algorithms that apply to a convolution, simplest first."""
    names = {
        "pointwise": g.is_pointwise,
        "gathered": True,
        "flat": g.is_dense and not g.is_pointwise,
        "batched": g.n > 1,
        "patches": g.groups == 1,
        "winograd": is_for_winograd(g, dtype),
        "direct": direct.is_applicable(kind, g, dtype) and direct.is_available(),
    }
    return [name for name, is_so in names.items() if is_so]

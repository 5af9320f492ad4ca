"""Rearranging elements: shapes, axes, slices, joins, tiles, padding, gathers and scatters."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ....errors import FormatError
from ....symbol.symbol import Symbol
from ..folding import LARGEST
from ..op_reader import reads, unsupported
from ..values import Graph, Tensor, UnknownSize
from .functions import NP, F, as_dtype, slice_at


@reads
def Reshape(graph, data, shape, *, allowzero=0):
    """The elements in another shape; 0 keeps a size, -1 infers one."""
    if shape.partial is not None:
        return F.reshape(data.symbol, shape=_codes(graph, data, shape.partial))
    wanted = shape.integers
    if data.shape is not None and None not in data.shape:
        return NP.reshape(data.np, _filled(graph, data.known_sizes, wanted, allowzero))
    if allowzero and 0 in wanted:
        raise unsupported(graph, "a size of 0 is not supported where sizes are unknown", wanted)
    return F.reshape(data.symbol, shape=tuple(wanted))


def _codes(graph: Graph, data: Tensor, wanted: np.ndarray) -> tuple[int, ...]:
    """A shape with unknown sizes in MXNet's codes: 0 for a size that keeps its place, -1 for one other size."""
    known = [None if isinstance(n, UnknownSize) else int(n) for n in wanted]
    # a size with the same name at the same place is kept; one other unknown size can be inferred
    kept = [n is None and k < data.ndim and data.sizes[k] is None and data.unknown(k) == wanted[k] for k, n in enumerate(known)]
    codes = tuple(0 if keep else -1 if n is None else n for n, keep in zip(known, kept, strict=True))
    if codes.count(-1) > 1:
        raise unsupported(graph, "more than one size of the shape is unknown", str(wanted.tolist()), "give the inputs fixed sizes")
    return codes


def _filled(graph: Graph, sizes: tuple[int, ...], wanted: list[int], allowzero: int) -> tuple[int, ...]:
    if not allowzero and any(n == 0 and k >= len(sizes) for k, n in enumerate(wanted)):
        raise unsupported(graph, "the shape copies a size that the operand does not have", f"{wanted} of {sizes}")
    kept = [sizes[k] if n == 0 and not allowzero else n for k, n in enumerate(wanted)]
    rest = math.prod(n for n in kept if n != -1)
    total = math.prod(sizes)
    filled = tuple((total // rest if rest else 0) if n == -1 else n for n in kept)
    if kept.count(-1) > 1 or min(filled, default=0) < 0 or math.prod(filled) != total:
        raise unsupported(graph, "the shape does not fit the elements", f"{wanted} for {sizes}")
    return filled


@reads
def Flatten(graph, data, *, axis=1):
    """The operand as a matrix: the axes before an axis become the rows, and the others the columns."""
    if axis == 1 and (data.shape is None or len(data.shape) > 1):
        return F.Flatten(data.symbol)
    sizes = data.known_sizes
    at = axis + len(sizes) if axis < 0 else axis
    return NP.reshape(data.np, (math.prod(sizes[:at]), math.prod(sizes[at:])))


@reads
def Transpose(graph, data, *, perm=None):
    """The axes in another order."""
    return NP.transpose(data.np, None if perm is None else tuple(perm))


@reads
def Squeeze(graph, data, axes=None):
    """Without axes of size 1."""
    chosen = None if axes is None else tuple(axes.integers)
    return NP.squeeze(data.np, chosen or None)


@reads
def Unsqueeze(graph, data, axes):
    """With new axes of size 1."""
    places = axes.integers
    total = data.ndim + len(places)
    out = data.np
    # In rising order, so that the axes inserted so far are in their final places.
    for axis in sorted(a % total for a in places):
        out = NP.expand_dims(out, axis)
    return out


@reads
def Concat(graph, *data, axis):
    """The operands joined along an axis."""
    first, *others = data
    if any(t.shape is None or not t.shape for t in data):
        return F.concat(*[t.symbol for t in data], dim=axis)
    return NP.concatenate([t.np for t in data], axis=axis) if others else first


@reads
def Split(graph, data, split=None, *, axis=0, num_outputs=None):
    """Parts along an axis."""
    size = data.size(axis)
    if split is not None:
        parts = split.integers
    else:
        count = graph.outputs
        if num_outputs not in (None, count):  # a file may claim 2**31 of them
            raise unsupported(graph, "num_outputs differs from the number of outputs", f"{num_outputs} for {count}")
        # Rounded up: as ONNX has it, only the last part may be smaller.
        each = -(-size // count)
        parts = [each] * (count - 1) + [size - each * (count - 1)]
    if sum(parts) != size:
        raise unsupported(graph, "the parts do not add up to the axis", f"{parts} of {size}")
    edges = np.cumsum([0, *parts]).tolist()
    return [_range(data, axis, a, b) for a, b in itertools.pairwise(edges)]


def _range(data: Tensor, axis: int, start: int, stop: int) -> Symbol:
    return F.slice_axis(data.symbol, axis=axis, begin=start, end=stop)


@reads
def Slice(graph, data, starts, ends, axes=None, steps=None):
    """A range along each of some axes."""
    begins, stops = starts.integers, ends.integers
    places = [data.axis(a) for a in axes.integers] if axes is not None else list(range(len(begins)))
    strides = steps.integers if steps is not None else [1] * len(begins)
    begin: list[int | None] = [None] * data.ndim
    end: list[int | None] = [None] * data.ndim
    step: list[int | None] = [None] * data.ndim
    for axis, first, last, stride in zip(places, begins, stops, strides, strict=True):
        size = data.sizes[axis]
        if size is None:
            # exporters write the largest integer for "to the end"
            far = abs(last) >= 2**31 - 1
            begin[axis], end[axis], step[axis] = (None if first == 0 and stride > 0 else first), None if far else last, stride
            continue
        first, last = _limits(first, last, stride, size)
        begin[axis], end[axis], step[axis] = first, last, stride
    return F.slice(data.symbol, begin=tuple(begin), end=tuple(end), step=tuple(step))


def _limits(first: int, last: int, stride: int, size: int) -> tuple[int, int | None]:
    """Bounds within an axis, as MXNet's slices have them: a negative step that reaches the front ends at None."""
    first = first + size if first < 0 else first
    last = last + size if last < 0 else last
    if stride > 0:
        return min(max(first, 0), size), min(max(last, 0), size)
    # -1 would count from the end: the front itself is None
    last = max(last, -1)
    return min(max(first, 0), size - 1), None if last < 0 else min(last, size - 1)


@reads
def Expand(graph, data, shape):
    """The operand broadcast against a shape."""
    wanted = tuple(shape.integers)
    if data.shape is not None and None not in data.shape:
        return NP.broadcast_to(data.np, np.broadcast_shapes(data.known_sizes, wanted))
    if set(wanted) <= {1} and len(wanted) <= data.ndim:
        return data
    raise unsupported(graph, "the operand is broadcast, and its sizes are not known", data.name, "give the inputs fixed sizes")


@reads
def Tile(graph, data, repeats):
    """The operand repeated along each axis."""
    return NP.tile(data.np, tuple(repeats.integers))


@reads
def Pad(graph, data, pads, constant_value=None, axes=None, *, mode="constant", value=None):
    """The operand with elements added before and after each axis."""
    places = data.axes(axes.integers if axes is not None else None)
    edges, filler = pads.integers, value if value is not None else 0.0 if constant_value is None else constant_value.number
    if len(edges) != 2 * len(places):
        raise unsupported(graph, "two numbers are needed for each axis", edges)
    width = [(0, 0)] * data.ndim
    for k, axis in enumerate(places):
        width[axis] = (edges[k], edges[k + len(places)])
    if mode == "wrap":
        return _wrapped(data, width)
    out = data.np
    if any(n < 0 for pair in width for n in pair):  # negative padding cuts
        cut = [(max(0, -a), None if b >= 0 else b) for a, b in width]
        out = F.slice(out, begin=tuple(a for a, _ in cut), end=tuple(b for _, b in cut)).as_np_ndarray()
        width = [(max(0, a), max(0, b)) for a, b in width]
    options = {"constant_values": filler} if mode == "constant" else {}
    return NP.pad(out, tuple(width), mode, **options)


def _wrapped(data: Tensor, width: list[tuple[int, int]]) -> Symbol:
    out = data.np
    for axis, (before, after) in enumerate(width):
        if before or after:
            size = data.size(axis)
            out = NP.take(out, _index(data, np.arange(-before, size + after) % size), axis=axis, mode="clip")
    return out


def _index(data: Tensor, places: np.ndarray) -> Symbol:
    return Tensor(data.owner, f"{data.name}.places", array=places.astype(np.int64)).np


# gathers and scatters


def _from_front(index: Tensor, size: int) -> Symbol:
    """Indices counted from the front: negative ones count from the end."""
    if index.array is not None:
        return Tensor(index.owner, index.name, array=np.where(index.array < 0, index.array + size, index.array)).np
    return NP.where(NP.less(index.np, 0), index.np + size, index.np)


@reads
def Gather(graph, data, indices, *, axis=0):
    """Slices at indices along an axis."""
    # an unknown size cannot be added to negative indices; the mode "wrap" counts them from the end at run time
    if data.shape is None or data.sizes[data.axis(axis)] is None:
        return NP.take(data.np, indices.np, axis=axis, mode="wrap")
    at = data.axis(axis)
    return NP.take(data.np, _from_front(indices, data.size(at)), axis=at, mode="clip")


def _grid(shape: tuple[int, ...], axis: int, places: Symbol, graph: Graph) -> Symbol:
    """Indices of all axes for `gather_nd`: the given ones for one axis, each element's own for the others."""
    rows = []
    for k, n in enumerate(shape):
        if k == axis:
            rows.append(places)
        else:
            own = np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))])
            rows.append(graph.constant(np.broadcast_to(own, shape).copy(), "int64").np)
    return NP.stack(rows, axis=0)


@reads
def GatherElements(graph, data, indices, *, axis=0):
    """Elements at indices along an axis, one for each."""
    at = data.axis(axis)
    places = _from_front(indices, data.size(at))
    return F.gather_nd(data.symbol, _grid(indices.known_sizes, at, places, graph))


@reads
def GatherND(graph, data, indices, *, batch_dims=0):
    """Slices at places; the last axis of the places counts the data's axes."""
    sizes, shape = data.known_sizes, indices.known_sizes
    depth = shape[-1]
    rows = [_from_front_row(indices, k, sizes[batch_dims + k]) for k in range(depth)]
    front = shape[:-1]
    for k in range(batch_dims):
        own = np.arange(sizes[k]).reshape([-1 if j == k else 1 for j in range(len(front))])
        rows.insert(k, graph.constant(np.broadcast_to(own, front).copy(), "int64").np)
    if not front:
        return NP.reshape(F.gather_nd(data.symbol, NP.reshape(NP.stack(rows, axis=0), (len(rows), 1))).as_np_ndarray(), sizes[depth:])
    return F.gather_nd(data.symbol, NP.stack(rows, axis=0))


def _from_front_row(indices: Tensor, k: int, size: int) -> Symbol:
    row = slice_at(indices.symbol, -1, k)
    return NP.where(NP.less(row, 0), row + size, row)


@reads
def ScatterND(graph, data, indices, updates, *, reduction="none"):
    """The data with slices at places replaced."""
    sizes, shape = data.known_sizes, indices.known_sizes
    rows = [_from_front_row(indices, k, sizes[k]) for k in range(shape[-1])]
    if reduction != "none":
        return _accumulated(graph, data, rows, updates, sizes, reduction)
    return F._internal._scatter_set_nd(data.symbol, updates.symbol, NP.stack(rows, axis=0), shape=sizes)


#: How much larger than a scatter its table of places and slices may be.
_LARGEST_TABLE = 1 << 24
#: Reductions of scatters: over several updates of one place, and of the data with the result.
_SCATTERED = {
    "add": ("sum", "add", 0.0),
    "mul": ("prod", "multiply", 1.0),
    "max": ("max", "maximum", None),
    "min": ("min", "minimum", None),
}


def _accumulated(graph: Graph, data: Tensor, rows: Sequence[Symbol], updates: Tensor, sizes: tuple[int, ...], reduction: str) -> Symbol:
    """The data combined with all updates of each place: a table (updates, places) assigns updates to places."""
    reduce, combine, neutral = _SCATTERED[reduction]
    depth = len(rows)
    places, width = math.prod(sizes[:depth]), math.prod(sizes[depth:])
    number = math.prod(updates.known_sizes) // max(width, 1)
    if number * places * width > _LARGEST_TABLE:
        raise unsupported(graph, "a scatter of this size with a reduction is not supported", f"{number} updates of {places} places")
    # a scatter keeps one of several updates of a place, so all updates are compared with all places instead
    flat: Symbol | int = 0
    for row, size in zip(rows, sizes, strict=False):
        # The number of a place in row-major order.
        flat = flat * size + NP.reshape(row, (number,))
    chosen = NP.equal(NP.reshape(flat, (number, 1, 1)), graph.constant(np.arange(places).reshape(1, -1, 1), "int64").np)
    values = NP.reshape(updates.np, (number, 1, width))
    # updates for other places are replaced by an element that does not change the reduction
    if neutral is None:
        limits = np.finfo(str(data.dtype)) if data.is_float else np.iinfo(str(data.dtype))
        neutral = limits.min if reduction == "max" else limits.max
    found = getattr(NP, reduce)(NP.where(chosen, values, graph.constant([neutral], str(data.dtype)).np), axis=0)
    return getattr(NP, combine)(data.np, NP.reshape(found, sizes))


@reads
def ScatterElements(graph, data, indices, updates, *, axis=0, reduction="none"):
    """The data with elements at indices along an axis replaced."""
    at = data.axis(axis)
    places = _from_front(indices, data.size(at))
    if reduction != "none":
        grid = _grid(indices.known_sizes, at, places, graph)
        rows = [slice_at(grid, 0, k) for k in range(data.ndim)]
        return _accumulated(graph, data, rows, updates, data.known_sizes, reduction)
    grid = _grid(indices.known_sizes, at, places, graph)
    return F._internal._scatter_set_nd(data.symbol, updates.symbol, grid, shape=data.known_sizes)


@reads
def Scatter(graph, data, indices, updates, *, axis=0):
    """The older name of ScatterElements."""
    return ScatterElements(graph, data, indices, updates, axis=axis)


@reads
def OneHot(graph, indices, depth, values, *, axis=-1):
    """One value where the new axis equals the index, another elsewhere."""
    count = depth.integer if depth.constant.dtype.kind in "iu" else int(depth.number)
    if not 0 <= count <= LARGEST:
        raise FormatError(f"{graph.place}: the depth is negative or too large", str(count))
    # ONNX lists the value of the other places first.
    off, on = values.constant.ravel().tolist()
    dtype = str(values.dtype)
    places = as_dtype(indices.symbol, "int64")
    inside = NP.where(NP.less(places, 0), places + count, places)
    at = axis % (indices.ndim + 1)
    column = np.arange(count).reshape([-1 if k == at else 1 for k in range(indices.ndim + 1)])
    chosen = NP.equal(NP.expand_dims(inside, at), graph.constant(column, "int64").np)
    return NP.where(chosen, graph.constant([on], dtype).np, graph.constant([off], dtype).np)


@reads
def DepthToSpace(graph, data, *, blocksize, mode="DCR"):
    """Channels moved to positions."""
    if mode == "DCR":
        return F.depth_to_space(data.symbol, block_size=blocksize)
    n, c, h, w = data.known_sizes
    parts = NP.reshape(data.np, (n, c // blocksize**2, blocksize, blocksize, h, w))
    return NP.reshape(NP.transpose(parts, (0, 1, 4, 2, 5, 3)), (n, c // blocksize**2, h * blocksize, w * blocksize))


@reads
def SpaceToDepth(graph, data, *, blocksize, mode="DCR"):
    """Positions moved to channels."""
    if mode == "CRD":
        n, c, h, w = data.known_sizes
        parts = NP.reshape(data.np, (n, c, h // blocksize, blocksize, w // blocksize, blocksize))
        return NP.reshape(NP.transpose(parts, (0, 1, 3, 5, 2, 4)), (n, c * blocksize**2, h // blocksize, w // blocksize))
    return F.space_to_depth(data.symbol, block_size=blocksize)


@reads
def Compress(graph, data, condition, *, axis=None):
    """Slices along an axis where a condition holds."""
    where = np.flatnonzero(condition.constant)
    source = data.np if axis is not None else NP.reshape(data.np, (math.prod(data.known_sizes),))
    return NP.take(source, graph.constant(where, "int64").np, axis=0 if axis is None else data.axis(axis), mode="clip")


@reads
def Trilu(graph, data, k=None, *, upper=1):
    """The upper or lower triangle, zeros elsewhere."""
    rows, columns = data.known_sizes[-2:]
    offset = 0 if k is None else k.integer
    kept = np.triu(np.ones((rows, columns), bool), offset) if upper else np.tril(np.ones((rows, columns), bool), offset)
    return NP.where(graph.constant(kept, "bool").np, data.np, NP.zeros_like(data.np))


@reads
def ReverseSequence(graph, data, sequence_lens, *, batch_axis=1, time_axis=0):
    """Each sequence reversed up to its length."""
    sizes, lengths = data.known_sizes, sequence_lens.constant.astype(np.int64)
    steps = np.arange(sizes[time_axis])
    places = np.where(steps[:, None] < lengths, lengths - 1 - steps[:, None], steps[:, None])
    places = places if time_axis == 0 else places.T
    # Steps beyond a sequence's length keep their places.
    whole = np.broadcast_to(places.reshape([*places.shape, *[1] * (len(sizes) - 2)]), sizes)
    return F.gather_nd(data.symbol, _grid(sizes, time_axis, graph.constant(whole.copy(), "int64").np, graph))


@reads
def ConstantOfShape(graph, shape, *, value=None):
    """An array filled with a value."""
    filler = np.zeros(1, np.float32) if value is None else value
    return NP.full(tuple(shape.integers), filler.ravel()[0].item(), dtype=str(filler.dtype))


@reads
def Constant(graph, *, value=None, value_float=None, value_floats=None, value_int=None, value_ints=None):
    """A constant."""
    if value is not None:
        return value
    for given, dtype in ((value_float, np.float32), (value_floats, np.float32), (value_int, np.int64), (value_ints, np.int64)):
        if given is not None:
            return np.array(given, dtype)
    raise unsupported(graph, "a constant without a supported value")


@reads
def EyeLike(graph, data, *, k=0, dtype=None):
    """Ones on a diagonal."""
    from .elementwise import dtype_of_code

    kind = dtype_of_code(graph, dtype) if dtype is not None else str(data.dtype)
    return np.eye(*data.known_sizes, k=k).astype(kind)


@reads
def Range(graph, start, limit, delta):
    """Numbers at equal distances."""
    count = max(0, math.ceil((limit.number - start.number) / delta.number))
    if count > 1 << 24:
        raise unsupported(graph, "a range of too many numbers", count)
    return (start.number + np.arange(count) * delta.number).astype(start.constant.dtype)


@reads
def Shape(graph, data, *, start=0, end=None):
    """The shape, all of whose sizes must be known."""
    return np.array(data.known_sizes[slice(start, end)], np.int64)


@reads
def Size(graph, data):
    """The number of elements."""
    return np.array(math.prod(data.known_sizes), np.int64)

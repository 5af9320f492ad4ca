"""MXNet's NumPy operators that add and remove elements: padding, inserting, deleting."""

import math
from typing import Any, Literal

from ..errors import ParameterError
from ..opdef import Derived, Op, Operand, Static, normalized_axis, numpy_op

# padding


#: The most places that padding with mirror images may add: they are listed.
MOST_MIRRORED = 2**20


def mirrored(count: int, places: range, mode: str) -> list[int]:
    """The places in an axis of ``count`` elements that padding puts at the places outside of it."""
    # Both kinds of mirroring are periodic, so padding may be wider than the axis. A period is the axis and its mirror image, without the
    # repeated ends where it is reflected at their centers.
    last = 2 * count - 1 if mode == "symmetric" else max(2 * count - 2, 1)
    period = last + 1 if mode == "symmetric" else last
    return [min(k % period, last - k % period) for k in places]


def runs(places: list[int]) -> list[tuple[int, int | None, int]]:
    """Places as slices (start, stop, step) of consecutive ones."""
    found: list[list[int]] = []
    for p in places:
        last = found[-1] if found else None
        step = p - last[-1] if last else 0
        if last is not None and step in (1, -1) and (len(last) == 1 or last[-1] - last[-2] == step):
            last.append(p)
        else:
            found.append([p])
    # a backward run that reaches place 0 has no stop: -1 would count from the end
    return [(r[0], r[-1] + 1, 1) if r[-1] >= r[0] else (r[0], r[-1] - 1 if r[-1] else None, -1) for r in found]


def pad_axis(xp: Derived, x: Operand, axis: int, before: int, after: int, mode: str) -> Operand:
    """One axis padded with its own elements or their extremes."""
    if not before and not after:
        return x
    if mode in ("maximum", "minimum"):
        edges = [(xp.max if mode == "maximum" else xp.min)(x, axis=axis, keepdims=True)] * 2
    elif mode == "edge":
        edges = [xp.take_slice(x, 0, 1, axis), xp.take_slice(x, -1, None, axis)]
    else:
        size = x.shape[axis]
        if before + after > MOST_MIRRORED:
            raise ParameterError(f"pad: too wide for the mode {mode}", f"{(before, after)}", f"pad {MOST_MIRRORED} places at most")
        # a few slices and not one gather: each is copied as a block, and its gradient is a slice too
        slices = [runs(mirrored(size, outside, mode)) for outside in (range(-before, 0), range(size, size + after))]
        left, right = [[xp.take_slice(x, a, b, axis, s) for a, b, s in side] for side in slices]
        return xp.concat(*left, x, *right, axis=axis)
    parts = [xp.tile_axis(edge, n, axis) for edge, n in zip(edges, (before, after), strict=True)]
    return xp.concat(parts[0], x, parts[1], axis=axis)


@numpy_op("_npi_pad")
def npi_pad(
    xp,
    data,
    *,
    pad_width: Static,
    mode: Literal["constant", "edge", "reflect", "symmetric", "maximum", "minimum"] = "constant",
    constant_value: float = 0.0,
    reflect_type: Literal["even"] = "even",
):
    """The array with elements added before and after each axis: (before, after) for each, or one pair for all."""
    given = pairs_for(pad_width, len(data.shape))
    if mode == "constant":
        return xp.pad(data, width=given, value=constant_value)
    for axis, (before, after) in enumerate(given):
        data = pad_axis(xp, data, axis, before, after, mode)
    return data


def pairs_for(width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Widths of padding as one pair for each axis; text from files is read first.

    Raises
    ------
    ParameterError
        If they are not pairs of sizes.
    """
    found: Any = pairs_of_text(width) if isinstance(width, str) else width
    # one number for both sides of all axes
    if isinstance(found, int):
        found = ((found, found),) * ndim
    found = tuple(found)
    # (before, after) for all axes; with two axes too, as in NumPy
    if len(found) == 2 and all(isinstance(n, int) for n in found):
        found = (found,) * ndim
    # for an axis, n and (n,) are (n, n)
    found = tuple((n, n) if isinstance(n, int) else tuple(n) * (3 - len(n)) for n in found)
    found = found * ndim if len(found) == 1 else found
    if len(found) != ndim or any(len(p) != 2 or min(p) < 0 for p in found):
        raise ParameterError("pad: the widths do not match the array", f"{width} for {ndim} axes", "pass (before, after) for each axis")
    return found


def pairs_of_text(text: str) -> tuple[tuple[int, int], ...]:
    """``((1, 1), (0, 2))`` as tuples."""
    numbers = [int(n) for n in text.replace("(", " ").replace(")", " ").replace("[", " ").replace("]", " ").replace(",", " ").split()]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


@npi_pad.sample
def _(draw):
    x = draw.real((3, 4), distinct=True)
    modes = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")
    return [draw(x, pad_width=((1, 2), (0, 3)), mode=mode) for mode in modes]


# inserting and deleting


def _flattened(xp: Derived, arr: Operand, axis: int | None) -> tuple[Operand, int]:
    """The array and the axis to edit along; with None the array is flattened."""
    if axis is None:
        return xp.reshape(arr, shape=(math.prod(arr.shape),)), 0
    return arr, normalized_axis(axis, len(arr.shape))


def prepared(
    xp: Derived, arr: Operand, values: Operand | None, val: float | None, axis: int | None, count: int | None
) -> tuple[Operand, Operand, int]:
    """The array (flattened if ``axis`` is None), the values as slices of it, ``count`` of them if that is given, and the axis."""
    x, at = _flattened(xp, arr, axis)
    if values is None:
        given = xp.full(shape=(1,) * len(x.shape), value=val or 0.0, dtype=xp.dtype_of(x))
    else:
        given = xp.cast_like(values, x)
        if count is None:  # a single place takes all of the values
            given = xp.reshape(given, shape=(*[1] * (len(x.shape) - len(given.shape)), *given.shape))
            given = given if len(given.shape) == len(x.shape) else xp.reshape(given, shape=(math.prod(given.shape),))
            # as NumPy assigns them to one slice: their first axis is the one along which they are inserted
            given = xp.permute_dims(given, axes=(*range(1, at + 1), 0, *range(at + 1, len(x.shape))))
    wide = [1] * (len(x.shape) - len(given.shape)) + list(given.shape)
    size = count if count is not None else wide[at] if values is not None else 1
    shape = tuple(size if k == at else n for k, n in enumerate(x.shape))
    return x, xp.broadcast_to(given, shape=shape), at


def selected(size: int, start: int | None, stop: int | None, step: int | None, int_ind: int | None, name: str) -> range:
    """The places that an integer or a slice selects.

    Raises
    ------
    ParameterError
        If an integer is out of bounds.
    """
    if int_ind is None:
        return range(*slice(start, stop, step).indices(size))
    last = size if name == "insert" else size - 1
    if not -size <= int_ind <= last:
        raise ParameterError(f"{name}: index {int_ind} is out of bounds for axis of size {size}", None, f"pass one from {-size} to {last}")
    at = int_ind + size if int_ind < 0 else int_ind
    return range(at, at + 1)


def between(xp: Derived, at: Operand, low: int, high: int) -> Operand:
    """``at`` clipped to [low, high]."""
    return xp.minimum(xp.maximum(at, low), high)


def spliced(xp: Derived, arr: Operand, values: Operand, places: range, axis: int) -> Operand:
    """``arr`` with the slices of ``values`` before the places: one of them before each, or all before the only one."""
    size, count = arr.shape[axis], len(places)
    if count <= 1:
        at = places.start if count else size
        parts = [xp.take_slice(arr, 0, at, axis), values, xp.take_slice(arr, at, size, axis)]
        return xp.concat(*[p for p in parts if p.shape[axis]] or [arr], axis=axis)
    # where the result is one of the values, its number; elsewhere, how many of them are before it
    first, period = places.start, places.step + 1
    at = xp.iota(size=size + count, dtype="int64")
    number = between(xp, xp.floor_divide(at - first, period), 0, count - 1)
    before = between(xp, xp.floor_divide(at - first + places.step, period), 0, count)
    order = xp.where(xp.equal(at, number * period + first), number + size, at - before)
    return xp.take(xp.concat(arr, values, axis=axis), order, axis=axis)


def declare_insert(kind: str) -> Op:
    """Declare the operator that inserts at an integer (scalar) or at a slice."""

    def rule(
        xp,
        arr,
        values=None,
        *,
        val: float | None = None,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        int_ind: int | None = None,
        axis: int | None = None,
    ):
        size = math.prod(arr.shape) if axis is None else arr.shape[axis]
        places = selected(size, start, stop, step, int_ind, "insert")
        x, given, at = prepared(xp, arr, values, val, axis, None if int_ind is not None else len(places))
        # a slice with a negative step names its places from the last to the first, and the values in that order
        if places.step < 0:
            places, given = places[::-1], xp.flip(given, at)
        return spliced(xp, x, given, places, at)

    rule.__name__, rule.__doc__ = f"npi_insert_{kind}", f"Values, or the number ``val``, inserted before the places of a {kind}."
    new = numpy_op(f"_npi_insert_{kind}")(rule)
    where = {"int_ind": 1} if kind == "scalar" else {"start": 0, "stop": 3, "step": 2}
    new.sample(lambda draw: [draw(draw.real((3, 2)), draw.real((2,)), axis=0, **where), draw(draw.real((3,)), val=2.0, **where)])
    return new


INSERT = {kind: declare_insert(kind) for kind in ("scalar", "slice")}


@numpy_op("_npi_insert_tensor", like=INSERT["scalar"], without=("axis",))
def npi_insert_tensor(xp, arr, values, obj, *, axis: int | None = None, val, **_):
    """Values inserted before the places in ``obj``, an array of integers; of the parameters only ``axis`` has an effect."""
    x, given, at = prepared(xp, arr, values, val, axis, math.prod(obj.shape))
    size = x.shape[at]
    places = xp.astype(xp.reshape(obj, shape=(math.prod(obj.shape),)), dtype="float64")
    places = xp.where(xp.less(places, 0), places + size, places)
    # an element's key is its number plus a half: a stable sort puts values inserted at that number before it
    order = xp.argsort(xp.concat(places, xp.iota(size=size, dtype="float64") + 0.5, axis=0), axis=0, descending=False)
    return xp.take(xp.concat(given, x, axis=at), order, axis=at)


npi_insert_tensor.sample(lambda draw: draw(draw.real((4,)), draw.real((2,)), draw.integer((2,), 0, 4, "int32"), gradient=False))


@numpy_op("_npi_delete", like=INSERT["scalar"], without=("val", "axis"))
def npi_delete(xp, arr, obj=None, *, axis: int | None = None, **where):
    """The array, flattened if ``axis`` is None, without the slices that an integer or a slice selects.

    ``obj``, an array of places, is refused: the shape of the result would depend on its values.
    """
    if obj is not None:
        raise ParameterError("_npi_delete: the shape of the result depends on the values of obj", None, "pass an integer or a slice")
    x, at = _flattened(xp, arr, axis)
    size, gone = x.shape[at], selected(x.shape[at], **where, name="delete")
    first, step, count = min(gone[0], gone[-1]) if gone else size, abs(gone.step), len(gone)
    if step == 1 or count <= 1:
        parts = [xp.take_slice(x, 0, first, at), xp.take_slice(x, first + count, size, at)]
        return xp.concat(*[p for p in parts if p.shape[at]] or parts, axis=at)
    # an element has moved by as many places as were before it
    places = xp.iota(size=size - count, dtype="int64")
    return xp.take(x, places + between(xp, xp.floor_divide(places - first, step - 1) + 1, 0, count), axis=at)


npi_delete.sample(lambda draw: [draw(draw.real((4, 2)), axis=0, int_ind=1), draw(draw.real((5,)), start=0, stop=5, step=2)])

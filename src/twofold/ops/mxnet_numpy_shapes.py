"""MXNet's NumPy operators that rearrange elements: shapes, axes, joining, splitting, diagonals."""

import math
import re
from collections.abc import Sequence
from typing import Literal

from ..errors import ParameterError, ShapeError
from ..opdef import (
    Axis,
    Count,
    Derived,
    Op,
    Operand,
    Shape,
    agreed,
    distinct_axes,
    filled_shape,
    moved_axes,
    normalized_axis,
    numpy_op,
    permuted,
    reshaped,
)
from .creation import diagonal, diagonal_matrix
from .joining import pieces, pieces_grad, section_count, section_edges
from .linear_algebra import tril
from .mxnet_numpy_arithmetic import common_dtype


@numpy_op("_np_copy", keeps_shape=True, row="copy(a, out=None)")
def np_copy(xp, a):
    """A copy."""
    return xp.contiguous(a)


np_copy.sample(lambda draw: draw(draw.real((2, 3))))


@numpy_op("_np_reshape", row="reshape(a, newshape, order='C', out=None)")
def np_reshape(xp, a, *, newshape: Shape, order: Literal["C", "F", "A", "K"] = "C"):
    """The elements in a new shape, in which -1 infers a size; read and written with the last axis fastest (C, A, K) or the first (F)."""
    shape = filled_shape(tuple(-1 if n is None else n for n in newshape), math.prod(a.shape), "reshape")
    if order != "F":
        return xp.reshape(a, shape=shape)
    # with the first axis fastest, the elements are those of the transposed array with the last axis fastest
    turned = xp.reshape(xp.permute_dims(a, axes=tuple(range(len(a.shape)))[::-1]), shape=shape[::-1])
    return xp.permute_dims(turned, axes=tuple(range(len(shape)))[::-1])


@np_reshape.infer
def _(shapes, results, *, newshape, order):
    known = [None if s is None or 0 in s else s for s in (shapes[0], results[0])]
    if order == "F" or 0 in newshape:
        return shapes, results
    before, after = reshaped(*known, codes=newshape)
    return [before], [after]


np_reshape.sample(lambda draw: [draw(draw.real((2, 3)), newshape=(3, -1)), draw(draw.real((2, 3)), newshape=(3, 2), order="F")])


def shape_of_codes(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple[int, ...]:
    """The shape that the codes of ``npx.reshape`` give, read from the right with ``reverse``.

    -2 keeps a size, -3 drops a size of 1, -4 keeps all the rest, -5 merges two, -6 splits one into the two that follow; -1 infers a size.

    Raises
    ------
    ShapeError
        If the codes do not match the shape.
    """
    found = _sizes_of_codes(shape[::-1], codes[::-1])[::-1] if reverse else _sizes_of_codes(shape, codes)
    return filled_shape(found, math.prod(shape), "npx.reshape")


def _sizes_of_codes(shape: tuple[int, ...], codes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes, with -1 for a size to infer."""
    sizes, rest, out = list(shape), list(codes), []
    try:
        while rest:
            code = rest.pop(0)
            if code == -2:
                out.append(sizes.pop(0))
            elif code == -3:
                if sizes.pop(0) != 1:
                    raise ShapeError("npx.reshape: -3 drops an axis of size 1 only", f"{shape} by {codes}", "keep the axis with -2")
            elif code == -4:
                out, sizes = out + sizes, []
            elif code == -5:
                out.append(sizes.pop(0) * sizes.pop(0))
            elif code == -6:
                size, first, second = sizes.pop(0), rest.pop(0), rest.pop(0)
                out += [size // second if first == -1 else first, size // first if second == -1 else second]
            else:
                # a size, or -1, replaces one axis, whatever its size
                out.append(code)
                sizes = sizes[1:]
    except IndexError:
        raise ShapeError("npx.reshape: the codes do not match the shape", f"{shape} by {codes}", "see the meaning of -2 to -6") from None
    return tuple(out)


@numpy_op("_npx_reshape", "_npi_reshape")
def npx_reshape(xp, a, *, newshape: Shape, reverse: bool = False, order: Literal["C"] = "C"):
    """The elements in a new shape, which may contain codes; ``reverse`` reads them from the right."""
    return xp.reshape(a, shape=shape_of_codes(a.shape, newshape, reverse))


npx_reshape.sample(lambda draw: [draw(draw.real((2, 1, 3)), newshape=codes) for codes in ((-2, -3, -1), (-5, -2), (-4,), (-6, 1, 2, -4))])
npx_reshape.sample(lambda draw: draw(draw.real((2, 1, 3)), newshape=(-2, -5), reverse=True))


@numpy_op("_npi_resize", row="resize(a, new_shape)", numpy_names=("resize",))
def npi_resize(xp, a, *, new_shape: Shape):
    """The elements in a new shape, repeated or cut as needed; zeros if the array is empty."""
    if any(n < 0 for n in new_shape):
        raise ShapeError("resize: a size is negative", str(new_shape), "pass sizes of 0 or more")
    size, given = math.prod(new_shape), math.prod(a.shape)
    if not size or not given:
        return xp.zeros(new_shape, xp.dtype_of(a))
    flat = xp.reshape(a, shape=(given,))
    times = -(-size // given)
    # a broadcast view is copied once, where a concatenation would read every repeat
    repeated = xp.reshape(xp.broadcast_to(flat, shape=(times, given)), shape=(times * given,))
    return xp.reshape(xp.take_slice(repeated, 0, size, 0), shape=new_shape)


npi_resize.infer(lambda shapes, results, *, new_shape: (shapes, [tuple(new_shape)]))
npi_resize.sample(lambda draw: [draw(draw.real((2, 3)), new_shape=(4, 4)), draw(draw.real((2, 3)), new_shape=(2,))])


@numpy_op("_np_squeeze", row="squeeze(a, axis=None, out=None)")
def np_squeeze(xp, a, *, axis: Axis = None):
    """The array without the given axes of size 1, or all such axes."""
    return xp.squeeze(a, axis)


np_squeeze.sample(lambda draw: [draw(draw.real((1, 2, 1))), draw(draw.real((1, 2, 1)), axis=-1)])


@numpy_op("_np_transpose", row="transpose(a, axes=None)")
def np_transpose(xp, a, *, axes: Shape | None = None):
    """The array with its axes in the given order, reversed if None."""
    ndim = len(a.shape)
    order = tuple(range(ndim))[::-1] if not axes else distinct_axes(axes, ndim, "transpose: axes")
    if len(order) != ndim:
        raise ShapeError("transpose: axes don't match array", f"axes {axes} of shape {a.shape}", "name each axis once")
    return xp.permute_dims(a, axes=order)


@np_transpose.infer
def _(shapes, results, *, axes):
    known = next((s for s in (*shapes, *results) if s is not None), None)
    if known is None:
        return shapes, results
    before, after = permuted(shapes[0], results[0], [a % len(known) for a in axes] if axes else range(len(known))[::-1])
    return [before], [after]


np_transpose.sample(lambda draw: [draw(draw.real((2, 3, 4))), draw(draw.real((2, 3, 4)), axes=(1, -1, 0))])


@numpy_op("_np_moveaxis", row="moveaxis(a, source, destination)")
def np_moveaxis(xp, a, *, source: Shape, destination: Shape):
    """The array with axes moved to new places, the others in order."""
    ndim = len(a.shape)
    taken, places = distinct_axes(source, ndim, "source"), distinct_axes(destination, ndim, "destination")
    if len(taken) != len(places):
        raise ParameterError("moveaxis: source and destination differ in length", f"{source} and {destination}", "pass as many of each")
    return xp.permute_dims(a, axes=moved_axes(taken, places, ndim))


np_moveaxis.sample(lambda draw: draw(draw.real((2, 3, 4)), source=(0, 1), destination=(-1, 0)))


@numpy_op("_np_roll", keeps_shape=True, row="roll(a, shift, axis=None)")
def np_roll(xp, data, *, shift: Axis = None, axis: Axis = None):
    """The elements shifted along axes; elements beyond the end reappear at the beginning. The array is flattened if ``axis`` is None."""
    if shift is None:
        raise ParameterError("roll: no shift", None, "pass shift")
    if axis is None:
        flat = xp.reshape(data, shape=(math.prod(data.shape),))
        return xp.reshape(np_roll(xp, flat, shift=shift, axis=0), shape=data.shape)
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = (shift,) * len(axes) if isinstance(shift, int) else shift
    if len(shifts) not in (1, len(axes)):
        raise ParameterError("roll: shift and axis differ in length", f"{shift} and {axis}", "pass as many of each")
    for by, given in zip(shifts * (1 if len(shifts) == len(axes) else len(axes)), axes, strict=True):
        at = normalized_axis(given, len(data.shape), "roll: axis")
        # the first `cut` elements go to the end, also for shifts beyond the axis and for negative ones
        cut = -by % max(data.shape[at], 1)
        if cut:
            data = xp.concat(xp.take_slice(data, cut, None, at), xp.take_slice(data, 0, cut, at), axis=at)
    return data


np_roll.sample(lambda draw: [draw(draw.real((2, 3)), shift=1), draw(draw.real((2, 3)), shift=(1, -1), axis=(0, 1))])


@numpy_op("_npi_flip", keeps_shape=True, row="flip(m, axis=None, out=None)", writes="axis")
def npi_flip(xp, data, *, axis: Axis):
    """The elements in reversed order along axes, all if None."""
    return xp.flip(data, None if axis is None else distinct_axes(axis, len(data.shape)))


npi_flip.sample(lambda draw: [draw(draw.real((2, 3)), axis=None), draw(draw.real((2, 3)), axis=-1)])


@numpy_op("_npi_rot90", row="rot90(m, k=1, axes=(0, 1))", writes="k axes")
def npi_rot90(xp, data, *, k: int = 1, axes: Shape | None = None):
    """The array turned ``k`` times by 90 degrees in the plane of two axes, from the first towards the second; (0, 1) if None."""
    first, second = distinct_axes(axes or (0, 1), len(data.shape), "rot90: axes")
    if k % 4 == 0:
        return xp.contiguous(data)
    if k % 4 == 2:
        return xp.flip(data, (first, second))
    return xp.swapaxes(xp.flip(data, second), first, second) if k % 4 == 1 else xp.flip(xp.swapaxes(data, first, second), second)


npi_rot90.sample(lambda draw: [draw(draw.real((2, 3)), k=k) for k in (1, 2, 3)])


@numpy_op("_npi_broadcast_to", row="broadcast_to(array, shape)")
def npi_broadcast_to(xp, array, *, shape: Shape = ()):
    """The array broadcast to a shape, in which -2 keeps a size."""
    lead = len(shape) - len(array.shape)
    kept = (*shape[: max(lead, 0)], *array.shape)
    return xp.broadcast_to(array, shape=tuple(k if n == -2 else n for n, k in zip(shape, kept, strict=True)) if lead >= 0 else shape)


npi_broadcast_to.sample(lambda draw: draw(draw.real((2, 1)), shape=(3, 2, 4)))


# joining and splitting


def in_common(xp: Derived, arrays: Sequence[Operand]) -> list[Operand]:
    """Arrays in their common dtype."""
    dtype = xp.dtype_of(arrays[0])
    for a in arrays[1:]:
        dtype = common_dtype(dtype, xp.dtype_of(a))
    return [xp.cast(a, dtype) for a in arrays]


def joined_dtype(dtypes: Sequence[str | None], **_: object) -> list[str | None]:
    """The dtype of arrays that are joined."""
    found = dtypes[0]
    for d in dtypes[1:]:
        found = None if found is None or d is None else common_dtype(found, d)
    return [found]


@numpy_op("_npi_concatenate", count_param="num_args", output_names=("out",), row="concatenate(seq, axis=0, out=None)", writes="axis")
def npi_concatenate(xp, *data, axis: int | None = 0):
    """Arrays joined along an axis, flattened if None."""
    arrays = in_common(xp, data)
    if axis is None:
        return xp.concat(*[xp.reshape(a, shape=(math.prod(a.shape),)) for a in arrays], axis=0)
    return xp.concat(*arrays, axis=normalized_axis(axis, len(arrays[0].shape), "concatenate: axis"))


npi_concatenate.sample(lambda draw: [draw(draw.real((2, 3)), draw.real((1, 3))), draw(draw.real((2, 3)), draw.real((1, 3)), axis=None)])


@numpy_op("_npi_stack", count_param="num_args", row="stack(arrays, axis=0, out=None)", writes="axis")
def npi_stack(xp, *data, axis: int = 0):
    """Arrays of one shape joined along a new axis."""
    arrays = in_common(xp, data)
    if any(a.shape != arrays[0].shape for a in arrays):
        raise ShapeError("stack: the shapes differ", ", ".join(str(a.shape) for a in arrays), "make them equal")
    return xp.stack(arrays, normalized_axis(axis, len(arrays[0].shape) + 1, "stack: axis"))


@npi_stack.infer
def _(shapes, results, *, axis):
    one = agreed(*shapes)
    return [one] * len(shapes), results


npi_stack.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3)), axis=-1))


def at_least(xp: Derived, a: Operand, ndim: int) -> Operand:
    """The array with axes of size 1 until it has a number of axes: leading axes for one and two, around a vector for three."""
    shape = a.shape
    if len(shape) >= ndim:
        return a
    if ndim == 3:
        # NumPy's convention: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1)
        return xp.reshape(a, shape=(1, *shape, 1) if len(shape) == 1 else (*shape, *[1] * (3 - len(shape))))
    return xp.reshape(a, shape=(*[1] * (ndim - len(shape)), *shape))


def declare_joining(doc: str, ndim: int, axis: int, row: str) -> None:
    """Declare one of NumPy's stacking functions: arrays are given at least ``ndim`` axes and joined along ``axis``."""
    name = re.split("[,(]", row)[0]

    def computed(xp, data):
        arrays = in_common(xp, data)
        if name == "column_stack":
            # a vector is a column here, and a row in `vstack`
            arrays = [xp.reshape(a, shape=(math.prod(a.shape), 1)) if len(a.shape) < 2 else a for a in arrays]
        arrays = [at_least(xp, a, ndim) for a in arrays]
        # vectors have no second axis to be joined along
        return xp.concat(*arrays, axis=0 if name == "hstack" and len(arrays[0].shape) == 1 else axis)

    def plain(xp, *data):
        return computed(xp, data)

    def along(xp, *data, dim: int = 1):  # MXNet declares the parameter, which has no effect
        return computed(xp, data)

    rule = along if name in ("hstack", "dstack") else plain

    rule.__name__, rule.__doc__ = f"npi_{name}", doc
    new = numpy_op(f"_npi_{name}", count_param="num_args", row=row)(rule)
    new.dtypes(joined_dtype)
    new.sample(lambda draw: [draw(draw.real((3,)), draw.real((3,))), draw(draw.real((2, 3)), draw.real((2, 3)))])


declare_joining("Arrays joined along the first axis, vectors as rows.", 2, 0, "vstack, row_stack(arrays, out=None)")
declare_joining("Arrays joined along the second axis, vectors along the first.", 1, 1, "hstack(arrays)")
declare_joining("Arrays joined along the third axis.", 3, 2, "dstack(arrays)")
declare_joining("Matrices joined along the second axis, vectors as columns.", 2, 1, "column_stack(tup)")
for _op in (npi_concatenate, npi_stack):
    _op.dtypes(joined_dtype)


def declare_at_least(ndim: int) -> Op:
    """Declare ``atleast_1d``, ``atleast_2d`` or ``atleast_3d``."""

    def rule(xp, *arys, num_args: Count = 1):
        results = [at_least(xp, a, ndim) for a in arys]
        return tuple(results) if num_args > 1 else results[0]

    rule.__name__, rule.__doc__ = f"np_atleast_{ndim}d", f"Arrays with axes of size 1 added until they have {ndim}."
    new = numpy_op(f"_np_atleast_{ndim}d", count_param="num_args", outputs=lambda num_args, **_: num_args)(rule)
    new.sample(lambda draw: [draw(draw.real((3,)), num_args=1), draw(draw.real((3,)), draw.real((2, 2)), num_args=2)])
    return new


AT_LEAST = {ndim: declare_at_least(ndim) for ndim in (1, 2, 3)}


def declare_splitting(name: str, axis: int) -> Op:
    """Declare ``hsplit`` or ``dsplit``: split at indices that begin with 0, or into sections."""

    def rule(xp, data, *, indices: Shape, axis: int = axis, squeeze_axis: bool = False, sections: Count = 0):
        # a vector is split along its only axis
        at = 0 if name == "hsplit" and len(data.shape) == 1 else normalized_axis(axis, len(data.shape), f"{name}: axis")
        size = data.shape[at]
        if name == "dsplit" and sections and size % sections:  # MXNet's `hsplit` accepts it
            raise ShapeError(f"{name}: the array does not split evenly", f"size {size} into {sections}", "pass a divisor of the size")
        edges = section_edges(size, sections) if sections else [*indices, size]
        parts = pieces(xp, data, [min(e, size) for e in edges], at, squeeze_axis, name)
        return parts if len(parts) != 1 else parts[0]

    rule.__name__, rule.__doc__ = f"npi_{name}", f"NumPy's ``{name}``: parts along an axis, of equal size or from indices on."
    new = numpy_op(f"_npi_{name}", outputs=section_count, faithful=True)(rule)

    def grad(xp, dout, out, data, *, indices, axis, squeeze_axis, sections):
        single = section_count(indices, sections) == 1
        at = 0 if name == "hsplit" and len(data.shape) == 1 else axis
        return pieces_grad(xp, (dout,) if single else dout, (out,) if single else out, data, at, squeeze_axis)

    new.grad(grad)
    new.sample(lambda draw: draw(draw.real((2, 4, 2)), indices=(), sections=2))
    new.sample(lambda draw: draw(draw.real((2, 4, 2)), indices=(0, 1), sections=0))
    return new


SPLITTING = {"hsplit": declare_splitting("hsplit", 1), "dsplit": declare_splitting("dsplit", 1)}


# diagonals


@numpy_op("_np_diag", row="diag(array, k=0)")
def np_diag(xp, data, *, k: int = 0):
    """The diagonal ``k`` of a matrix; for a vector, the square matrix with that diagonal."""
    return diagonal_matrix(xp, data, k) if len(data.shape) == 1 else diagonal(xp, data, k, 0, 1)


@numpy_op("_np_diagflat", row="diagflat(array, k=0)")
def np_diagflat(xp, data, *, k: int = 0):
    """The square matrix with the flattened elements on its diagonal ``k``."""
    return diagonal_matrix(xp, xp.reshape(data, shape=(math.prod(data.shape),)), k)


@numpy_op("_np_diagonal", row="diagonal(a, offset=0, axis1=0, axis2=1)")
def np_diagonal(xp, data, *, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """The diagonal ``offset`` of two axes, which a new last axis replaces."""
    return diagonal(xp, data, offset, axis1, axis2)


@numpy_op("_np_trace", row="trace(a, offset=0, axis1=0, axis2=1, out=None)")
def np_trace(xp, data, *, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """The sum of the diagonal ``offset`` of two axes."""
    return xp.cast_like(xp.sum(xp.upcast(diagonal(xp, data, offset, axis1, axis2)), axis=-1, keepdims=False), data)


for _op in (np_diagonal, np_trace):
    _op.sample(lambda draw: draw(draw.real((3, 4)), offset=1))
for _op in (np_diag, np_diagflat):
    _op.sample(lambda draw: draw(draw.real((3,)), k=-1))


@numpy_op("_npi_tril", row="tril(m, k=0)", writes="k")
def npi_tril(xp, data, *, k: int = 0):
    """The elements up to the diagonal ``k``, zeros to the right of it; a vector is repeated as rows."""
    n = data.shape[-1] if data.shape else 1
    square = xp.broadcast_to(data, shape=(n, n)) if len(data.shape) == 1 else data
    return xp.cast_like(tril(xp, square, k), data)


npi_tril.sample(lambda draw: [draw(draw.real((3, 3)), k=-1), draw(draw.real((3,)))])

"""Functions that rearrange elements: shapes, axes, joining, splitting, repeating, diagonals, padding, inserting and deleting."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..errors import ParameterError
from ..opdef.spec import Op
from ..ops import gathering, joining, reshaping
from ..ops import mxnet_numpy_editing as editing
from ..ops import mxnet_numpy_shapes as ops
from .front import Front, Unsupported, without_none

__all__ = ["Shapes", "as_sizes"]

Indices = int | Sequence[int]


def as_sizes(shape: Any) -> Any:
    """A shape as MXNet spells it: a number or a tuple."""
    return tuple(shape) if isinstance(shape, (list, tuple)) else shape


def _where(sections: Any) -> dict[str, Any]:
    """Where to split, as the operators expect it: the number of equal sections, or indices that begin with 0."""
    if isinstance(sections, int):
        return {"indices": [], "sections": sections}
    if not isinstance(sections, (list, tuple)):
        raise ParameterError("split: indices_or_sections must either int, or tuple of ints", repr(sections), "pass one of them")
    return {"indices": [0, *sections], "sections": 0}


class Shapes(Front):
    """Functions that rearrange elements."""

    def copy(self, a: Any, out: Any = None) -> Any:
        """A copy."""
        return self.apply(ops.np_copy, (self.operand(a),), None, out)

    def reshape(self, a: Any, newshape: Any, order: str = "C", out: Any = None) -> Any:
        """The elements in a new shape, in which -1 infers a size: a copy."""
        params = {"newshape": as_sizes(newshape), **({} if order == "C" else {"order": order})}
        return self.apply(ops.np_reshape, (self.operand(a),), params, out)

    def resize(self, a: Any, new_shape: Any) -> Any:
        """The elements in a new shape, repeated or cut as needed."""
        return self.apply(ops.npi_resize, (self.operand(a),), {"new_shape": as_sizes(new_shape)})

    def ravel(self, x: Any, order: str = "C") -> Any:
        """The elements along one axis: a copy."""
        if order != "C":
            return self.apply(ops.np_reshape, (self.operand(x),), {"newshape": -1, "order": order})
        return self.apply(ops.npx_reshape, (self.operand(x),), {"newshape": -1})

    def squeeze(self, a: Any, axis: Any = None, out: Any = None) -> Any:
        """The array without the given axes of size 1, or all such axes: a copy."""
        return self.apply(ops.np_squeeze, (self.operand(a),), without_none(axis=axis), out)

    def transpose(self, a: Any, axes: Any = None) -> Any:
        """The array with its axes in the given order, reversed if None: a copy."""
        return self.apply(ops.np_transpose, (self.operand(a),), without_none(axes=as_sizes(axes)))

    def swapaxes(self, a: Any, axis1: int, axis2: int) -> Any:
        """The array with two axes swapped: a copy."""
        return self.apply(reshaping.swap_axis, (self.operand(a),), {"dim1": axis1, "dim2": axis2}, None, "swapaxes")

    def moveaxis(self, a: Any, source: Any, destination: Any) -> Any:
        """A copy of the array with axes moved to new places; the other axes keep their order."""
        return self.apply(ops.np_moveaxis, (self.operand(a),), {"source": as_sizes(source), "destination": as_sizes(destination)})

    def expand_dims(self, a: Any, axis: int) -> Any:
        """The array with a new axis of size 1: a copy."""
        return self.apply(reshaping.expand_dims, (self.operand(a),), {"axis": axis})

    def broadcast_to(self, array: Any, shape: Any) -> Any:
        """The array broadcast to a shape: a copy."""
        return self.apply(ops.npi_broadcast_to, (self.operand(array),), {"shape": as_sizes(shape)})

    def flip(self, m: Any, axis: Any = None, out: Any = None) -> Any:
        """The elements in reversed order along axes, all if None."""
        return self.apply(ops.npi_flip, (self.operand(m),), {"axis": as_sizes(axis)}, out)

    def flipud(self, m: Any) -> Any:
        """The elements in reversed order along the first axis."""
        return self.flip(m, 0)

    def fliplr(self, m: Any) -> Any:
        """The elements in reversed order along the second axis."""
        return self.flip(m, 1)

    def rot90(self, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
        """The array turned ``k`` times by 90 degrees in the plane of two axes."""
        return self.apply(ops.npi_rot90, (self.operand(m),), {"k": k, "axes": as_sizes(axes)})

    def roll(self, a: Any, shift: Any, axis: Any = None) -> Any:
        """The elements shifted along axes, of the flattened array if None."""
        return self.apply(ops.np_roll, (self.operand(a),), without_none(shift=as_sizes(shift), axis=as_sizes(axis)))

    def tile(self, A: Any, reps: Any) -> Any:
        """The whole array repeated along axes."""
        return A if self.number(A) is not None else self.apply(reshaping.tile, (self.operand(A),), {"reps": as_sizes(reps)})

    def repeat(self, a: Any, repeats: int, axis: int | None = None) -> Any:
        """Each element repeated along an axis, of the flattened array if None."""
        return self.apply(reshaping.repeat, (self.operand(a),), {"repeats": repeats, **without_none(axis=axis)})

    def take(self, a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None) -> Any:
        """Slices at indices along an axis, elements of the flattened array if None; ``mode`` raises, clips or wraps what is outside."""
        if mode not in ("raise", "clip", "wrap"):
            raise ParameterError("take: unknown mode", repr(mode), "use 'raise', 'clip' or 'wrap'")
        x = self.operand(a) if axis is not None else self.apply(ops.npx_reshape, (self.operand(a),), {"newshape": -1})
        return self.apply(gathering.take_places, (x, self.operand(indices)), {"axis": axis or 0, "mode": mode}, out)

    # joining and splitting

    def concatenate(self, seq: Any, axis: int | None = 0, out: Any = None) -> Any:
        """Arrays joined along an axis, flattened if None."""
        return self.apply(ops.npi_concatenate, self.operands(seq), {"axis": axis}, out)

    def stack(self, arrays: Any, axis: int = 0, out: Any = None) -> Any:
        """Arrays of one shape joined along a new axis."""
        return self.apply(ops.npi_stack, self.operands(arrays), {"axis": axis}, out)

    def vstack(self, arrays: Any, out: Any = None) -> Any:
        """Arrays joined along the first axis, vectors as rows."""
        return self.apply(ops.JOINING["vstack"], self.operands(arrays), None, out)

    def row_stack(self, arrays: Any) -> Any:
        """Arrays joined along the first axis, vectors as rows."""
        return self.vstack(arrays)

    def hstack(self, arrays: Any) -> Any:
        """Arrays joined along the second axis, vectors along the first."""
        return self.apply(ops.JOINING["hstack"], self.operands(arrays))

    def dstack(self, arrays: Any) -> Any:
        """Arrays joined along the third axis."""
        return self.apply(ops.JOINING["dstack"], self.operands(arrays))

    def column_stack(self, tup: Any) -> Any:
        """Matrices joined along the second axis, vectors as columns."""
        return self.apply(ops.JOINING["column_stack"], self.operands(tup))

    def append(self, arr: Any, values: Any, axis: int | None = None) -> Any:
        """Two arrays joined along an axis, flattened if None."""
        return self.concatenate((arr, values), axis)

    def _split(self, op: Op, ary: Any, sections: Any, axis: int, name: str = "") -> list[Any]:
        params = {"axis": axis, "squeeze_axis": False, **_where(sections)}
        found = self.apply(op, (self.operand(ary),), params, None, name)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def split(self, ary: Any, indices_or_sections: Indices, axis: int = 0) -> list[Any]:
        """The parts of an array along an axis: of equal size, or from indices on."""
        return self._split(joining.split_v2, ary, indices_or_sections, axis, "split")

    def array_split(self, ary: Any, indices_or_sections: Indices, axis: int = 0) -> list[Any]:
        """The parts of an array along an axis; the first parts may be larger by one."""
        x = self.operand(ary)
        if isinstance(indices_or_sections, int):
            size, count = self._size(x, axis), indices_or_sections
            if size is not None and size % count:
                sizes = [size // count + (k < size % count) for k in range(count)]
                indices_or_sections = list(accumulate(sizes))[:-1]
        return self.split(x, indices_or_sections, axis)

    def _size(self, x: Any, axis: int) -> int | None:
        """The size of an axis, if it is known."""
        return None

    def vsplit(self, ary: Any, indices_or_sections: Indices) -> list[Any]:
        """The parts of an array along its first axis."""
        return self.split(ary, indices_or_sections, 0)

    def hsplit(self, ary: Any, indices_or_sections: Indices) -> list[Any]:
        """The parts of an array along its second axis, of a vector along its only one."""
        return self._split(ops.SPLITTING["hsplit"], ary, indices_or_sections, 1)

    def dsplit(self, ary: Any, indices_or_sections: Indices) -> list[Any]:
        """The parts of an array along its third axis."""
        return self._split(ops.SPLITTING["dsplit"], ary, indices_or_sections, 2)

    def _at_least(self, ndim: int, arys: Sequence[Any]) -> Any:
        found = self.apply(ops.AT_LEAST[ndim], self.operands(arys), {"num_args": len(arys)})
        return found if len(arys) == 1 else list(found)

    def atleast_1d(self, *arys: Any) -> Any:
        """Arrays with at least one axis."""
        return self._at_least(1, arys)

    def atleast_2d(self, *arys: Any) -> Any:
        """Arrays with at least two axes."""
        return self._at_least(2, arys)

    def atleast_3d(self, *arys: Any) -> Any:
        """Arrays with at least three axes."""
        return self._at_least(3, arys)

    # diagonals

    def diag(self, array: Any, k: int = 0) -> Any:
        """The diagonal ``k`` of a matrix, or the matrix with a vector there."""
        return self.apply(ops.np_diag, (self.operand(array),), {"k": k} if k else None)

    def diagflat(self, array: Any, k: int = 0) -> Any:
        """The matrix with the flattened elements on its diagonal ``k``."""
        return self.apply(ops.np_diagflat, (self.operand(array),), {"k": k} if k else None)

    def diagonal(self, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """The diagonal of two axes, which a new last axis replaces: a copy."""
        return self.apply(ops.np_diagonal, (self.operand(a),), _others(offset=(offset, 0), axis1=(axis1, 0), axis2=(axis2, 1)))

    def trace(self, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Any:
        """The sum of the diagonal of two axes."""
        return self.apply(ops.np_trace, (self.operand(a),), _others(offset=(offset, 0), axis1=(axis1, 0), axis2=(axis2, 1)), out)

    def tril(self, m: Any, k: int = 0) -> Any:
        """The elements up to the diagonal ``k``, zeros to the right of it."""
        return self.apply(ops.npi_tril, (self.operand(m),), {"k": k})

    # padding, inserting, deleting

    def pad(self, x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:
        """The array with elements added before and after each axis: (before, after) for each, or one pair for all."""
        value = kwargs.pop("constant_values", 0)
        kind = kwargs.pop("reflect_type", "even")
        if kwargs or kind != "even" or not isinstance(value, (int, float)):
            raise ParameterError("pad: unsupported arguments", f"{kwargs}, reflect_type={kind!r}, {value!r}", "pass one constant")
        width = tuple(tuple(p) if isinstance(p, (list, tuple)) else p for p in pad_width) if not isinstance(pad_width, int) else pad_width
        params: dict[str, Any] = {"pad_width": width, "mode": mode}
        return self.apply(editing.npi_pad, (self.operand(x),), params | ({"constant_value": value} if mode == "constant" else {}))

    def insert(self, arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
        """Values inserted before the places that an integer, a slice or an array of integers selects; flattened if ``axis`` is None."""
        number = self.number(values)
        given = None if number is not None else self.operand(values)
        params: dict[str, Any] = {"axis": axis, **({} if number is None else {"val": number})}
        where = self._selection(obj)
        if where is not None:
            op = editing.INSERT["slice" if isinstance(obj, slice) else "scalar"]
            return self.apply(op, (self.operand(arr), given), params | where)
        if given is None:
            given = self._filled_like(self.operand(obj), self.operand(arr), number)
        return self.apply(editing.npi_insert_tensor, (self.operand(arr), given, self.operand(obj)), {"axis": axis})

    def _selection(self, obj: Any) -> dict[str, Any] | None:
        """A slice or an integer as parameters; None for an array of places."""
        if isinstance(obj, slice):
            return without_none(start=obj.start, stop=obj.stop, step=obj.step or 1)
        place = self.number(obj)
        return None if place is None else {"int_ind": int(place)}

    def _filled_like(self, obj: Any, arr: Any, number: Any) -> Any:
        """A number for each place where it is inserted."""
        raise Unsupported("insert: a number at places in a symbol", repr(number), "pass a symbol of values")

    def delete(self, arr: Any, obj: Any, axis: int | None = None) -> Any:
        """The array without what an integer, a slice or an array of integers selects; flattened if ``axis`` is None."""
        where = self._selection(obj)
        if where is None:
            return self._delete_places(arr, obj, axis)
        return self.apply(editing.npi_delete, (self.operand(arr), None), {"axis": axis, **where})

    def _delete_places(self, arr: Any, obj: Any, axis: int | None) -> Any:
        """`delete` at an array of places."""
        raise Unsupported("delete: the shape of the result depends on the values", type(obj).__name__, "pass an integer or a slice")


def _others(**given: tuple[int, int]) -> dict[str, int]:
    """The parameters that differ from their defaults."""
    return {name: value for name, (value, default) in given.items() if value != default}

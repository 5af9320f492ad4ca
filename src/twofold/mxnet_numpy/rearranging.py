"""Functions that rearrange elements: shapes, axes, joining, splitting, repeating, diagonals, padding, inserting and deleting."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from numbers import Real
from operator import index
from typing import Any

from ..errors import NotSupported, ParameterError
from ..opdef import Op
from ..opdef.frontend import named
from ..opdef.numpy_rows import sizes
from ..ops import gathering, joining, reshaping
from ..ops import mxnet_numpy_editing as editing
from ..ops import mxnet_numpy_shapes as ops
from .front import Array, Unsupported, without_none
from .row_functions import Functions

Indices = int | Sequence[int]


def number_or_places(given: Any) -> int | Sequence[int]:
    """The number of sections, or the places to split at.

    Raises
    ------
    ParameterError
        If it is neither an integer, Python's or NumPy's, nor a tuple or list.
    """
    if isinstance(given, (list, tuple)):
        return given
    try:
        return index(given)
    except TypeError:
        todo = "pass one of them"
        raise ParameterError("split: indices_or_sections must either int, or tuple of ints", repr(given), todo) from None


def _where(sections: object) -> dict[str, object]:
    """Where to split, as the operators expect it: the number of equal sections, or indices that begin with 0."""
    found = number_or_places(sections)
    if not isinstance(found, int):
        return {"indices": [0, *found], "sections": 0}
    if found < 1:
        raise ParameterError("split: number sections must be larger than 0", str(found), "pass 1 or more")
    return {"indices": [], "sections": found}


class Shapes(Functions[Array]):
    """Functions that rearrange elements."""

    def ravel(self, x: object, order: str = "C") -> Array:
        """The elements along one axis: a copy."""
        if order != "C":
            return self.apply(ops.np_reshape, (self.operand(x),), {"newshape": -1, "order": order})
        return self.apply(ops.npx_reshape, (self.operand(x),), {"newshape": -1})

    def flipud(self, m: object) -> Array:
        """The elements in reversed order along the first axis."""
        return self.flip(m, 0)

    def fliplr(self, m: object) -> Array:
        """The elements in reversed order along the second axis."""
        return self.flip(m, 1)

    def tile(self, A: Any, reps: object) -> Array:
        """The whole array repeated along axes."""
        return A if self.number(A) is not None else self.apply(reshaping.tile, (self.operand(A),), {"reps": sizes(reps)})

    def take(self, a: object, indices: object, axis: int | None = None, mode: str = "raise", out: Array | None = None) -> Array:
        """Slices at indices along an axis, or elements of the flattened array; ``mode``: indices outside raise, are clipped or wrap."""
        if mode not in ("raise", "clip", "wrap"):
            raise NotSupported("take: unknown mode", repr(mode), "use 'raise', 'clip' or 'wrap'")
        x = self.operand(a) if axis is not None else self.apply(ops.npx_reshape, (self.operand(a),), {"newshape": -1})
        return self.apply(gathering.take_places, (x, self.operand(indices)), {"axis": axis or 0, "mode": mode}, out)

    # joining and splitting

    def append(self, arr: object, values: object, axis: int | None = None) -> Array:
        """Two arrays joined along an axis, flattened if None."""
        return self.concatenate((arr, values), axis)

    def _split(self, op: Op, ary: object, sections: object, axis: int, name: str = "") -> list[Array]:
        params = {"axis": axis, "squeeze_axis": False, **_where(sections)}
        found = self.apply(op, (self.operand(ary),), params, None, name)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def split(self, ary: object, indices_or_sections: Indices, axis: int = 0) -> list[Array]:
        """The parts of an array along an axis: of equal size, or from indices on."""
        return self._split(joining.split_v2, ary, indices_or_sections, axis, "split")

    def array_split(self, ary: object, indices_or_sections: Indices, axis: int = 0) -> list[Array]:
        """The parts of an array along an axis; the first parts may be larger by one."""
        x = self.operand(ary)
        indices_or_sections = number_or_places(indices_or_sections)
        if isinstance(indices_or_sections, int):
            size, count = self._size(x, axis), indices_or_sections
            # a symbol's size is not known: the operator makes the first parts larger too
            if size is not None and size % count:
                sizes = [size // count + (k < size % count) for k in range(count)]
                indices_or_sections = list(accumulate(sizes))[:-1]
        return self.split(x, indices_or_sections, axis)

    def _ndim(self, x: Array) -> int | None:
        """The number of axes, if it is known."""
        return None

    def _size(self, x: Array, axis: int) -> int | None:
        """The size of an axis, if it is known."""
        return None

    def vsplit(self, ary: object, indices_or_sections: Indices) -> list[Array]:
        """The parts of an array along its first axis."""
        x = self.operand(ary)
        if self._ndim(x) == 1:
            raise ParameterError("vsplit only works on arrays of 2 or more dimensions", None, "call split")
        return self.split(x, indices_or_sections, 0)

    def hsplit(self, ary: object, indices_or_sections: Indices) -> list[Array]:
        """The parts of an array along its second axis, of a vector along its only one."""
        return self._split(ops.SPLITTING["hsplit"], ary, indices_or_sections, 1)

    def dsplit(self, ary: object, indices_or_sections: Indices) -> list[Array]:
        """The parts of an array along its third axis."""
        return self._split(ops.SPLITTING["dsplit"], ary, indices_or_sections, 2)

    # padding, inserting, deleting

    def pad(self, x: object, pad_width: Any = None, mode: str = "constant", **kwargs: object) -> Array:
        """The array with elements added before and after each axis: (before, after) for each, or one pair for all."""
        value = kwargs.pop("constant_values", 0)
        kind = kwargs.pop("reflect_type", "even")
        if kwargs or kind != "even" or not isinstance(value, Real):
            raise ParameterError("pad: unsupported arguments", f"{kwargs}, reflect_type={kind!r}, {value!r}", "pass one constant")
        given = sizes(pad_width)
        width = given if isinstance(given, int) else tuple(tuple(p) if isinstance(p, (list, tuple)) else p for p in given)
        params: dict[str, object] = {"pad_width": width, "mode": mode}
        return self.apply(editing.npi_pad, (self.operand(x),), params | ({"constant_value": value} if mode == "constant" else {}))

    def insert(self, arr: object, obj: object, values: object, axis: int | None = None) -> Array:
        """Values inserted before the places that an integer, a slice or an array of integers selects; flattened if ``axis`` is None."""
        number = self.number(values)
        given = None if number is not None else self.operand(values)
        params: dict[str, object] = {"axis": axis, **({} if number is None else {"val": number})}
        where = self._selection(obj)
        if where is not None:
            op = editing.INSERT["slice" if isinstance(obj, slice) else "scalar"]
            return self.apply(op, (self.operand(arr), given), params | where)
        if given is None:
            given = self._filled_like(self.operand(obj), self.operand(arr), number)
        return self.apply(editing.npi_insert_tensor, (self.operand(arr), given, self.operand(obj)), {"axis": axis})

    def _selection(self, obj: object) -> dict[str, object] | None:
        """A slice or an integer as parameters; None for an array of places."""
        if isinstance(obj, slice):
            return without_none(start=obj.start, stop=obj.stop, step=obj.step or 1)
        place = self.number(obj)
        return None if place is None else {"int_ind": int(place)}

    def _filled_like(self, obj: Array, arr: Array, number: float | None) -> Array:
        """A number for each place where it is inserted."""
        raise Unsupported("insert: a number at places in a symbol", repr(number), "pass a symbol of values")

    def delete(self, arr: object, obj: object, axis: int | None = None) -> Array:
        """The array without the selection of an integer, a slice or an array of integers; flattened if ``axis`` is None."""
        where = self._selection(obj)
        if where is None:
            return self._delete_places(arr, obj, axis)
        return self.apply(editing.npi_delete, (self.operand(arr), None), {"axis": axis, **where})

    def _delete_places(self, arr: object, obj: object, axis: int | None) -> Array:
        """`delete` at an array of places."""
        raise Unsupported("delete: the shape of the result depends on the values", type(obj).__name__, "pass an integer or a slice")


def _at_least(ndim: int) -> Callable[..., Any]:
    @named(f"atleast_{ndim}d", f"Arrays with at least {ndim} axes.")
    def function(self: Shapes[Array], *arys: object) -> Array | list[Array]:
        found = self.apply(ops.AT_LEAST[ndim], self.operands(arys), {"num_args": len(arys)})
        return found if len(arys) == 1 else list(found)

    return function


for _ndim in ops.AT_LEAST:
    setattr(Shapes, f"atleast_{_ndim}d", _at_least(_ndim))

"""``x[mask]`` in a traced function, where nobody knows how many elements a mask selects.

The selection has no shape, so most of what uses it raises. But arithmetic with numbers, and with selections by the same mask, can be done
with all elements of the array, of which a write to the same mask takes those that it selects: ``x[x > 2] *= 2``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ..errors import AutogradError
from ..graph.ir import Application, Node
from ..imperative.array import Array, apply_op
from ..imperative.cell import Value
from ..imperative.invoke import host_of
from ..imperative.tape import tls
from ..imperative.trace import Trace, TracedEntry
from ..ops.primitive_arithmetic import where as where_op
from .array import ndarray
from .creation import asarray

if TYPE_CHECKING:
    from ..ndarray.types import ArrayLike

#: What to write in place of ``x[mask]`` in a traced function.
BY_MASK = (
    "np.where(mask, x, 0) keeps the shape, x[mask] = value writes one value to all of them, np.place(x, mask, values) one to each; "
    "or select them outside"
)


def _reason(mask: Array) -> AutogradError | None:
    """Why the values of a mask cannot be read; None if they can, as where a function runs once, for `func.grad` alone."""
    try:
        host_of(mask)
    except AutogradError as error:
        return error
    return None


def is_known(mask: Array) -> bool:
    """Whether the values of a mask can be read."""
    return _reason(mask) is None


def unknown_number(mask: Array) -> AutogradError:
    """The error of a selection whose size would have to be known."""
    reason = _reason(mask)
    transform = "a traced function" if reason is None else reason.what.partition(":")[0]
    what = f"{transform}: the number of elements that a mask selects is not known while its function is traced"
    return AutogradError(what, f"x[mask] with a mask of shape {mask.shape}", BY_MASK)


def is_same(a: Array, b: Array) -> bool:
    """Whether two masks are one, or computed in the same way from the same arrays and numbers: ``x[x > 2] = x[x > 2] ** 2``."""
    v, w = a._content, b._content
    if a is b or not (isinstance(v, Value) and isinstance(w, Value)):
        return a is b
    if not (isinstance(v.entry, TracedEntry) and isinstance(w.entry, TracedEntry) and isinstance(tls.tape, Trace)):
        return v is w
    trace = tls.tape.owner
    numbers: dict[Node, int | float] = {n: x for n, x in zip(trace.inputs, trace.operands, strict=True) if isinstance(x, (int, float))}
    pairs = [(v.entry.of, w.entry.of)]
    # numbers are inputs, a new one for each mention; all else that is equal is one node
    while pairs:
        m, n = pairs.pop()
        if isinstance(m, Application) and isinstance(n, Application) and m is not n:
            if m.bound_op is not n.bound_op or len(m.inputs) != len(n.inputs):
                return False
            pairs += [(x, y) for x, y in zip(m.inputs, n.inputs, strict=True) if x is not None and y is not None]
        elif m is not n and (m not in numbers or n not in numbers or repr(numbers[m]) != repr(numbers[n])):
            return False
    return True


class MaskedSelection(ndarray):
    """The elements of an array at a mask that a trace follows."""

    __slots__ = ("_mask", "_whole")
    _mask: Array
    _whole: ndarray

    @classmethod
    def of(cls, whole: ndarray, mask: Array) -> MaskedSelection:
        """Those of an array of the mask's axes and others after them."""
        found = cls.__new__(cls)
        found._mask = mask
        # elements that are not selected are 1: what is computed of them, and of its gradient, should be finite
        found._whole = apply_op(where_op, found._along(whole), whole, 1, cls=ndarray)
        return found

    @property
    def _held(self) -> NoReturn:
        raise unknown_number(self._mask)

    def __len__(self) -> int:
        raise unknown_number(self._mask)

    def _along(self, whole: ndarray) -> Array:
        """The mask as it broadcasts to the array."""
        return self._mask.reshape(self._mask.shape + (1,) * (whole.ndim - self._mask.ndim))

    def written_to(self, x: ndarray, mask: Array | None) -> ndarray:
        """An array with this selection in place of its elements at a mask; None for any other index.

        Raises
        ------
        AutogradError
            If the selection is by another mask, or the index is none.
        """
        if mask is None or not is_same(mask, self._mask) or x.shape != self._whole.shape:
            raise unknown_number(self._mask if mask is None else mask)
        return apply_op(where_op, self._along(x), self._whole.astype(x.dtype, copy=False), x, cls=ndarray)

    def _computed(self, operation: Callable[..., ndarray], *operands: ArrayLike) -> MaskedSelection:
        """The result of an operation of Python for each element; this selection is among the operands."""
        taken = []
        for other in operands:
            if isinstance(other, MaskedSelection):
                if not is_same(other._mask, self._mask):
                    raise unknown_number(self._mask)
                other = other._whole
            # a number; an array must belong to the axes after the mask's
            elif isinstance(other, (Array, np.ndarray)) and other.size == 1:
                other = other.reshape(())
            elif not isinstance(other, (bool, int, float, complex)) and asarray(other).ndim > self._whole.ndim - self._mask.ndim:
                raise unknown_number(self._mask)
            taken.append(other)
        return MaskedSelection.of(operation(*taken), self._mask)


def _operator(name: str, reflected: bool) -> Callable[..., MaskedSelection]:
    operation = getattr(operator, name)

    def method(self: MaskedSelection, *others: ArrayLike) -> MaskedSelection:
        return self._computed(operation, *(reversed((self, *others)) if reflected else (self, *others)))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(MaskedSelection, f"__{_name}__", _operator(_name, False))
    setattr(MaskedSelection, f"__i{_name}__", _operator(_name, False))
    setattr(MaskedSelection, f"__r{_name}__", _operator(_name, True))
for _name in ("neg", "abs"):
    setattr(MaskedSelection, f"__{_name}__", _operator(_name, False))

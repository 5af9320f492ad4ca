"""What a basic index is, and the rules by which the array classes index: where they differ."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..opdef import BoundOp
from .array import Array

Triple = tuple[int | None, int | None, int | None]
Assigned = Array | np.ndarray | float  # the result of `Rules.value` for an assigned value


class Basic(NamedTuple):
    """A basic index of a shape.

    Attributes
    ----------
    key
        One (begin, end, step) triple per axis.
    kept
        For each axis of the result the source axis it comes from, or None for a new axis.
    chain
        The view operations: a slice, then a reshape if axes are dropped or inserted.
    is_view
        Whether the result shares memory with the array.
    target
        Sizes of the slice, before axes are dropped or inserted.
    takes_target
        Whether an assigned array of NumPy may have these sizes.
    """

    key: tuple[Triple, ...]
    kept: tuple[int | None, ...]
    chain: tuple[BoundOp, ...]
    is_view: bool
    target: tuple[int, ...]
    takes_target: bool


class Rules(NamedTuple):
    """How an array class interprets indices.

    Attributes
    ----------
    element
        Shape of a single element: ``()``, or ``(1,)`` in MXNet's ``nd``.
    is_view
        Whether the result of a basic index shares memory: a function of (shape, items, key, target).
    is_basic
        Whether an item may be part of a basic index.
    places
        Converts an item to a NumPy array: of bools (a mask), or a new one of int64.
    value
        Converts an assigned value for an array: to a cell of its dtype on its device, a Python scalar or a NumPy array.
    ellipsis_separates
        Whether an ellipsis that stands for no axes separates the index arrays on its two sides, so that their axes come first.
    takes_whole
        Whether an index that selects the whole array, ``a[:, 0]`` of a single column, may be assigned an array of NumPy of its shape.
    """

    element: tuple[int, ...]
    is_view: Callable[[tuple[int, ...], Sequence[object], Sequence[Triple], tuple[int, ...]], bool]
    is_basic: Callable[[object], bool]
    places: Callable[[Any], np.ndarray]
    value: Callable[[object, Any], Assigned]
    ellipsis_separates: bool
    takes_whole: bool

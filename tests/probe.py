"""What tests read of arrays' private state, in one place: where a field is renamed or moves, only this module follows."""

from __future__ import annotations

from typing import Any

import pytest

from twofold.imperative.cell import PLAIN, Value
from twofold.imperative.views import Viewable


def content(array: Any) -> Any:
    """What an array holds now: a plain backend array or a `Value`. A view is computed from its root."""
    return array._content


def set_content(array: Any, found: Any) -> None:
    """Put another content into an array."""
    array._content = found


def captured(array: Any) -> Value:
    """The content as a `Value` that others may share, as records and windows take it."""
    value: Value = array._capture()
    return value


def is_plain(array: Any) -> bool:
    """Whether an array alone owns a ready backend array of the CPU, which nothing records."""
    return array._content.__class__ is PLAIN


def data(array: Any) -> Any:
    """The backend array of a `Value`; None while it is pending."""
    return array._content.data


def is_pending(array: Any) -> bool:
    """Whether reading the array would have to compute it."""
    return array._content.data is None


def window_of(array: Any) -> Any:
    """The window that computes an array, or the last that read it."""
    return array._content.producer[0]


def tape_entry(array: Any) -> Any:
    """The record of the operation that made an array, or that of a leaf; None if it is not recorded."""
    return getattr(array._content, "entry", None)


def refuse_copies_of_views(patch: pytest.MonkeyPatch) -> None:
    """Let reads of views fail that would have to copy."""
    read = Viewable._content.fget
    assert read is not None
    patch.setattr(Viewable, "_content", property(lambda self: pytest.fail("a copy") if self._operand is None else read(self)))


def gradient(array: Any) -> Any:
    """The array's variable: its gradient and how that is written."""
    return array._gradient


def dtype_name(array: Any) -> str:
    """The name of the dtype, without asking NumPy."""
    name: str = array._dtype
    return name

"""Calls of user code (``mx.operator.CustomOp``, ``autograd.Function``) as recorded operations."""

from collections.abc import Sequence
from typing import Any

from ..op.registry import OPS
from .cell import wrap
from .handle import Handle
from .invoke import invoke


def call(handle: Handle, arrays: Sequence[Any], types: Sequence[Any], cls: type, needs: tuple[str, ...] = ("in", "out")) -> list[Any]:
    """Apply a handle to arrays.

    Parameters
    ----------
    handle, arrays
        What to call with which cells.
    types
        (shape, dtype name) of each result.
    cls
        Class of the resulting arrays.
    needs
        What its backward reads besides head gradients.
    """
    sig = OPS["user_forward"].sig(types=tuple(types), needs=needs, label=handle.label)
    return [wrap(cls, c) for c in invoke(sig, (handle, *arrays))]

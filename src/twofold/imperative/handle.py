"""A user's object as an operand: what `CustomOp` and `autograd.Function` are called through."""

import contextvars
from collections.abc import Sequence
from typing import Any

from ..errors import MXNetError


class Handle:
    """A user's object as an operand: run with recording off, its exceptions wrapped.

    Subclasses implement `_forward` and `_backward` on backend arrays.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._context = contextvars.copy_context()  # the caller's settings, NumPy's error state among them

    def forward(self, *arrays: Any) -> Any:
        """Run the forward code; a list of arrays, or one."""
        return self._guarded("forward", self._forward, arrays)

    def backward(self, *arrays: Any) -> Any:
        """Run the backward code."""
        return self._guarded("backward", self._backward, arrays)

    def _guarded(self, what: str, function: Any, arrays: Sequence[Any]) -> Any:
        try:
            results = self._context.copy().run(function, list(arrays))
        except MXNetError:
            raise
        except Exception as error:
            raise MXNetError(f"{self.label}: {what} raised {type(error).__name__}", str(error), "see the cause above") from error
        return results[0] if len(results) == 1 else results

    def _forward(self, arrays: list[Any]) -> list[Any]:
        raise MXNetError(f"{self.label}: forward is not written", None, "override forward()")

    def _backward(self, arrays: list[Any]) -> list[Any]:
        raise MXNetError(f"{self.label}: backward is not written", None, "override backward()")

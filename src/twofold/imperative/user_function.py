"""A user's object as an operand, through which `CustomOp` and `autograd.Function` are called."""

import contextvars
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..backend.kernel import Array
from ..errors import SEE_CAUSE, AutogradError, MXNetError
from ..signal_handlers import unless_signalled


class UserFunction:
    """A user's object as an operand. Its methods run with recording off, and their exceptions are wrapped.

    Subclasses implement `_forward` and `_backward` on backend arrays.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._context = contextvars.copy_context()  # the caller's settings, NumPy's error state among them

    def forward(self, *arrays: Array) -> Array:
        """Run the forward code: its result, or a list of several."""
        return self._guarded("forward", self._forward, arrays)

    def backward(self, *arrays: Array) -> Array:
        """Run the backward code: the gradient, or a list of several."""
        return self._guarded("backward", self._backward, arrays)

    def backward_on_cells(self, cells: Sequence[Any]) -> list[Any]:
        """Run the backward code on recording arrays, so that the gradients have gradients.

        Raises
        ------
        AutogradError
            If this kind of user code cannot.
        """
        raise AutogradError(
            f"{self.label}: its gradients cannot be differentiated", None, "write it with operators, or without create_graph"
        )

    def _guarded(self, what: str, function: Callable[[list[Array]], list[Array]], arrays: Sequence[Array]) -> Array:
        with user_code(f"{self.label}: {what}"):
            # a copy: one context cannot be entered twice, and the user's code may reach this method again
            results = self._context.copy().run(function, list(arrays))
        return results[0] if len(results) == 1 else results

    def _forward(self, arrays: list[Array]) -> list[Array]:
        raise MXNetError(f"{self.label}: forward is not implemented", None, "override forward()")

    def _backward(self, arrays: list[Array]) -> list[Array]:
        raise MXNetError(f"{self.label}: backward is not implemented", None, "override backward()")


@contextmanager
def user_code(what: str) -> Iterator[None]:
    """A block of user code: its exceptions become an `MXNetError` with them as the cause."""
    try:
        yield
    except MXNetError as error:
        error.add_note(f"in {what}")
        raise
    except unless_signalled(Exception) as error:
        reason = f": {error}" if str(error) else ""
        # without this function's own frame: from Python 3.12 on it leads to that of `contextlib`, which holds the error, and the cycle
        # would keep the arrays of the frames around
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        raise MXNetError(f"{what} raised {type(error).__name__}{reason}", None, SEE_CAUSE) from error

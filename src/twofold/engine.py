"""``mx.engine``: MXNet's switches of its engine. Here they set how many operations wait in a window (the setting ``window_operations``).

The engine's kind is chosen before the start: ``MXNET_ENGINE_TYPE=NaiveEngine`` or ``TWOFOLD_ENGINE=naive`` runs every operation at
once.
"""

import operator
import threading
from types import TracebackType

from .config import SETTINGS
from .errors import DTypeError, ParameterError

__all__ = ["bulk", "set_bulk_size"]


def set_bulk_size(size: int) -> int:
    """Set how many operations may wait before they run together.

    Results do not depend on it. It is one number for all threads, of the innermost `bulk` block that is open, else of the program.

    Parameters
    ----------
    size
        Operations after which a window is run; with 0 or 1 none waits for another.

    Returns
    -------
    int
        The previous size.

    Raises
    ------
    DTypeError
        If it is no whole number.
    ParameterError
        If it is negative.

    Examples
    --------
    >>> import twofold as mx
    >>> previous = mx.engine.set_bulk_size(16)
    >>> mx.engine.set_bulk_size(previous)
    16
    """
    new = _whole(size)
    with _lock:
        was, SETTINGS.window_operations = SETTINGS.window_operations, new
        return was


def bulk(size: int) -> "_Bulk":
    """``with mx.engine.bulk(size):`` as `set_bulk_size`, for a block.

    Parameters
    ----------
    size
        See `set_bulk_size`.

    Raises
    ------
    DTypeError, ParameterError
        As there.

    Examples
    --------
    >>> import twofold as mx
    >>> with mx.engine.bulk(16):
    ...     x = mx.nd.ones((2,))
    ...     for _ in range(100):
    ...         x = x + 1
    """
    return _Bulk(_whole(size))


def _whole(size: int) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        raise DTypeError("set_bulk_size: the size is no whole number", type(size).__name__, "give an int") from None
    if number < 0:
        raise ParameterError("set_bulk_size: the size is negative", number, "give the number of operations; 0 or 1: none waits")
    return number


class _Bulk:
    """A block with a size of its own. It may be entered several times, also at once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entered: list[_Scope] = []

    def __enter__(self) -> "_Bulk":
        scope = _Scope()
        with _lock:
            self._entered.append(scope)
            scope.outside, SETTINGS.window_operations = SETTINGS.window_operations, self._size
            _scopes.append(scope)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with _lock:
            scope = self._entered.pop()
            place = _scopes.index(scope)
            del _scopes[place]
            if place == len(_scopes):
                SETTINGS.window_operations = scope.outside
            else:  # another thread's block, entered inside this one in time, is still open: it goes on, and ends where this one began
                _scopes[place].outside = scope.outside


class _Scope:
    """An open block: the size that holds after it."""

    __slots__ = ("outside",)

    outside: int


_lock = threading.Lock()
#: Open blocks of all threads in the order in which they were entered.
_scopes: list[_Scope] = []

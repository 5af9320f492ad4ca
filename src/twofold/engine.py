"""``mx.engine``: MXNet's engine controls. Here they set how many operations a window may defer (the setting ``window_operations``).

The kind of engine is chosen at start-up: ``MXNET_ENGINE_TYPE=NaiveEngine`` or ``TWOFOLD_ENGINE=naive`` runs every operation
immediately.
"""

import operator
import threading
from types import TracebackType

from .config import SETTINGS
from .errors import DTypeError, ParameterError

__all__ = ["bulk", "set_bulk_size"]


def set_bulk_size(size: int) -> int:
    """Set how many operations may be deferred before they run together.

    Results do not depend on it. The value is shared by all threads: that of the `bulk` block entered last, else the global one.

    Parameters
    ----------
    size
        Number of operations at which a window is flushed; 0 or 1 disables deferral.

    Returns
    -------
    int
        The previous size.

    Raises
    ------
    DTypeError
        If it is not an integer.
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
    """``with mx.engine.bulk(size):`` applies `set_bulk_size` to a block.

    Parameters
    ----------
    size
        See `set_bulk_size`.

    Raises
    ------
    DTypeError, ParameterError
        See `set_bulk_size`.

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
        raise DTypeError("set_bulk_size: the size is not an integer", type(size).__name__, "pass an int") from None
    if number < 0:
        raise ParameterError("set_bulk_size: the size is negative", number, "pass a number of operations; 0 or 1 disables deferral")
    return number


class _Bulk:
    """A block with its own size. It may be entered repeatedly, also while it is active."""

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
            else:  # a block entered later, by another thread, is still active: its size stays in effect, and it restores ours
                _scopes[place].outside = scope.outside


class _Scope:
    """An active block: the size to restore after it."""

    __slots__ = ("outside",)

    outside: int


_lock = threading.Lock()
#: Active blocks of all threads, in order of entry.
_scopes: list[_Scope] = []

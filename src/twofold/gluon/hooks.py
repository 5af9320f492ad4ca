"""`HookHandle` removes a registered hook."""

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias
from weakref import ref

from ..errors import MXNetError
from .signatures import Hook

__all__ = ["HookHandle", "Hooks"]

_NUMBERS = itertools.count()


#: Hooks in order of registration.
Hooks: TypeAlias = OrderedDict[int, Hook]


class HookHandle:
    """Returned when a hook is registered. As a context manager it removes the hook on exit."""

    def __init__(self) -> None:
        # A weak reference: a handle that outlives its block must not keep the block's parameters in memory.
        self._hooks: Callable[[], Hooks | None] | None = None
        self._number = next(_NUMBERS)

    def attach(self, hooks_dict: Hooks, hook: Hook) -> "HookHandle":
        """Register a hook.

        Parameters
        ----------
        hooks_dict
            Where to register it.
        hook
            The hook.

        Raises
        ------
        MXNetError
            If the handle has a hook already.
        """
        if self._hooks is not None:
            raise MXNetError("The same handle cannot be attached twice", None, "create another one")
        self._hooks = ref(hooks_dict)
        hooks_dict[self._number] = hook
        return self

    def detach(self) -> None:
        """Remove the hook if it is still registered."""
        hooks = None if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

"""`HookHandle`: a registered hook, which can be taken away again."""

import itertools
from collections.abc import Callable
from typing import Any
from weakref import ref

from ..errors import MXNetError

__all__ = ["HookHandle", "Hooks"]

_NUMBERS = itertools.count()


class Hooks(dict[int, Callable[..., Any]]):
    """Hooks in the order in which they were registered; a dictionary that can be referred to weakly."""

    __slots__ = ("__weakref__",)


class HookHandle:
    """What registering a hook returns. As a context manager it takes the hook away at the end of its block."""

    def __init__(self) -> None:
        self._hooks: Callable[[], Hooks | None] | None = None
        self._number = next(_NUMBERS)

    def attach(self, hooks_dict: Hooks, hook: Callable[..., Any]) -> "HookHandle":
        """Put a hook among others.

        Parameters
        ----------
        hooks_dict
            Where the hook goes; the handle does not keep it alive.
        hook
            The hook.

        Raises
        ------
        MXNetError
            If the handle has a hook already.
        """
        if self._hooks is not None:
            raise MXNetError("The same handle cannot be attached twice", None, "make another one")
        self._hooks = ref(hooks_dict)
        hooks_dict[self._number] = hook
        return self

    def detach(self) -> None:
        """Take the hook away, if it is still there."""
        hooks = None if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

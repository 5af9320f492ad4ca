"""`HookHandle`: a registered hook, which can be taken away again."""

import itertools
from collections.abc import Callable
from typing import Any
from weakref import ref

__all__ = ["HookHandle", "Hooks"]

_NUMBERS = itertools.count()


class Hooks(dict[int, Callable[..., Any]]):
    """Hooks in the order in which they were registered; a dictionary that can be referred to weakly."""

    __slots__ = ("__weakref__",)


class HookHandle:
    """What registering a hook returns. As a context manager it takes the hook away at the end of its block.

    Parameters
    ----------
    hooks
        Where the hook goes.
    hook
        The hook.
    """

    def __init__(self, hooks: Hooks, hook: Callable[..., Any]) -> None:
        self._hook, self._number = hook, next(_NUMBERS)
        self._hooks = ref(hooks)  # a handle keeps no block alive
        hooks[self._number] = hook

    def detach(self) -> None:
        """Take the hook away, if it is still there."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def attach(self) -> None:
        """Put the hook back after `detach`, as the last one."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.setdefault(self._number, self._hook)

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

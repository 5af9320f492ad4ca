"""Automatic names and attributes of nodes: ``mx.name`` and ``mx.AttrScope``, each a stack of scopes per thread."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from ..errors import ParameterError

__all__ = ["AttrScope", "NameManager", "Prefix"]


class _Open(threading.local):
    """The open scopes of each thread, outermost first."""

    def __init__(self, scope: type) -> None:
        self.scopes: tuple[Any, ...] = (scope(),)

    @property
    def value(self) -> Any:
        """The innermost one; assigning another replaces it, as programs do to number nodes from 0 again."""
        return self.scopes[-1]

    @value.setter
    def value(self, scope: object) -> None:
        self.scopes = (*self.scopes[:-1], scope)


class _Current:
    """The innermost open scope of this thread, read on the class: ``NameManager.current``."""

    def __get__(self, instance: object, owner: "type[_Scope]") -> Any:
        return owner._current.value


class _Scope:
    """A context whose innermost instance of this thread is `current`."""

    _current: ClassVar[_Open]
    #: The attribute that holds the scope outside this one, from when it is entered, under MXNet's name for it.
    _outer: ClassVar[str]
    current = _Current()

    def __enter__(self) -> Self:
        setattr(self, self._outer, self._current.scopes[-1])
        # not by a call, after which Ctrl-C could leave a scope open that nobody closes
        self._current.scopes += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        self._current.scopes = self._current.scopes[:-1]


class NameManager(_Scope):
    """Names unnamed nodes: a hint followed by a counter, which starts at 0 in each manager."""

    _outer = "_old_manager"
    _old_manager: "NameManager | None" = None

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """The given name, or ``hint`` followed by the number of earlier nodes with that hint."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"


class Prefix(NameManager):
    """Adds a prefix to every name, given or automatic.

    Parameters
    ----------
    prefix
        What is put before names.

    Examples
    --------
    >>> with Prefix("net_") as names:
    ...     names.get(None, "fc"), names.get("out", "fc")
    ('net_fc0', 'net_out')
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix followed by the name that the node would have without it."""
        return self._prefix + super().get(name, hint)


class AttrScope(_Scope):
    """Attributes of every node created inside the scope, in addition to those of enclosing scopes.

    Parameters
    ----------
    **attributes
        Strings by name, such as ``ctx_group="dev1"``; names other than MXNet's own should have the form ``__name__``.

    Raises
    ------
    ParameterError
        If a value is not a string.
    """

    _outer = "_old_scope"
    _old_scope: "AttrScope | None" = None
    #: How many bodies of loops and branches have been composed, by name.
    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)

    def __init__(self, **attributes: str) -> None:
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ParameterError("AttrScope: attributes need to be strings", f"{key}={value!r}", "pass the value as a string")
        self._attr = dict(attributes)

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The scope's attributes, overridden by the given ones."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> Self:
        self._own = self._attr  # nested scopes add up, so merge now and restore on exit: a scope can be entered again
        self._attr = self.current.get(self._own)
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        self._attr = self._own
        super().__exit__(*exc)


# a stack for each of the two classes: `Prefix` shares that of `NameManager`, since the innermost of both names the nodes
NameManager._current = _Open(NameManager)
AttrScope._current = _Open(AttrScope)


def open_managers() -> tuple[object, ...]:
    """The open `NameManager` of this thread, outermost first."""
    return NameManager._current.scopes

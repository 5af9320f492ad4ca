"""Automatic names and attributes of what is composed: ``mx.name`` and ``mx.AttrScope``, each a stack of scopes per thread."""

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from ..errors import ParameterError

__all__ = ["AttrScope", "NameManager", "Prefix"]


class _Open(threading.local):
    """The open scopes of each thread, outermost first."""

    def __init__(self, scope: type) -> None:
        self.scopes: list[Any] = [scope()]


class _Current:
    """The innermost open scope of this thread, read on the class: ``NameManager.current``."""

    def __get__(self, instance: Any, owner: "type[_Scope]") -> Any:
        return owner._open.scopes[-1]


class _Scope:
    """A context whose innermost instance of this thread is `current`."""

    _open: ClassVar[_Open]
    current = _Current()

    def __enter__(self) -> Self:
        self._open.scopes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.scopes.pop()


class NameManager(_Scope):
    """Gives nodes without a name one: a hint and a running number, from 0 in each manager."""

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """The given name, or ``hint`` followed by how many nodes of that hint came before."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"


class Prefix(NameManager):
    """Puts a prefix before every name, given or automatic.

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
        """The prefix and the name that the node would have without it."""
        return self._prefix + super().get(name, hint)


class AttrScope(_Scope):
    """Attributes for every node composed inside the scope, beside those of the scopes around it.

    Parameters
    ----------
    **attributes
        Strings by name, such as ``ctx_group="dev1"``; other names than MXNet's own should have the form ``__name__``.

    Raises
    ------
    ParameterError
        If a value is not a string.
    """

    def __init__(self, **attributes: str) -> None:
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ParameterError("AttrScope: attributes need to be strings", f"{key}={value!r}", "pass the value as a string")
        self._attributes = dict(attributes)

    def get(self, attributes: Mapping[str, str] | None) -> dict[str, str]:
        """These attributes over those of the scope."""
        return {**self._attributes, **(attributes or {})}

    def __enter__(self) -> Self:
        self._own = self._attributes  # nested scopes add up, so merge now and restore on exit: a scope can be entered again
        self._attributes = self.current.get(self._own)
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        self._attributes = self._own
        super().__exit__(*exc)


NameManager._open = _Open(NameManager)
AttrScope._open = _Open(AttrScope)

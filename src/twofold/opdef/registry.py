"""Every operator by name: the package's own names, MXNet's registered names and aliases."""

from collections.abc import Callable

from ..errors import OperatorError
from .spec import Op

#: Operators by their name inside the package (the rule's name), which is a primitive's name in ``xp``.
OPS: dict[str, Op] = {}
#: Operators by registered name and alias.
NAMES: dict[str, Op] = {}
_watchers: list[Callable[[Op], None]] = []


def register(op: Op) -> None:
    """Add an operator under all its names.

    Raises
    ------
    OperatorError
        If a name is taken by another operator.
    """
    for name, table in [*((n, NAMES) for n in op.names), (op.name, OPS)]:
        if name in table:
            raise OperatorError(f"registry: the name {name!r} is already taken", repr(table[name]), "choose another name")
    OPS[op.name] = op
    for name in op.names:
        NAMES[name] = op
    for told in _watchers:
        told(op)


def watch(told: Callable[[Op], None]) -> None:
    """Call a function on every operator: those declared so far, and each one declared later."""
    _watchers.append(told)
    for op in list(OPS.values()):
        told(op)


def find(name: str) -> Op:
    """The operator registered under a name.

    Raises
    ------
    OperatorError
        If there is none.
    """
    found = NAMES.get(name)
    if found is None:
        raise OperatorError("registry: no operator of that name", repr(name), "twofold.opdef.registry.NAMES holds the existing names")
    return found


def primitives() -> dict[str, Op]:
    """The closed vocabulary that backends implement, by name."""
    return {name: op for name, op in OPS.items() if op.primitive}

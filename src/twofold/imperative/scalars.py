"""Which Python scalars are part of a structure: 0, 1, -1, 2 and bools. All others are leaves, so that their values may change."""

from typing import Any

from ..graph.ir import Constant, Leaf, const, leaf

LITERALS = frozenset({0, 1, -1, 2})


def is_literal(x: Any) -> bool:
    """Whether a Python scalar is part of the structure."""
    return x.__class__ is bool or (x.__class__ is int and x in LITERALS)


def scalar_leaf(x: Any, name: Any) -> Leaf:
    """The leaf of that name for a Python scalar, or for a user's object."""
    return leaf(name, (), "weakf" if isinstance(x, float) else "weaki" if isinstance(x, int) else "object")


def scalar_node(x: Any, name: Any) -> Constant | Leaf:
    """The constant for a literal, a leaf of that name for any other scalar."""
    return const(x) if is_literal(x) else scalar_leaf(x, name)


def scalar_key(x: Any) -> Any:
    """What two scalars of one structure have in common: a literal itself, the class of any other."""
    return (x.__class__, x) if is_literal(x) else x.__class__

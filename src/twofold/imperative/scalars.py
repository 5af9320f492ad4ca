"""Which Python scalars are part of a structure: 0, 1, -1, 2 and bools. All others are leaves, so that their values may change."""

from collections.abc import Hashable
from typing import TypeAlias, TypeGuard

from ..dtype import scalar_dtype
from ..graph.ir import Constant, Leaf, const, leaf
from ..graph.tables import TABLES
from .user_function import UserFunction

Scalar: TypeAlias = int | float
LITERALS = frozenset({0, 1, -1, 2})


def is_literal(x: object) -> TypeGuard[int]:
    """Whether a Python scalar is part of the structure."""
    return x.__class__ is bool or (x.__class__ is int and x in LITERALS)


def scalar_leaf(x: Scalar | UserFunction, name: Hashable) -> Leaf:
    """The leaf of that name for a Python scalar, or for a user's object."""
    return leaf(name, (), "object" if isinstance(x, UserFunction) else scalar_dtype(x))


def scalar_node(x: Scalar | UserFunction, name: Hashable) -> Constant | Leaf:
    """The constant for a literal, a leaf of that name for any other scalar."""
    return const(x) if is_literal(x) else scalar_leaf(x, name)


def scalar_key(x: object) -> Hashable:
    """The part of a scalar that belongs to the structure: a literal itself, or the class of another scalar."""
    return (x.__class__, x) if is_literal(x) else x.__class__


class _Leaves(dict[int, Leaf]):
    def __init__(self, example: Scalar) -> None:
        self._example = example
        TABLES.dependents.append(self.clear)

    def __missing__(self, number: int) -> Leaf:
        self[number] = found = scalar_leaf(self._example, number)
        return found


#: The leaves of Python floats, which are never literals, by number. A dictionary, since a look-up enters no Python function.
FLOAT_LEAVES = _Leaves(0.0)
#: The leaves of Python ints that are no literals.
INTEGER_LEAVES = _Leaves(0)

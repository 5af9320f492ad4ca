"""Pytrees: nested tuples, lists and dictionaries as a list of leaves and a hashable structure."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import WrongArgument

#: `LEAF`, None, or the class, the keys of a dictionary (else None), and the structures of the parts.
Structure: TypeAlias = "str | tuple[type, tuple[Hashable, ...] | None, tuple[Structure, ...]] | None"
#: Nested tuples, lists and dictionaries of anything.
Tree: TypeAlias = Any
#: Says of a part of a pytree whether it is a leaf, although it has parts.
IsLeaf: TypeAlias = Callable[[Any], bool]
LEAF = "leaf"
#: Classes of values that are leaves, as far as they are known; see `jit`.
OPAQUE: set[type] = set()


def flatten(tree: object, is_leaf: IsLeaf | None = None) -> tuple[list[Tree], Structure]:
    """The leaves in order, and the structure. None has no leaves; dictionaries are ordered by key where keys can be ordered."""
    leaves: list[Tree] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Tree, leaves: list[Tree], is_leaf: IsLeaf | None = None) -> Structure:
    kind = tree.__class__
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return LEAF
    if kind is dict or isinstance(tree, dict):
        keys = _ordered(tree)
        parts = [tree[key] for key in keys]
    elif kind is tuple or kind is list or isinstance(tree, (tuple, list)):
        keys, parts = None, tree
    elif tree is None:
        return None
    else:
        leaves.append(tree)
        return LEAF
    below: list[Structure] = []
    for part in parts:
        # arrays of the commonest kind of tree are met here, without a call for each
        if part.__class__ in OPAQUE:
            leaves.append(part)
            below.append(LEAF)
        else:
            below.append(_flatten(part, leaves, is_leaf))
    return kind, keys, tuple(below)


def _ordered(tree: Tree) -> tuple[Hashable, ...]:
    """The keys of a dictionary, so that equal dictionaries have equal structures."""
    try:
        return tuple(sorted(tree))  # keys of one class, mostly names
    except TypeError:
        return tuple(tree)


def unflatten(structure: Structure, leaves: Sequence[object]) -> Tree:
    """The tree of a structure with these leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Iterator[object]) -> Tree:
    if structure is None:
        return None
    if isinstance(structure, str):
        return next(leaves)
    kind, keys, below = structure
    parts = [next(leaves) if part.__class__ is str else _unflatten(part, leaves) for part in below]
    if kind is list:
        return parts
    if keys is not None:
        return kind(zip(keys, parts, strict=True))
    # a named tuple takes its fields one by one
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


@dataclass(frozen=True)
class TreeDef:
    """The structure of a pytree: equal for trees that are nested in the same way.

    Attributes
    ----------
    structure
        See `Structure`.
    """

    structure: Structure

    @property
    def num_leaves(self) -> int:
        """Number of leaves."""
        return count_of(self.structure)

    def __repr__(self) -> str:
        return f"TreeDef({shown(self.structure)})"


def count_of(structure: Structure) -> int:
    """Number of leaves of a structure."""
    if structure is None or isinstance(structure, str):
        return 0 if structure is None else 1
    return sum(map(count_of, structure[2]))


def tree_flatten(tree: Tree, is_leaf: IsLeaf | None = None) -> tuple[list[Tree], TreeDef]:
    """The leaves of a pytree, as `tree_leaves`, and its structure, for `tree_unflatten`.

    Parameters
    ----------
    tree, is_leaf
        See `tree_leaves`.

    Examples
    --------
    >>> import twofold as mx
    >>> leaves, structure = mx.func.tree_flatten({"b": [3, None], "a": (1, 2)})
    >>> leaves, structure, structure.num_leaves
    ([1, 2, 3], TreeDef({'a': (*, *), 'b': [*, None]}), 3)
    """
    leaves, structure = flatten(tree, is_leaf)
    return leaves, TreeDef(structure)


def tree_unflatten(treedef: TreeDef, leaves: Iterable[Tree]) -> Tree:
    """The pytree of a structure with these leaves.

    Raises
    ------
    WrongArgument
        If there are more or fewer leaves, or ``treedef`` is no structure.

    Examples
    --------
    >>> import twofold as mx
    >>> leaves, structure = mx.func.tree_flatten({"a": (1, 2), "b": 3})
    >>> mx.func.tree_unflatten(structure, [10 * leaf for leaf in leaves])
    {'a': (10, 20), 'b': 30}
    """
    if not isinstance(treedef, TreeDef):
        raise WrongArgument("tree_unflatten: the first argument is no structure", type(treedef).__name__, "pass what tree_flatten returned")
    given = list(leaves)
    if len(given) != treedef.num_leaves:
        todo = "pass one leaf for each"
        raise WrongArgument("tree_unflatten: the number of leaves differs", f"{len(given)} for {treedef.num_leaves}", todo)
    return unflatten(treedef.structure, given)


def tree_leaves(tree: Tree, is_leaf: IsLeaf | None = None) -> list[Tree]:
    """The leaves of a pytree in order: what is in its tuples, lists and dictionaries, but for None.

    Parameters
    ----------
    tree
        Nested tuples, lists and dictionaries. Dictionaries are ordered by key.
    is_leaf
        Called with the tree and its parts, None included: true for one that is a leaf although it has parts, or none.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.func.tree_leaves({"b": [3, None], "a": (1, 2)})
    [1, 2, 3]
    >>> mx.func.tree_leaves({"b": [3, None], "a": (1, 2)}, is_leaf=lambda part: isinstance(part, tuple))
    [(1, 2), 3]
    """
    return flatten(tree, is_leaf)[0]


def tree_map(f: Callable[..., Tree], tree: Tree, *rest: Tree, is_leaf: IsLeaf | None = None) -> Tree:
    """Apply a function to the leaves of a pytree, and return the results in its structure.

    Parameters
    ----------
    f
        Takes a leaf of each tree.
    tree, *rest
        Trees of one structure.
    is_leaf
        See `tree_leaves`; it is asked of all trees.

    Raises
    ------
    WrongArgument
        If the structures differ.

    Examples
    --------
    >>> import twofold as mx
    >>> params, grads = {"w": 5.0, "b": [1.0]}, {"w": 2.0, "b": [4.0]}
    >>> mx.func.tree_map(lambda p, g: p - 0.5 * g, params, grads)
    {'b': [-1.0], 'w': 4.0}
    """
    leaves, structure = flatten(tree, is_leaf)
    others = [matching("tree_map", other, structure, is_leaf) for other in rest]
    return unflatten(structure, [f(*parts) for parts in zip(leaves, *others, strict=True)])


def matching(what: str, tree: object, structure: Structure, is_leaf: IsLeaf | None = None) -> list[Tree]:
    """The leaves of a tree that must have a structure.

    Raises
    ------
    WrongArgument
        If it has another.
    """
    leaves, found = flatten(tree, is_leaf)
    if found != structure:
        raise WrongArgument(f"{what}: the structures differ", f"{shown(found)} for {shown(structure)}", "nest the arrays in the same way")
    return leaves


def shown(structure: Structure) -> str:
    """A structure as text."""
    if structure is None or isinstance(structure, str):
        return "None" if structure is None else "*"
    kind, keys, below = structure
    if keys is not None:
        return "{" + ", ".join(f"{key!r}: {shown(part)}" for key, part in zip(keys, below, strict=True)) + "}"
    inner = ", ".join(map(shown, below))
    return f"[{inner}]" if kind is list else f"({inner})"

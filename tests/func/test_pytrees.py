"""Leaves of pytrees and derivatives with auxiliary results."""

import twofold as mx
from twofold import func


def test_linearize_with_aux() -> None:
    np = mx.np
    y, push, aux = func.linearize(lambda x: (np.sin(x), {"square": x * x}), np.array([0.0, 2.0]), has_aux=True)
    assert aux["square"].tolist() == [0, 4]
    assert y.tolist() == [0, float(np.sin(2.0))]
    assert push(np.array([2.0, 0.0])).tolist() == [2, 0]


def test_parts_of_a_pytree_that_are_leaves() -> None:
    def is_pair(part: object) -> bool:
        return isinstance(part, tuple)

    tree = {"b": [(1, 2), None], "a": 3}
    leaves, structure = func.tree_flatten(tree, is_leaf=is_pair)
    assert leaves == [3, (1, 2)]
    assert func.tree_unflatten(structure, leaves) == tree
    assert func.tree_map(lambda part: part, tree, is_leaf=lambda part: part is None) == tree
    assert func.tree_leaves(tree, is_leaf=lambda part: part is None) == [3, 1, 2, None]
    assert func.tree_map(lambda p, q: [p, q], {"a": (1, 2)}, {"a": (3, 4)}, is_leaf=is_pair) == {"a": [(1, 2), (3, 4)]}

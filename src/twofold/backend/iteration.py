"""Iteration spaces: how broadcast operands lie in one, with as few axes as possible."""

import math
from collections.abc import Sequence

Shape = tuple[int, ...]


def collapse(shape: Shape, operands: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """The space and its operands with as few axes as possible: neighbours merge where every operand has both or neither.

    Parameters
    ----------
    shape
        The iteration space.
    operands
        Shapes that broadcast to it.

    Returns
    -------
    space, operands
        Both of the same rank, at least 1; an operand has the space's size along an axis, or 1.
    """
    full = [(1,) * (len(shape) - len(s)) + tuple(s) for s in operands]
    space: list[int] = []
    merged: list[list[int]] = [[] for _ in full]
    last: tuple[bool, ...] | None = None
    for k, n in enumerate(shape):
        if n == 1:
            continue
        has = tuple(s[k] == n for s in full)
        if has != last:
            space.append(1)
            for sizes in merged:
                sizes.append(1)
            last = has
        space[-1] *= n
        for sizes, own in zip(merged, has, strict=True):
            sizes[-1] *= n if own else 1
    return tuple(space) or (1,), [tuple(sizes) or (1,) for sizes in merged]


def places(space: Shape, operand: Shape) -> list[tuple[int, int, int]]:
    """Where an operand's element for element ``i`` of the space lies: the sum of ``i // inner % size * stride`` over these triples.

    Parameters
    ----------
    space, operand
        As `collapse` gives them; the operand is in row-major order.

    Returns
    -------
    list of (inner, size, stride)
        One triple per axis that the operand has.
    """
    out = []
    for k, n in enumerate(operand):
        if n != 1:
            out.append((math.prod(space[k + 1 :]), n, math.prod(operand[k + 1 :])))
    return out

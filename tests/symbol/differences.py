"""Where `mx.sym` differs from MXNet 1.9.1 on purpose: rows of the oracle's conventions with what Twofold gives instead.

Each title is a row of docs/reference/compatibility.md, which says why.
"""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One row: an expression, and the value here as an expression of Python."""

    title: str
    expression: str
    ours: str


DIFFERENCES = [
    Difference("Shapes by position", "n.infer_shape((2, 3))", "([(2, 3), (4, 3), (4,), (2,)], [(2, 4)], [])"),
    Difference("Partial shapes", "n.infer_shape_partial()", "([(), (4, 0), (4,), ()], [()], [])"),
    Difference("Head gradients of ones", "e.backward()", "None"),
]

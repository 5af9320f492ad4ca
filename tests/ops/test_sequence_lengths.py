"""Lengths of sequences that are integers already."""

from __future__ import annotations

from twofold.graph.build import apply
from twofold.graph.ir import Application, leaf, topological
from twofold.graph.rewrite import lower
from twofold.ops.sequence import sequence_reverse


def test_integer_lengths_are_not_rounded() -> None:
    """NumPy 2.0 makes floats of truncated integers, and floats are no indices."""
    data, lengths = leaf("data", (4, 3, 2), "float32"), leaf("lengths", (3,), "float32")
    inside = topological(lower([apply(sequence_reverse.bind(use_sequence_length=True), (data, lengths))]))
    titles = {node.bound_op.op.title for node in inside if isinstance(node, Application)}
    assert "take_along_axis" in titles
    assert "trunc" not in titles

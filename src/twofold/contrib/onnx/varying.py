"""Sizes that may vary: a graph is written for two choices of them. A difference becomes a form that holds for all sizes, or an error.

Only sizes in constants can differ: ONNX infers one unknown size of a reshape, and copies a size that the reshape keeps.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import OperatorError
from .graph_writer import GraphWriter, OnnxNode


def generalized(first: GraphWriter, second: GraphWriter) -> GraphWriter:
    """The graph that holds for both choices of sizes.

    Raises
    ------
    OperatorError
        If a node depends on a size that varies; the message names it.
    """
    # both graphs are written by the same rules, so equal nodes have equal names and can be compared one by one
    if [(n.operator, n.inputs) for n in first.nodes] != [(n.operator, n.inputs) for n in second.nodes]:
        raise _fixed("the graph", "the number of its nodes depends on a size")
    for a, b in zip(first.fixed, second.fixed, strict=True):
        if a != b:
            raise _fixed(a[0], f"it is {a[1]}, for which the node is written")
    nodes, constants = [], dict(first.constants)
    for a, b in zip(first.nodes, second.nodes, strict=True):
        if _spelt(a.attributes) != _spelt(b.attributes):
            raise _fixed(a.source, "an attribute depends on it")
        for name in a.inputs:
            if name in first.constants and not _same(first.constants[name], second.constants[name]):
                constants[name] = _general(a, first.constants[name], second.constants[name], second.unknown.get(name))
        nodes.append(a)
    return replace(first, nodes=nodes, constants=constants)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _spelt(attributes: Mapping[str, object]) -> dict[str, object]:
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in attributes.items()}


def _general(node: OnnxNode, a: np.ndarray, b: np.ndarray, unknown: tuple[int | None, ...] | None) -> np.ndarray:
    """A constant operand that holds for both: a shape with a placeholder for each size that varies. A reshape infers one of them."""
    if unknown is None or len(a) != len(b):
        raise _fixed(node.source, "a constant depends on it")
    found = [n if n == m else stand_in for n, m, stand_in in zip(a.tolist(), b.tolist(), unknown, strict=True)]
    # a size that must not vary differs, or a reshape would have to infer two sizes
    if None in found or found.count(-1) > 1:
        raise _fixed(node.source, "a shape depends on it")
    return np.array(found, a.dtype)


def _fixed(place: str, why: str) -> OperatorError:
    todo = "pass dynamic_input_shapes with names or None only for axes that the network leaves free, or dynamic=False"
    return OperatorError(f"export_model: {place} depends on a size that is to vary: {why}", None, todo)

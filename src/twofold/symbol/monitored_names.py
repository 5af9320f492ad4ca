"""The names under which monitors see the inputs, outputs and gradients of nodes, as MXNet's do (see `monitored_names.toml`)."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..opdef import Op
from ..opdef.registry import NAMES
from .node import SymbolNode, names_of_inputs


class _Tables(NamedTuple):
    """The operators of each table; of ``gradients``, the names after the node's."""

    named: frozenset[Op]
    numbered: frozenset[Op]
    named_outputs: frozenset[Op]
    by_input: frozenset[Op]
    zeros: frozenset[Op]
    passed: frozenset[Op]
    gradients: Mapping[Op, list[str]]


@cache
def _tables() -> _Tables:
    found: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    gradients = found.pop("gradients")
    listed = {key: frozenset(NAMES[name] for name in names.split()) for key, names in (found | gradients).items() if key != "named"}
    rest = {NAMES[name]: names.split() for name, names in gradients["named"].items()}
    return _Tables(named=frozenset(NAMES[name] for name in found["named"].split()), gradients=rest, **listed)


def monitored_inputs(node: SymbolNode) -> list[str]:
    """The names of a node's inputs: ``<node>_<input>``, or ``<node>_input0``."""
    op, tables = node.op, _tables()
    of_one = op is not None and op.elementwise and len(op.inputs) == 1 == len(node.inputs)
    if op in tables.numbered or (of_one and op not in tables.named):
        return [f"{node.name}_input{k}" for k in range(len(node.inputs))]
    return [f"{node.name}_{name}" for name in names_of_inputs(node)]


def hooked_output(node: SymbolNode, place: int) -> str:
    """The name of an output in the hook of a block: that in symbols, or ``<node>_<number>`` if the operator's outputs have no names."""
    return node.output_name(place) if node.op is None or node.op in _tables().named_outputs else f"{node.name}_{place}"


def monitored_gradients(node: SymbolNode) -> list[str]:
    """The names of the gradients of a node's inputs, auxiliary states excepted."""
    op, tables = node.op, _tables()
    states = node.written
    names = [name for k, name in enumerate(names_of_inputs(node)) if k not in states]
    if op in tables.by_input:
        return [f"{node.name}_backward_{name}" for name in names]
    if op in tables.passed:
        return []
    if op in tables.zeros:
        return [f"{node.name}_in{k}_backward_output" for k in range(len(names))]
    if op is not None and op in tables.gradients:
        return [f"{node.name}_{name}" for name in tables.gradients[op]]
    # of a user's operator MXNet has no name for the node of its backward
    stem = f"{node.name}_output" if node.op_name == "Custom" else f"{node.name}_backward_output"
    return [f"{stem}{k}" for k in range(len(names))] if len(names) > 1 else [stem]

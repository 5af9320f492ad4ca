"""Upgrades the attributes of symbols written by earlier versions of MXNet, as 1.9.1 does on loading. The rules were found by experiment.

Attributes other than an operator's parameters are spelled ``__lr_mult__``. Old files have ``lr_mult``, and store a variable's
attributes at the operator that reads it, as ``weight_lr_mult``. Subgraphs are newer and need no upgrade.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from .symbol_records import MXNET_VERSION, GraphRecord, NodeRecord

HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")
LAST_AXIS_VERSION = 905  # before it, axis=-1 of argmax meant the flattened array, which is now the default

InputNames = Callable[[NodeRecord, Sequence[str]], Sequence[str]]


def names_of_variables(node: NodeRecord, inputs: Sequence[str]) -> Sequence[str]:
    """Guess the names of an operator's inputs from its input nodes: ``fc1_weight`` is the ``weight`` of ``fc1``."""
    return [name.removeprefix(f"{node.name}_") for name in inputs]


def upgrade(graph: GraphRecord, input_names: InputNames = names_of_variables) -> GraphRecord:
    """Return the graph with the attributes that MXNet 1.9.1 would give it on loading.

    Parameters
    ----------
    graph
        The graph of the file.
    input_names
        Function from a node and the names of its input nodes to the names of its inputs, such as ``["data", "weight", "bias"]``. The
        default guesses; callers that know the operators should pass the true names.
    """
    if graph.version >= MXNET_VERSION:
        return graph
    attrs = [_upgrade_attrs(node, graph.version) for node in graph.nodes]
    for position, node in enumerate(graph.nodes):
        variables = [index for index, _, _ in node.inputs]
        names = input_names(node, [graph.nodes[index].name for index in variables])
        # old files leave out auxiliary states, so there may be more names than inputs
        for name, index in zip(names, variables, strict=False):
            if graph.nodes[index].op == "null":
                _move_hidden(attrs[position], attrs[index], name)
    return replace(graph, nodes=tuple(replace(node, attrs=new) for node, new in zip(graph.nodes, attrs, strict=True)))


def _upgrade_attrs(node: NodeRecord, version: int) -> dict[str, str]:
    hidden = {f"__{key}__": node.attrs[key] for key in HIDDEN_KEYS if key in node.attrs}
    attrs = {**_without(node.attrs, HIDDEN_KEYS), **hidden}
    if version < LAST_AXIS_VERSION and node.op in ("argmax", "argmin") and attrs.get("axis") == "-1":
        del attrs["axis"]
    return attrs


def _move_hidden(source: dict[str, str], target: dict[str, str], name: str) -> None:
    for key in HIDDEN_KEYS:
        if f"{name}_{key}" in source:
            target[f"__{key}__"] = source.pop(f"{name}_{key}")


def _without(attrs: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    return {key: value for key, value in attrs.items() if key not in keys}

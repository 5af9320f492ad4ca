"""Prints graph records as the JSON of MXNet 1.9.1, with its key order, line breaks, spaces and few escapes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .symbol_records import GraphRecord, NodeRecord

LONGEST_LINE = 10  # longer lists, and maps with more than one entry, are written with one entry per line
# MXNet's reader supports no other escapes; all other characters, including control characters, are written verbatim.
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def print_graph(graph: GraphRecord, indent: str = "") -> str:
    """Return the graph's text. All lines but the first are indented by ``indent``."""
    inner = f"{indent}  "
    fields = [
        f'"nodes": {_lines("[]", [_print_node(node, f"{inner}  ") for node in graph.nodes], inner)}',
        f'"arg_nodes": {_print_list(graph.arg_nodes, inner)}',
    ]
    if graph.node_row_ptr is not None:
        fields.append(f'"node_row_ptr": {_print_list(graph.node_row_ptr, inner)}')
    fields.append(f'"heads": {_print_list(map(list, graph.heads), inner)}')
    if graph.attrs:
        fields.append(f'"attrs": {_print_map({key: _print_value(list(pair)) for key, pair in graph.attrs.items()}, inner)}')
    return _print_fields(fields, graph.extra, indent)


def _print_node(node: NodeRecord, indent: str) -> str:
    inner = f"{indent}  "
    fields = [f'"op": {_quote(node.op)}', f'"name": {_quote(node.name)}']
    if node.attrs:
        fields.append(f'"attrs": {_print_map(dict(zip(node.attrs, map(_quote, node.attrs.values()), strict=True)), inner)}')
    fields.append(f'"inputs": {_print_list(map(list, node.inputs), inner)}')
    if node.control_deps:
        fields.append(f'"control_deps": {_print_list(node.control_deps, inner)}')
    if node.subgraphs:
        fields.append(f'"subgraphs": {_lines("[]", [print_graph(graph, f"{inner}  ") for graph in node.subgraphs], inner)}')
    return _print_fields(fields, node.extra, indent)


def _print_fields(fields: list[str], extra: Mapping[str, object], indent: str) -> str:
    for key, value in extra.items():
        fields.append(f"{_quote(key)}: {json.dumps(value, ensure_ascii=False)}")
    return _lines("{}", fields, indent)


def _print_map(fields: dict[str, str], indent: str) -> str:
    # a std::map's order: by bytes, not by characters
    pairs = [f"{_quote(key)}: {fields[key]}" for key in sorted(fields, key=str.encode)]
    return _lines("{}", pairs, indent) if len(pairs) > 1 else f"{{{''.join(pairs)}}}"


def _print_list(items: Iterable[int | list[int]], indent: str) -> str:
    # Python prints an int, and a list of ints, as MXNet does
    texts = [*map(str, items)]
    return _lines("[]", texts, indent) if len(texts) > LONGEST_LINE else f"[{', '.join(texts)}]"


def _lines(brackets: str, items: Sequence[str], indent: str) -> str:
    if not items:
        return brackets
    # the blank before the line break is MXNet's too
    separator = f", \n{indent}  "
    return f"{brackets[0]}\n{indent}  {separator.join(items)}\n{indent}{brackets[1]}"


def _print_value(value: object) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_print_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _quote(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'

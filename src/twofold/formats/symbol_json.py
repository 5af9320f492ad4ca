"""Converts symbol JSON of every MXNet 1.x, and earlier versions, to graph records and back.

The versions differ slightly: a node's attributes are under ``attrs`` (since 1.0) or ``attr``, and before 0.9 its operator's parameters
are under ``param``; an entry is [node, output] or [node, output, version]; old nodes have an unused ``backward_source_id``.
The output is identical to MXNet 1.9.1's, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeGuard

from ..errors import FormatError
from .json_text import parse_json
from .symbol_print import print_graph
from .symbol_records import GraphRecord, NodeEntry, NodeRecord, check_graph
from .symbol_upgrade import InputNames, names_of_variables, upgrade

if TYPE_CHECKING:
    from .records import Buffer

NODE_KEYS = {"op", "name", "attrs", "attr", "param", "inputs", "control_deps", "subgraphs", "backward_source_id"}
GRAPH_KEYS = {"nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"}
LARGEST_INDEX = 2**31 - 1
MAX_DEPTH = 32  # of nested control flow


def load_symbol(data: Buffer | str, *, input_names: InputNames = names_of_variables) -> GraphRecord:
    """Read a symbol and upgrade it if it was written by an older version.

    Parameters
    ----------
    data
        JSON text, UTF-8 if bytes.
    input_names
        Returns the names of an operator's inputs in order; called only for files from before 1.9.1. See `symbol_upgrade.upgrade`.

    Raises
    ------
    FormatError
        If it is not a symbol; the message names the node and the fault.
    """
    return upgrade(_read_graph(parse_json(data, "symbol"), "symbol", 0), input_names)


def dump_symbol(graph: GraphRecord) -> str:
    """Return the JSON text of a graph, formatted as by MXNet 1.9.1.

    Raises
    ------
    FormatError
        If an index is invalid.
    """
    check_graph(graph)
    return print_graph(graph)


def _read_graph(value: object, place: str, depth: int) -> GraphRecord:
    if depth > MAX_DEPTH:
        raise FormatError(f"{place}: graphs within graphs are nested too deeply", f"more than {MAX_DEPTH} levels")
    fields = _dict(value, place)
    nodes = _list(_required(fields, "nodes", place), f"{place}: nodes")
    graph = GraphRecord(
        nodes=tuple(_read_node(node, f"{place}: node {position}", depth) for position, node in enumerate(nodes)),
        arg_nodes=_indices(_required(fields, "arg_nodes", place), f"{place}: arg_nodes"),
        heads=_entries(_required(fields, "heads", place), f"{place}: heads"),
        attrs=_graph_attrs(fields.get("attrs", {}), place),
        node_row_ptr=_row_pointer(fields.get("node_row_ptr"), len(nodes)),
        extra={key: field for key, field in fields.items() if key not in GRAPH_KEYS},
    )
    check_graph(graph)
    return graph


def _read_node(value: object, place: str, depth: int) -> NodeRecord:
    fields = _dict(value, place)
    name = _text(_required(fields, "name", place), f"{place}: name")
    place = f"{place} ({name!r})"
    subgraphs = _list(fields.get("subgraphs", []), f"{place}: subgraphs")
    return NodeRecord(
        op=_text(_required(fields, "op", place), f"{place}: op"),
        name=name,
        attrs=_node_attrs(fields, place),
        inputs=_entries(_required(fields, "inputs", place), f"{place}: inputs"),
        control_deps=_indices(fields.get("control_deps", []), f"{place}: control_deps"),
        subgraphs=tuple(_read_graph(subgraph, f"{place}: subgraph", depth + 1) for subgraph in subgraphs),
        extra={key: field for key, field in fields.items() if key not in NODE_KEYS},
    )


def _node_attrs(fields: Mapping[str, object], place: str) -> dict[str, str]:
    """Merge the attributes of all layouts: the later of ``attr`` and ``attrs`` counts, and takes precedence over ``param``."""
    merged: Mapping[str, object] = {}
    for key, value in fields.items():
        if key in ("attr", "attrs"):
            merged = _dict(value, f"{place}: {key}")
    merged = {**_dict(fields.get("param", {}), f"{place}: param"), **merged}
    return {key: _text(value, f"{place}: attribute {key!r}") for key, value in merged.items()}


def _graph_attrs(value: object, place: str) -> dict[str, tuple[str, object]]:
    attrs = {}
    for key, pair in _dict(value, f"{place}: attrs").items():
        match pair:
            case [str(kind), str() | int() | float() as content]:
                attrs[key] = (kind, content)
            case [str(kind), [*items]] if all(isinstance(item, str | int | float) for item in items):
                attrs[key] = (kind, items)
            case _:
                raise FormatError(f"{place}: attribute {key!r} is not [type, number, string or list of those]", _abbreviate(pair))
    return attrs


def _row_pointer(value: object, count: int) -> tuple[int, ...] | None:
    """Return the row pointer if it is valid. Edited files often keep a stale one, which MXNet ignores too."""
    if not isinstance(value, list) or len(value) != count + 1 or not all(map(_is_index, value)):
        return None
    return tuple(value) if value[0] == 0 and value == sorted(value) else None


def _entries(value: object, place: str) -> tuple[NodeEntry, ...]:
    return tuple(_entry(entry, place) for entry in _list(value, place))


def _entry(value: object, place: str) -> NodeEntry:
    match value:
        case [node, output] if _is_index(node) and _is_index(output):
            return (node, output, 0)
        case [node, output, version] if _is_index(node) and _is_index(output) and _is_index(version):
            return (node, output, version)
    raise FormatError(f"{place}: an entry is not [node, output] or [node, output, version]", _abbreviate(value))


def _indices(value: object, place: str) -> tuple[int, ...]:
    return tuple(_checked_indices(_list(value, place), place))


def _checked_indices(values: Iterable[object], place: str) -> Iterable[int]:
    for value in values:
        if not _is_index(value):
            raise FormatError(f"{place}: not an index", _abbreviate(value))
        yield value


def _is_index(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= LARGEST_INDEX


def _required(fields: Mapping[str, object], key: str, place: str) -> object:
    if key not in fields:
        raise FormatError(f"{place}: {key!r} is missing", f"keys {', '.join(fields)}")
    return fields[key]


def _dict(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise FormatError(f"{place}: not an object with keys", _abbreviate(value))
    return value


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise FormatError(f"{place}: not a list", _abbreviate(value))
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{place}: not a string", _abbreviate(value))
    return value


def _abbreviate(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

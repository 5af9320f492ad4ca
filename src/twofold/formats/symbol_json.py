"""Converts symbol JSON of every MXNet 1.x, and earlier versions, to graph records and back.

The versions differ slightly: a node's attributes are under ``attrs`` (since 1.0) or ``attr``, and before 0.9 its operator's parameters
are under ``param``; an entry is [node, output] or [node, output, version]; old nodes have an unused ``backward_source_id``.
The output is identical to MXNet 1.9.1's, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import FormatError, ParameterError
from .json_text import parse_json
from .symbol_print import print_graph
from .symbol_records import GraphRecord, NodeEntry, NodeRecord, check_graph
from .symbol_upgrade import InputNames, names_of_variables, upgrade

if TYPE_CHECKING:
    from .records import Buffer

T = TypeVar("T", dict[str, Any], list[Any], str)

KINDS: dict[type, str] = {dict: "an object with keys", list: "a list", str: "a string"}
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
    ParameterError
        If an attribute's name contains half of a surrogate pair.
    """
    check_graph(graph)
    try:
        return print_graph(graph)
    except UnicodeEncodeError as error:
        what = "an attribute's name contains half of a surrogate pair, which no file can hold"
        raise ParameterError(what, ascii(error.object), "choose another name") from None


def _read_graph(value: object, place: str, depth: int) -> GraphRecord:
    if depth > MAX_DEPTH:
        raise FormatError(f"{place}: graphs within graphs are nested too deeply", f"more than {MAX_DEPTH} levels")
    fields = _checked(value, dict, place)
    nodes = _field(fields, "nodes", list, place)
    graph = GraphRecord(
        nodes=tuple([_read_node(node, f"{place}: node {position}", depth) for position, node in enumerate(nodes)]),
        arg_nodes=_indices(fields, "arg_nodes", place),
        heads=_entries(fields, "heads", place),
        attrs=_graph_attrs(fields, place),
        node_row_ptr=_row_pointer(fields.get("node_row_ptr"), len(nodes)),
        extra={} if GRAPH_KEYS.issuperset(fields) else {key: field for key, field in fields.items() if key not in GRAPH_KEYS},
    )
    check_graph(graph)
    return graph


def _read_node(value: object, place: str, depth: int) -> NodeRecord:
    fields = _checked(value, dict, place)
    name = _field(fields, "name", str, place)
    place = f"{place} ({name!r})"
    subgraphs = _field(fields, "subgraphs", list, place) if "subgraphs" in fields else ()
    return NodeRecord(
        op=_field(fields, "op", str, place),
        name=name,
        attrs=_node_attrs(fields, place),
        inputs=_entries(fields, "inputs", place),
        control_deps=_indices(fields, "control_deps", place) if "control_deps" in fields else (),
        subgraphs=tuple([_read_graph(subgraph, f"{place}: subgraph", depth + 1) for subgraph in subgraphs]) if subgraphs else (),
        extra={} if NODE_KEYS.issuperset(fields) else {key: field for key, field in fields.items() if key not in NODE_KEYS},
    )


def _node_attrs(fields: Mapping[str, object], place: str) -> dict[str, str]:
    """Merge the attributes of all layouts: the later of ``attr`` and ``attrs`` counts, and takes precedence over ``param``."""
    merged: dict[str, str] = {}
    for key in fields:
        if key in ("attr", "attrs"):
            merged = _field(fields, key, dict, place)
    if "param" in fields:
        # parameters first, as MXNet shows them, and attributes of the same name win
        merged = {**_field(fields, "param", dict, place), **merged}
    for key, value in merged.items():
        if not isinstance(value, str):
            raise FormatError(f"{place}: attribute {key!r}: not a string", _abbreviate(value))
    return merged


def _graph_attrs(fields: Mapping[str, object], place: str) -> dict[str, tuple[str, object]]:
    attrs = {}
    for key, pair in (_field(fields, "attrs", dict, place) if "attrs" in fields else {}).items():
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
    if not isinstance(value, list) or len(value) != count + 1 or not _are_indices(value):
        return None
    return tuple(value) if value[0] == 0 and value == sorted(value) else None


def _entries(fields: Mapping[str, object], key: str, place: str) -> tuple[NodeEntry, ...]:
    entries = []
    for entry in _field(fields, key, list, place):
        if not isinstance(entry, list) or len(entry) not in (2, 3) or not _are_indices(entry):
            raise FormatError(f"{place}: {key}: an entry is not [node, output] or [node, output, version]", _abbreviate(entry))
        entries.append((entry[0], entry[1], entry[2] if len(entry) == 3 else 0))
    return tuple(entries)


def _indices(fields: Mapping[str, object], key: str, place: str) -> tuple[int, ...]:
    values = _field(fields, key, list, place)
    if not _are_indices(values):
        wrong = next(value for value in values if not _are_indices([value]))
        raise FormatError(f"{place}: {key}: not an index", _abbreviate(wrong))
    return tuple(values)


def _are_indices(values: Sequence[Any]) -> bool:
    # by functions in C: a file has thousands of indices. True and False are no indices, although they are ints.
    return not values or ({*map(type, values)} == {int} and min(values) >= 0 and max(values) <= LARGEST_INDEX)


def _field(fields: Mapping[str, object], key: str, kind: type[T], place: str) -> T:
    """A field that an object must have, of one kind."""
    value = fields.get(key)
    if isinstance(value, kind):
        return value
    if key not in fields:
        raise FormatError(f"{place}: {key!r} is missing", f"keys {', '.join(fields) or 'none'}")
    return _checked(value, kind, f"{place}: {key}")


def _checked(value: object, kind: type[T], place: str) -> T:
    if not isinstance(value, kind):
        raise FormatError(f"{place}: not {KINDS[kind]}", _abbreviate(value))
    return value


def _abbreviate(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

"""Writes the content of a file as JSON. Numbers that JSON lacks become the strings ``nan``, ``inf`` and ``-inf``."""

import json
import math
from dataclasses import asdict

from .content import Content


def json_text(content: Content) -> str:
    """The content without its pictures, as JSON text."""
    value: dict[str, object] = {"path": content.path, "kind": content.kind, "size": content.size, "facts": content.facts}
    value["tables"] = [{"title": t.title, "heads": list(t.heads), "rows": [list(row) for row in t.rows]} for t in content.tables]
    value["arrays"] = [asdict(array) for array in content.arrays]
    value["samples"] = [{"number": s.number, **s.facts, "boxes": [list(box) for box in s.boxes], "fault": s.fault} for s in content.samples]
    if content.network is not None:
        nodes = [box.name for box in content.network.boxes]
        value["network"] = {"nodes": nodes, "edges": [[edge.source, edge.target] for edge in content.network.edges]}
    value["fault"] = None if content.fault is None else str(content.fault)
    return json.dumps(_finite(value), indent=2)


def _finite(value: object) -> object:
    match value:
        # before the containers: `json.dumps` would write NaN and Infinity, which JSON does not have
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {key: _finite(part) for key, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
    return value

"""What the arrays and parameters of operators mean: phrases from ``parameter_texts.ini``, for docstrings and pages."""

import os
from functools import cache

from .spec import Op

#: Sections of the table that name no operator.
GENERAL = ("elementwise", "everywhere")


@cache
def table() -> dict[str, dict[str, str]]:
    """The phrases by name, by operator's registered name or general section."""
    found: dict[str, dict[str, str]] = {}
    named: list[str] = []
    # ten times as fast as `configparser` and `tomllib`: the first call of an operator waits for it
    with open(os.path.join(os.path.dirname(__file__), "parameter_texts.ini"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("["):
                named = line.strip("[]\n").split()
            elif line[0] not in "#\n":
                name, _, phrase = line.rstrip().partition(" = ")
                for section in named:
                    found.setdefault(section, {})[name] = phrase
    return found


def meaning_of(op: Op, name: str) -> str:
    """What an array or a parameter of an operator means, as a phrase without a full stop; empty if the table does not say it."""
    own, (elementwise, everywhere) = table().get(op.title, {}), (table()[section] for section in GENERAL)
    return own.get(name) or (elementwise.get(name) if op.elementwise else None) or everywhere.get(name, "")


def meaning_of_results(op: Op) -> str:
    """What an operator returns: by the table, or else the result's shape as far as its declaration says it; empty otherwise."""
    if found := table().get(op.title, {}).get("returns"):
        return found
    if op.outputs != 1 or not op.arrays or op.variadic:
        return ""
    kept, first = op.symbolic.keeps_shape, op.arrays[0].name
    if op.elementwise and not kept and not op.symbolic.equal_shapes and len(op.arrays) > 1:
        return "an array of the shape to which the operands broadcast"
    name = kept[0] if isinstance(kept, tuple) else first
    return f"an array in the shape of ``{name}``" if op.elementwise or kept else ""

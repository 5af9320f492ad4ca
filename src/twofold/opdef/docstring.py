"""A NumPy-style docstring for an operator, from its declaration."""

from .params import text
from .spec import Op


def docstring_of(op: Op) -> str:
    """The rule's own docstring, then inputs and parameters with their kinds and defaults."""
    lines = [op.doc.strip() or f"Operator {op.title}.", ""]
    rows = []
    for i in op.inputs:
        if not i.injected:
            kind = "arrays" if op.variadic and i is op.inputs[-1] else "array, optional" if i.optional else "array"
            rows.append(f"{i.name} : {kind}{' (auxiliary state)' if i.auxiliary else ''}")
    shown = [p for p in op.params.values() if p.name not in op.training]
    rows += [f"{p.name} : {p.kind.name}" + ("" if p.required else f", default {text(p.default)}") for p in shown]
    if rows:
        lines += ["Parameters", "----------", *rows]
    if len(op.names) > 1:
        lines += ["", f"Also known as {', '.join(op.names[1:])}."]
    return "\n".join(lines)

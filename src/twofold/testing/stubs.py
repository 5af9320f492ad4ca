"""Writes the ``.pyi`` files of ``mx.nd`` and ``mx.sym``: true signatures of the functions that exist only once they are asked for.

``python -m twofold.testing.stubs`` writes them, ``--check`` only says which are stale (exit status 1).
"""

import ast
import inspect
import keyword
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .. import ndarray, symbol
from ..op import params as kinds
from ..op.frontend import place_of
from ..op.registry import NAMES
from ..op.spec import Op

WIDTH = 140
#: Kinds of parameters as type checkers know them: what a caller may give.
TYPES = {
    "SHAPE": "int | Sequence[int]",
    "AXIS": "int | Sequence[int] | None",
    "DTYPE": "Any",
    "FLOATS": "float | Sequence[float]",
    "SCALAR": "float",
}
TYPE_OF_KIND = {getattr(kinds, name): text for name, text in TYPES.items()}


class Front(NamedTuple):
    """A front end: its package, its array class, keywords that only it has, names that only functions without arrays have."""

    package: types.ModuleType
    array: str
    keywords: str
    creation: str = ""


FRONTS = (
    Front(ndarray, "NDArray", "out: Any = None, name: Any = None", "ctx: Any = None"),
    Front(symbol, "Symbol", "name: str | None = None, attr: Any = None"),
)


def type_text(annotation: Any) -> str:
    """A parameter's annotation as the text of a type."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return next((TYPE_OF_KIND.get(a, "Any") for a in args if isinstance(a, kinds.Kind)), "Any")
    if origin is Literal:
        return f"Literal[{', '.join(quoted(a) for a in args)}]"
    if origin in (types.UnionType, typing.Union):
        inner = " | ".join(type_text(a) for a in args if a is not type(None))
        return inner if inner == "Any" or inner.endswith("None") else f"{inner} | None"
    return annotation.__name__


def quoted(value: Any) -> str:
    """A value as the formatter writes it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def arguments(op: Op, front: Front) -> list[str]:
    """What the function of an operator takes; arrays without a default come first, as positions."""
    given = inspect.signature(op.rule).parameters
    arrays = [i for i in op.inputs if not i.injected]
    out, optional = [], False
    for i in arrays:
        optional = optional or i.optional
        variadic = op.variadic and i is arrays[-1]
        out.append(f"*{i.name}: {front.array}" if variadic else f"{i.name}: {front.array}" + (" | None = None" if optional else ""))
    taken = {i.name for i in arrays}
    for p in op.params.values():
        if p.name not in op.training and p.name not in taken:
            default = "..." if p.required or not isinstance(p.default, (int, float, str, tuple, type(None))) else quoted(p.default)
            out.append(f"{p.name}: {type_text(given[p.name].annotation)} = {default.replace('inf', '...')}")
    extra = front.creation if front.creation and not arrays else ""
    return out + [text for text in (extra, front.keywords, "**other: Any") if text]


def function_text(op: Op, name: str, front: Front, indent: str = "") -> str:
    """The stub of one function."""
    shown = op.outputs if op.visible is None else op.visible
    result = front.array if front.array == "Symbol" or shown == 1 else "Any" if callable(shown) else f"list[{front.array}]"
    parts = ", ".join(arguments(op, front))
    line = f"{indent}def {name}({parts}) -> {result}: ..."
    if len(line) <= WIDTH:
        return line
    inner = (
        "".join(f"{indent}    {part},\n" for part in arguments(op, front))
        .replace(", name: ", f",\n{indent}    name: ")
        .replace(", attr: ", f",\n{indent}    attr: ")
    )
    return f"{indent}def {name}(\n{inner.replace('**other: Any,', '**other: Any')}{indent}) -> {result}: ..."


def by_hand(package: types.ModuleType) -> Iterator[str]:
    """The imports and the list of names of a package's ``__init__``, without what is not public."""
    source = Path(str(package.__file__)).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            kept = [a for a in node.names if (a.asname or a.name) in package.__all__]
            whole = len(kept) == len(node.names)
            node.names = kept
            if kept:
                yield str(ast.get_source_segment(source, node)) if whole else ast.unparse(node)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield f"\n{ast.get_source_segment(source, node)}\n"


def stub_of(front: Front) -> str:
    """The whole text of a front end's stub."""
    places: dict[str, list[str]] = {}
    for registered, op in sorted(NAMES.items()):
        where, name = place_of(registered)
        if name.isidentifier() and not keyword.iskeyword(name) and not (where == "" and name in front.package.__all__):
            places.setdefault(where, []).append(function_text(op, name, front, "    " if where else ""))
    text = [f'"""Written by ``make stubs`` from the operator table: the functions of ``{front.package.__name__}`` that are operators."""\n']
    text += ["from collections.abc import Sequence\nfrom typing import Any, Literal\n", *by_hand(front.package)]
    text += [*places.pop(""), "", "op: Any", "_internal: Any", ""]
    del places["_internal"], places["random"]
    for where, functions in sorted(places.items()):
        text += [f"class {where}:", *(f"    @staticmethod\n{f}" for f in functions), ""]
    return "\n".join(text).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    """Write the stubs, or with ``--check`` only compare; the exit status says whether any was stale and still is."""
    stale = []
    for front in FRONTS:
        path = Path(str(front.package.__file__)).with_suffix(".pyi")
        text = stub_of(front)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path}: {'stale, run make stubs' if '--check' in arguments else 'written'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

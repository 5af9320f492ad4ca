"""Writes the ``.pyi`` stubs of modules whose names are lazy or generated: the root, ``mx.np``, ``mx.npx``, ``mx.nd`` and ``mx.sym``.

``python -m twofold.testing.stubs`` writes them; ``--check`` only reports stale ones, with exit status 1.
"""

import ast
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from .. import ndarray, numpy_extension, symbol
from ..numpy import namespace
from ..opdef import NAMES, Op
from ..opdef import params as kinds
from ..opdef.frontend import place_of
from ..opdef.numpy_rows import Row

WIDTH = 140
ROOT = Path(__file__).parents[1]
#: What lets type checkers take every other name as `Any`.
ANY_NAME = "def __getattr__(name: str) -> Any: ...\n"
#: The packages that programs import by their short names as submodules.
SHORT_NAMES = {"nd": "ndarray", "np": "numpy", "npx": "numpy_extension", "sym": "symbol"}
#: The type of arguments for each kind of parameter.
TYPES = {
    kinds.SHAPE: "int | Sequence[int]", kinds.AXIS: "int | Sequence[int] | None", kinds.DTYPE: "DTypeLike",
    kinds.SCALAR: "float",
    kinds.FLOATS: "float | Sequence[float]", kinds.STATIC: "Any", kinds.TRAINING: "bool",
}  # fmt: skip


class Front(NamedTuple):
    """A front end: its package, its array class, the keywords of all its functions, and those of functions without arrays."""

    package: types.ModuleType
    array: str
    keywords: tuple[str, ...]
    creation: tuple[str, ...]


FRONTS = (
    Front(ndarray, "NDArray", ("out: NDArray | Sequence[NDArray] | None = None", "name: str | None = None"), ("ctx: DeviceLike = None",)),
    Front(
        symbol, "Symbol", ("name: str | None = None", "attr: Any = None", "out: Any = None", "**other: Any"), ("ctx: DeviceLike = None",)
    ),
)


def type_text(annotation: Any) -> str:
    """The source of the type for a parameter's annotation."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return next(TYPES.get(a) or type_text(args[0]) for a in args if isinstance(a, kinds.Kind))
    if origin is Literal:
        return f"Literal{list(args)}"
    if origin in (types.UnionType, typing.Union):
        return " | ".join("None" if a is type(None) else type_text(a) for a in args).replace("Any | None", "Any")
    return annotation.__name__


def inputs(op: Op, front: Front) -> Iterator[str]:
    """The inputs of an operator's function. In a symbol's function all are optional: it creates variables for missing ones."""
    optional = front.array == "Symbol"
    for i in op.arrays:
        optional = optional or i.optional
        variadic = op.variadic and i is op.arrays[-1]
        yield f"{'*' * variadic}{i.name}: {front.array}{' | None = None' if optional and not variadic else ''}"


def params(op: Op, front: Front) -> Iterator[str]:
    """The parameters of an operator's function; those without a default are required."""
    creation = () if op.arrays else front.creation
    for name, given in inspect.signature(op.rule).parameters.items():
        if given.kind is given.KEYWORD_ONLY and name not in op.training:
            if name == "dtype":
                yield from creation
                creation = ()
            default = "" if op.params[name].required else f" = {op.params[name].default!r}"
            yield f"{name}: {type_text(given.annotation)}{default}"
    yield from (*creation, *front.keywords)


def by_position(parts: list[str]) -> list[str]:
    """Parts of a signature of which the required ones may be given by position: what stands before the last of them has no default."""
    end = 1 + max(i for i, part in enumerate(parts) if " = " not in part and "*" not in part)
    return [part.partition(" = ")[0] for part in parts[:end]] + parts[end:]


def function_text(op: Op, name: str, front: Front, indent: str) -> str:
    """The stub of a function; two if a required parameter follows an optional one: then it is given by name, or with all before it."""
    arrays, options = list(inputs(op, front)), list(params(op, front))
    required = [i for i, part in enumerate(options) if " = " not in part and "*" not in part]
    if not required or op.variadic or not any(" = " in part for part in arrays + options[: required[-1]]):
        return signature_text(op, name, arrays + options, front, indent)
    # Python has no way to say it in one: a parameter without a default cannot stand behind one with a default
    ways = [[*arrays, "*", *options], by_position(arrays + options)]
    return "\n".join(f"{indent}@overload\n{signature_text(op, name, parts, front, indent)}" for parts in ways)


def signature_text(op: Op, name: str, parts: Sequence[str], front: Front, indent: str) -> str:
    """The stub of a function with given arguments, wrapped like the formatter does."""
    shown = op.outputs if op.visible is None else op.visible
    result = front.array if front.array == "Symbol" or shown == 1 else "Any" if callable(shown) else f"list[{front.array}]"
    parts = [part.replace("'", '"') for part in parts]
    line = f"{indent}def {name}({', '.join(parts)}) -> {result}: ..."
    wrapped = "\n".join([f"{indent}def {name}(", *(f"{indent}    {p}," for p in parts), f"{indent}) -> {result}: ..."])
    return f"{indent}@staticmethod\n" * bool(indent) + (line if len(line) <= WIDTH else wrapped)


def import_text(module: types.ModuleType, indent: str) -> str:
    """The import of a module's public names, wrapped like the formatter does."""
    start = f"{indent}from .{module.__name__.rpartition('.')[2]} import "
    names: Sequence[str] = module.__all__
    line = start + ", ".join(names)
    return line if len(line) <= WIDTH else "\n".join([f"{start}(", *(f"{indent}    {name}," for name in names), f"{indent})"])


def by_hand(package: types.ModuleType) -> Iterator[str]:
    """The public imports and ``__all__`` of a package's ``__init__``."""
    source = Path(str(package.__file__)).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        text = str(ast.get_source_segment(source, node))
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            kept = [a for a in node.names if (a.asname or a.name) in package.__all__]
            if kept:
                yield text if len(kept) == len(node.names) else ast.unparse(ast.ImportFrom(node.module, kept, 1))
        elif text.startswith("__all__"):
            yield f"\n{text}\n"


def stub_of(front: Front) -> str:
    """The stub of a front end."""
    places: dict[str, list[str]] = {"": []}
    for registered, op in sorted(NAMES.items()):
        where, name = place_of(registered)
        if where not in ("_internal", "random") and (where or name not in front.package.__all__):
            places.setdefault(where, []).append(function_text(op, name, front, "    " if where else ""))
    own = [import_text(module, "    ") for module in (front.package.contrib_functions, front.package.control_flow)]
    places["contrib"].insert(0, "\n".join(own) + "\n")
    if front.package is ndarray:
        places["sparse"].insert(0, import_text(sys.modules[f"{ndarray.__name__}.sparse"], "    ") + "\n")
    text = [f'"""Written by ``make stubs`` from the operator table: the functions of ``{front.package.__name__}`` that are operators."""\n']
    text += ["from collections.abc import Sequence\nfrom typing import Any, Literal, overload\n"]
    text += [f"from ..ndarray.types import {'DeviceLike, ' * bool(front.creation)}DTypeLike", *by_hand(front.package)]
    text += [*places.pop(""), "", "op: Any", "_internal: Any"]
    return "\n".join([*text, *(f"\nclass {where}:\n" + "\n".join(functions) for where, functions in sorted(places.items()))]) + "\n"


def row_text(row: Row) -> str:
    """The stub of a function of ``mx.np`` that is a row."""
    given = inspect.signature(row.op.rule).parameters
    parts = [f"{name}: ArrayLike" + " | None = None" * (name in row.optional) for name in row.arrays]
    for name, passed_as, default in row.params:
        if name == "kwargs" and row.has(name):
            parts.append("**kwargs: Any")
            continue
        type_of = type_text(given[passed_as].annotation) if passed_as in given else "ndarray | None"
        parts.append(f"{name}: {type_of}" + (f" = {default}" if default else ""))
    return f"def {row.name}({', '.join(parts)}) -> ndarray: ..."


def numpy_stub() -> str:
    """The stub of ``mx.np``: its own functions, and its ufuncs. Type checkers take every other name of NumPy's as `Any`."""
    lines = ['"""Written by ``make stubs`` from the tables of functions."""\n', "# ruff: noqa: I001\n"]
    lines += ["from collections.abc import Sequence\nfrom typing import Any\n", "from ..ndarray.types import ArrayLike"]
    lines += [f"from . import {name} as {name}" for name in ("linalg", "random")]
    names = {"array": ["ndarray"], "fallback": ["vectorize"], "ufuncs": ["ufunc"]}
    names |= {module.__name__.rpartition(".")[2]: sorted(namespace.functions_in(module)) for module in namespace.MODULES}
    lines += [f"from .{module} import {name} as {name}" for module, found in names.items() for name in found]
    lines += ["", "class _Single(ufunc):", "    def __call__(self, *args: Any, out: Any = None, **options: Any) -> ndarray: ...", ""]
    ufuncs = {name: getattr(np, name) for name in sorted({*np.__all__} - {*namespace.OWN}) if isinstance(getattr(np, name), np.ufunc)}
    lines += [f"{name}: {'_Single' if ufunc.nout == 1 else 'ufunc'}" for name, ufunc in ufuncs.items()]
    rows = [row_text(row) for row in namespace.ROWS.values()]
    return "\n".join([*lines, "", *rows, ANY_NAME])


def extension_stub() -> str:
    """The stub of ``mx.npx``: its functions of devices, the signatures of its own functions, and its operators, which are generated."""
    source = (ROOT / "numpy_extension.py").read_text(encoding="utf-8")
    imports: list[ast.ImportFrom] = []
    # modules that are made of calls, which say nothing of their contents
    names, functions = ["image: Any", "random: Any"], []
    for node in ast.parse(source).body:
        text = str(ast.get_source_segment(source, node))
        if isinstance(node, ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name in numpy_extension.__all__:
            functions.append("\n".join(source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1]) + " ...")
        elif isinstance(node, ast.Assign) and re.match("(?!image|random)[a-z_, ]+ = ", text):
            names.append(text)
    front = Front(numpy_extension, "ndarray", ("out: ndarray | None = None", "name: str | None = None"), ("ctx: DeviceLike = None",))
    generated = sorted({name for name in dir(numpy_extension) if not name.startswith("_")} - {*numpy_extension.__all__})
    functions += [
        function_text(NAMES[numpy_extension.OTHERS.get(name, numpy_extension.PREFIX + name)], name, front, "") for name in generated
    ]
    body = "\n".join([*names, "", *functions, ANY_NAME])
    start = ['"""Written by ``make stubs`` from the operator table and ``numpy_extension.py``."""\n', "# ruff: noqa: I001\n", "import os"]
    start += [f"from {module} import {name}" for module, name in (("collections.abc", "Sequence"), ("typing", "Literal, overload"))]
    for node in imports:
        node.names = [alias for alias in node.names if re.search(rf"\b{alias.name}\b", body)]
    return "\n".join([*start, *(ast.unparse(node) for node in imports if node.names), "", body])


def root_stub() -> str:
    """The stub of the root package, generated from its table of lazy names."""
    source = (ROOT / "__init__.py").read_text(encoding="utf-8")
    table = next(n for n in ast.parse(source).body if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == "_PUBLIC").value
    public: dict[str, str | tuple[str, str]] = ast.literal_eval(table or "{}")
    lines = ['"""Written by ``make stubs`` from the table of public names."""\n', "# ruff: noqa: I001  (in the order of the table)\n"]
    for name, where in public.items():
        folder, _, last = where.rpartition(".") if isinstance(where, str) else (where[0], "", where[1])
        lines.append(f"from .{folder} import {last}" + (f" as {name}" if last != name else ""))
    names = "".join(f'    "{name}",\n' for name in sorted(public))
    return "\n".join([*lines, f"\n__all__ = [\n{names}]\n", "__version__: str\n"])


def submodule_stub(short: str, package: str) -> str:
    """The stub of a submodule's short name, which programs import (``import twofold.np as np``) and for which there is no file."""
    return "\n".join(
        [
            f'"""Written by ``make stubs``: `twofold.{package}` by its short name."""\n\n# ruff: noqa: F403\n',
            "from typing import Any",
            "",
            f"from .{package} import *",
            "",
            ANY_NAME,
        ]
    )


def main(check: bool) -> int:
    """Write the stubs, or only compare them; the exit status is 1 if a stub is stale."""
    texts = {Path(str(front.package.__file__)).with_suffix(".pyi"): stub_of(front) for front in FRONTS}
    texts |= {ROOT / "__init__.pyi": root_stub(), ROOT / "numpy/__init__.pyi": numpy_stub(), ROOT / "numpy_extension.pyi": extension_stub()}
    texts |= {ROOT / f"{short}.pyi": submodule_stub(short, package) for short, package in SHORT_NAMES.items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path}: {'stale, run make stubs' if check else 'written'}")
        if not check:
            path.write_text(texts[path], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

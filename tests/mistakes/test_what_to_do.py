"""Messages say what to do: each error that the sources raise names it, except where that is in the text already."""

from __future__ import annotations

import ast
from pathlib import Path

from twofold import errors

SOURCES = Path(errors.__file__).parent
#: Errors that need not: files are damaged, indices out of range are said in NumPy's words, and a bug is nobody's mistake.
WITHOUT = {"FormatError", "IndexingError", "InternalError"}
#: Files whose messages come whole from elsewhere, or name what to do within a text of MXNet's, with how many such messages they have.
WHOLE = {
    "command/contents/inspected_file.py": 1,
    "command/plan.py": 1,
    "command/run.py": 1,
    "gluon/contrib/estimator/checkpoints.py": 1,
    "gluon/data/vision/places.py": 1,
    "mxnet_numpy/extension.py": 1,
    "numpy_extension.py": 1,
    "ops/mxnet_numpy_reduction.py": 1,
}


def silent(tree: ast.AST) -> list[int]:
    """The lines where an error is raised whose arguments do not say what to do."""
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.MXNetError)}
    found = []
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in classes - WITHOUT:
            continue
        named = any(k.arg in ("todo", None) for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args)
        if len(call.args) < 3 and not named:
            found.append(node.lineno)
    return found


def test_the_check_sees_what_is_missing():
    lines = (
        "ShapeError('a', 'b')",
        "ShapeError('a', 'b', 'c')",
        "ShapeError('a', todo='c')",
        "FormatError('a')",
        "ValueError",
        "ValueError('a')",
    )
    text = "\n".join(f"raise {line}" for line in lines)
    assert silent(ast.parse(text)) == [1]


def test_every_error_says_what_to_do():
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        lines = silent(ast.parse(path.read_text(encoding="utf-8")))
        if lines:
            found[path.relative_to(SOURCES).as_posix()] = lines
    assert {name: len(lines) for name, lines in found.items()} == WHOLE, found

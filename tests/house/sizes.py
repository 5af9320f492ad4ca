"""Checks of size: lines of a file, and of a function without its docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.house.sources import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_count(source: Source) -> int:
    """Lines of the file."""
    return len(source.text.splitlines())


def docstring_lines(function: Function) -> int:
    """Lines of the function's docstring; 0 where it has none."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0


def function_lengths(source: Source) -> Iterator[tuple[str, int]]:
    """(place and name, lines from `def` to the end without the docstring) of every function, inner ones included."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
            yield f"{source.path}:{node.lineno} {node.name}", length


def long_files(sources: Iterable[Source], cap: int) -> list[str]:
    """The files of more lines than the cap."""
    counts = ((source.path, line_count(source)) for source in sources)
    return [f"{path}: {lines} lines, the cap is {cap}: split it" for path, lines in counts if lines > cap]


def long_functions(sources: Iterable[Source], cap: int) -> list[str]:
    """The functions of more lines than the cap."""
    lengths = (found for source in sources for found in function_lengths(source))
    return [f"{name}: {lines} lines, the cap is {cap}: split it" for name, lines in lengths if lines > cap]

"""Syntax trees of single functions."""

import ast
import linecache
import re
import sys
from functools import lru_cache
from types import FunctionType

from .syntax_trees import syntax_tree


@lru_cache(64)  # fragments are read again and again; the trees of all functions would be half of what the garbage collector visits
def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The syntax tree of a function.

    Raises
    ------
    LookupError
        If its file cannot be read.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, vars(sys.modules[function.__module__]))
    text = _beginning("".join(lines[code.co_firstlineno - 1 :]))
    above = ["" for _ in range(code.co_firstlineno - 1)]  # so the tree has the function's line numbers
    if text.startswith(" "):
        above[-1] = "if True:"
    found = next((n for n in ast.walk(syntax_tree("\n".join([*above, text]))) if isinstance(n, ast.FunctionDef)), None)
    if found is None or found.name != code.co_name:
        raise LookupError(f"{function.__module__}.{code.co_name}: its source is missing; install twofold with its .py files")
    return found


def _beginning(text: str) -> str:
    """The function at the beginning of a text: parsing it takes far less time than parsing the file."""
    heading = re.search(r"^( *)def .*\n", text, re.MULTILINE)
    if heading is None:
        return text
    end = re.compile(rf"^ {{0,{len(heading[1])}}}[^\s)\]}}]", re.MULTILINE).search(text, heading.end())
    return text[: end.start()] if end else text

"""Makes syntax trees of Python's source: one thread at a time.

Python counts the depth of the tree that it makes in one place for all threads: in 3.11.7, if a second thread begins while a first is at it,
a ``SystemError`` says that the recursion depths do not match.
"""

import ast
import os
from threading import RLock
from typing import Any, Literal

_lock = RLock()


def _in_child() -> None:
    """The thread that holds the lock may not exist there; Python counts anew with each source."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_in_child)


def syntax_tree(source: str | bytes, file: str = "<unknown>", mode: Literal["exec", "eval"] = "exec") -> Any:
    """The tree, an ``ast.Module`` or ``ast.Expression``.

    Raises
    ------
    SyntaxError
        As `compile`, without a frame of `ast` in its traceback.
    """
    with _lock:
        return compile(source, file, mode, ast.PyCF_ONLY_AST, dont_inherit=True)


def literal_value(text: str) -> Any:
    """`ast.literal_eval` of a text."""
    return ast.literal_eval(syntax_tree(text.lstrip(" \t"), mode="eval"))

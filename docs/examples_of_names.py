"""Examples on the pages of the API reference, run when the pages are written, so that what they print is what a user sees.

A name's example is in its docstring, in ``docs/examples/*.toml`` by namespace and name, or, for functions of NumPy, in NumPy's own manual.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import re
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy

import twofold as mx

HERE = Path(__file__).parent / "examples"

#: Namespaces in which a name without an example of its own has NumPy's.
LIKE_NUMPY = ("np", "np.fft", "np.linalg")
#: Statements shown of an example of NumPy.
LONGEST = 6
#: Statements left out of them: pictures are not drawn here.
OTHER_IMPORTS = re.compile(r"import (numpy|matplotlib)|from numpy")


@cache
def written() -> dict[str, dict[str, str]]:
    """The examples of the files: by namespace and name, statements without what they print."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(HERE.glob("*.toml")):
        found |= tomllib.loads(path.read_text(encoding="utf-8"))
    return found


def example_of_name(namespace: str, name: str) -> str:
    """The session of a name whose docstring has none; empty if there is none."""
    if name in written().get(namespace, {}):  # those of operators are in ``op``
        try:
            return session(written()[namespace][name])
        except Exception as error:
            error.add_note(f"in the example of {namespace}.{name}, docs/examples")
            raise
    return numpys_example(namespace.removeprefix("np").removeprefix("."), name) if namespace in LIKE_NUMPY else ""


def has_own_example(found: Any) -> bool:
    """Whether the docstring of a name has an example."""
    return ">>>" in (inspect.getdoc(found) or "")


def session(code: str) -> str:
    """Statements after prompts, with what each of them prints.

    They run in an empty folder, with random numbers from one seed, and warnings are errors, but those of deprecation.
    """
    known: dict[str, Any] = {"mx": mx, "__name__": "example"}
    given, lines = code.splitlines(), list[str]()
    for generator in (mx, mx.np, numpy):
        generator.random.seed(0)
    with interactive() as out:
        for statement in ast.parse(code).body:
            begin = min([statement.lineno, *[d.lineno for d in getattr(statement, "decorator_list", [])]])
            first, *others = given[begin - 1 : statement.end_lineno]
            lines += [f">>> {first}", *[f"... {line}".rstrip() for line in others]]
            before = len(out.getvalue())
            exec(compile("\n".join([first, *others, ""]), "<example>", "single"), known)
            lines += filter(str.strip, out.getvalue()[before:].split("\n"))
    return "\n".join(lines)


@contextlib.contextmanager
def interactive() -> Iterator[io.StringIO]:
    """Where an example runs: an empty folder, with values printed as Python's prompt prints them."""
    hook = sys.displayhook
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's older names, which this package has too
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        sys.displayhook = lambda value: None if value is None else print(repr(value))
        try:
            yield out
        finally:
            sys.displayhook = hook


def numpys_example(place: str, name: str) -> str:
    """The first example that NumPy's manual has of a function, as it runs with ``twofold.np``; empty if it needs anything else."""
    function = getattr(getattr(numpy, place) if place else numpy, name, None)
    text = (inspect.getdoc(function) or "").partition("Examples\n--------\n")[2]
    given = [e.source.strip() for e in doctest.DocTestParser().get_examples(text) if not OTHER_IMPORTS.match(e.source)]
    for count in range(1, min(LONGEST, len(given)) + 1):
        if f".{name}(" in given[count - 1]:
            return tried("\n".join(["import twofold.np as np", *given[:count]]))
    return ""


def tried(code: str) -> str:
    """The session of statements that were written for NumPy; empty if one of them fails or the last one prints nothing."""
    try:
        text = session(code)
    except Exception:
        return ""
    return text if not text.rpartition("\n")[2].startswith((">>>", "...")) else ""

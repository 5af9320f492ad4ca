"""Edits of a program's syntax tree, for `tests.mutants`: a rule names a function and what is changed in it.

Patterns are Python, compared as syntax trees, so that formatting, comments and moved lines do not matter. ``...`` in a pattern matches
any expression or, as a statement, any statements. A pattern must match once in the function.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

Nodes: TypeAlias = Sequence[ast.AST]


#: The statement ``...``, which matches any statements of a body.
ANYTHING = ast.dump(ast.parse("...").body[0])


class NoMatch(Exception):
    """A pattern does not match exactly once, or there is no such function."""


class Edit(NamedTuple):
    """What is looked for, in words, and the new text of a file, from its text and the tree of one of its functions."""

    title: str
    apply: Callable[[str, ast.AST], str]


def never(condition: str) -> Edit:
    """A condition is always false."""
    return replace(condition, "False")


def always(condition: str) -> Edit:
    """A condition is always true."""
    return replace(condition, "True")


def replace(pattern: str, by: str) -> Edit:
    """An expression in the place of another, or statements in the place of statements in a row."""
    statements = not (_is_expression(pattern) and _is_expression(by))

    def apply(text: str, scope: ast.AST) -> str:
        return _put(text, _one(scope, pattern, statements), textwrap.dedent(by) if statements else f"({by})")

    return Edit(f"{pattern} -> {by}", apply)


def drop(statements: str) -> Edit:
    """Statements in a row are left out."""
    return replace(statements, "pass")


def unwrap(head: str) -> Edit:
    """The statements of a ``with`` or an ``if`` run without it; ``head`` ends before the colon."""

    def apply(text: str, scope: ast.AST) -> str:
        found = _one(scope, f"{head}: ...", statements=True)
        return _put(text, found, "\n".join(ast.unparse(s) for s in found[0].body))

    return Edit(f"without {head}", apply)


def argument(name: str, by: str) -> Edit:
    """Another value of an argument given by name, which occurs in one call of the function."""

    def apply(text: str, scope: ast.AST) -> str:
        found = [k.value for k in ast.walk(scope) if isinstance(k, ast.keyword) and k.arg == name]
        if len(found) != 1:
            raise NoMatch(f"{len(found)} arguments {name}")
        return _put(text, found, by)

    return Edit(f"{name}={by}", apply)


def parameter(text_of_it: str) -> Edit:
    """A parameter with a default for a function that has none."""

    def apply(text: str, scope: ast.AST) -> str:
        if not isinstance(scope, ast.FunctionDef) or ast.unparse(scope.args):
            raise NoMatch("a function without parameters is wanted")
        lines = text.splitlines(keepends=True)
        lines[scope.lineno - 1] = lines[scope.lineno - 1].replace("()", f"({text_of_it})", 1)
        return "".join(lines)

    return Edit(f"parameter {text_of_it}", apply)


def in_file(part: str, by: str) -> Edit:
    """A part of a file that is not Python, which must occur once."""

    def apply(text: str, _: ast.AST) -> str:
        if text.count(part) != 1:
            raise NoMatch(f"{text.count(part)} times {part!r}")
        return text.replace(part, by)

    return Edit(f"{part!r} -> {by!r}", apply)


def edited(text: str, function: str | None, edit: Edit) -> str:
    """The text of a file after an edit of one of its functions, classes or assigned names (``Class.method``); None: it is not Python."""
    return edit.apply(text, ast.Module([], []) if function is None else _named(parsed(text), function))


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file, parsed once for all tests and rules about it; nobody changes it."""
    return ast.parse(text)


def _named(tree: ast.AST, name: str) -> ast.AST:
    for part in filter(None, name.split(".")):
        found = [n for n in _own_statements(tree) if part in _names(n)]
        if len(found) != 1:
            raise NoMatch(f"{len(found)} definitions of {part}")
        tree = found[0]
    return tree


def _own_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a body, those in its blocks too, but not those of its functions and classes."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child
            if not isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                yield from _own_statements(child)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _one(scope: ast.AST, pattern: str, statements: bool) -> Nodes:
    """The expression that matches a pattern, or the statements in a row that do."""
    wanted = ast.parse(textwrap.dedent(pattern)).body
    found: list[Nodes] = []
    for node in ast.walk(scope):
        if not statements:
            is_read = not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            found += [[node]] if is_read and isinstance(node, ast.expr) and _equal(node, wanted[0].value) else []
            continue
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                rows = [body[k : k + len(wanted)] for k in range(len(body) - len(wanted) + 1)]
                found += [row for row in rows if all(map(_equal, row, wanted))]
    if len(found) != 1:
        raise NoMatch(f"{len(found)} matches of {pattern}")
    return found[0]


def _is_expression(text: str) -> bool:
    body = ast.parse(textwrap.dedent(text)).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def _equal(node: Any, pattern: Any) -> bool:
    """Whether a tree matches a pattern; whether names are read or written does not matter."""
    if isinstance(pattern, ast.Constant) and pattern.value is ...:
        return isinstance(node, ast.expr)
    if isinstance(pattern, list):
        if [ast.dump(p) for p in pattern if isinstance(p, ast.stmt)] == [ANYTHING]:
            return isinstance(node, list)
        return isinstance(node, list) and len(node) == len(pattern) and all(map(_equal, node, pattern))
    if not isinstance(pattern, ast.AST):
        return type(node) is type(pattern) and node == pattern
    fields = [f for f in pattern._fields if f not in ("ctx", "kind", "type_comment")]
    return type(node) is type(pattern) and all(_equal(getattr(node, f), getattr(pattern, f)) for f in fields)


def _put(text: str, nodes: Nodes, by: str) -> str:
    """The text with another in the place of nodes in a row; statements keep their indentation."""
    first, last = nodes[0], nodes[-1]
    row = min(n.lineno for n in (first, *getattr(first, "decorator_list", ())))
    lines = [0, *itertools.accumulate(len(line) for line in text.encode().splitlines(keepends=True))]  # positions are those of UTF-8
    start, end = lines[row - 1] + first.col_offset, lines[last.end_lineno - 1] + last.end_col_offset
    if text.encode()[start:end].startswith(b"elif"):
        raise NoMatch("an elif is edited by its condition")
    placed = textwrap.indent(by, " " * first.col_offset).lstrip() if isinstance(first, ast.stmt) else by
    return (text.encode()[:start] + placed.encode() + text.encode()[end:]).decode()

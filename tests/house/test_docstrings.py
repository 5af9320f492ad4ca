"""The parameters that a docstring describes are those of its function or class."""

import ast
import re
from typing import TypeAlias

import pytest

from tests.house.sources import python_files

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
#: Stands for the further names that ``**kwargs``, or a base class from elsewhere, accepts.
ANY = "**"


def described(documented: Definition) -> set[str]:
    """The names in the section "Parameters": on each line that is not indented one, or several with commas."""
    section = SECTION.search(ast.get_docstring(documented) or "")
    lines = [line for line in section[1].splitlines() if line[:1].strip()] if section else []
    return {name.strip().lstrip("*") for line in lines for name in line.rstrip(",").partition(" : ")[0].split(",")}


def accepted(documented: Definition, classes: dict[str, list[ast.ClassDef]]) -> set[str]:
    """The names of the parameters: of a class those of its constructor, of the fields from which that is made, or of its base classes."""
    if not isinstance(documented, ast.ClassDef):
        given = documented.args
        starred = {a.arg for a in (given.vararg, given.kwarg) if a is not None}
        return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)} | starred | ({ANY} if given.kwarg else set())
    makers = [s for s in documented.body if isinstance(s, ast.FunctionDef) and s.name in ("__init__", "__new__")]
    if makers:
        return set().union(*(accepted(s, classes) for s in makers))
    fields = {s.target.id for s in documented.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}
    bases = [found for base in documented.bases for found in classes.get(ast.unparse(base).rpartition(".")[2], [])]
    return fields.union({ANY} if len(bases) < len(documented.bases) else (), *(accepted(base, classes) for base in bases))


@pytest.mark.ci
def test_every_described_parameter_exists():
    nodes = [(source.path, node) for source in python_files("src", "backends") for node in ast.walk(source.tree)]
    classes: dict[str, list[ast.ClassDef]] = {}
    for _, node in nodes:
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, []).append(node)
    wrong = []
    for path, node in nodes:
        if isinstance(node, Definition) and (names := described(node)) and ANY not in (known := accepted(node, classes)):
            wrong += [f"{path}:{node.lineno} {node.name}: {name}" for name in sorted(names - known)]
    assert wrong == []

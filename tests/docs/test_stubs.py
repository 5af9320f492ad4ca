"""The stubs for editors: Python that parses, every operator in it, with the signature of its declaration."""

from __future__ import annotations

import ast

import pytest

import twofold as mx
from twofold.testing.stubs import FRONTS, numpy_stub, root_stub, stub_of

NAMES = [front.array for front in FRONTS]


@pytest.fixture(params=FRONTS, ids=NAMES)
def front(request):
    return request.param


def functions(front) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(stub_of(front)).body if isinstance(node, ast.FunctionDef)}


def test_every_operator_of_the_front_end_has_a_stub(front):
    namespaces = {"op", "linalg", "contrib", "image", "sparse", "_internal"}
    listed = {name for name in front.package.attribute_names() if not name.startswith("_")} - namespaces
    assert listed - set(functions(front)) <= set(front.package.__all__)


def test_a_signature_is_that_of_the_declaration(front):
    function = functions(front)["FullyConnected"]
    names = [a.arg for a in function.args.args]
    assert names[:6] == ["data", "weight", "bias", "num_hidden", "no_bias", "flatten"]
    defaults = dict(zip(reversed(names), map(ast.unparse, reversed(function.args.defaults)), strict=False))
    required = "None" if front.array == "Symbol" else None  # a symbol's function makes variables of inputs that are not given
    assert [defaults.get(n) for n in names[:6]] == [required, required, "None", "...", "False", "True"]


def test_variadic_inputs_are_variadic_in_the_stub(front):
    function = functions(front)["concat"]
    assert function.args.vararg.arg == "data"
    assert function.args.kwonlyargs[0].arg == "dim"


def test_the_root_has_the_names_that_it_loads_lazily():
    tree = ast.parse(root_stub())
    imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert set(mx.__all__) <= imported


def test_the_functions_of_np_have_types_in_its_stub():
    tree = ast.parse(numpy_stub())
    imported = {a.asname: n.module for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    ufuncs = {ast.unparse(n.target) for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert [imported[name] for name in ("array", "sum", "stack", "where", "vecdot")] == [
        "creation",
        "reductions",
        "parts",
        "selecting",
        "linear",
    ]
    assert {"add", "exp", "matmul"} <= ufuncs
    assert not {*imported} & ufuncs


def test_what_is_written_by_hand_is_imported(front):
    imported = {a.asname or a.name for n in ast.parse(stub_of(front)).body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert set(front.package.__all__) <= imported

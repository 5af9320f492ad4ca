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
    body = ast.parse(stub_of(front)).body
    by_name, by_position = (node.args for node in body if isinstance(node, ast.FunctionDef) and node.name == "FullyConnected")
    arrays, settings = ["data", "weight", "bias"], ["num_hidden", "no_bias", "flatten"]
    # after an array that is left out, what follows is passed by name, since one of the parameters is required
    assert [a.arg for a in by_name.args] == arrays
    assert [a.arg for a in by_name.kwonlyargs][:3] == settings
    assert [default and ast.unparse(default) for default in by_name.kw_defaults[:3]] == [None, "False", "True"]
    required = [] if front.array == "NDArray" else ["None", "None"]  # a symbol's function makes variables of inputs that are not given
    assert list(map(ast.unparse, by_name.defaults)) == [*required, "None"]
    assert [a.arg for a in by_position.args][:6] == [*arrays, *settings]
    assert list(map(ast.unparse, by_position.defaults))[:2] == ["False", "True"]


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

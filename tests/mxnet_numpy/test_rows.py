"""Functions that are made of an operator's row: their signatures, and what each parameter of a row means."""

import inspect
from types import SimpleNamespace

import numpy as onp
import pytest

import twofold as mx
from twofold.mxnet_numpy.array_functions import FUNCTIONS
from twofold.mxnet_numpy.host_names import FALLBACKS
from twofold.mxnet_numpy.linalg import FALLBACKS as LINEAR_FALLBACKS
from twofold.mxnet_numpy.row_functions import Functions, method_of
from twofold.numpy import namespace
from twofold.numpy.forms import FORMS
from twofold.opdef import OPS, Axis, Shape
from twofold.opdef.declare import build
from twofold.opdef.numpy_rows import row_of, rows_of
from twofold.ops import numpy_elementwise
from twofold.testing.stubs import row_text

from tests.cases import each


def declared(rule, row: str, writes: str = "", numpy_names: tuple[str, ...] = ()):
    """An unregistered operator with a row."""
    return build(rule, (f"_npi_{rule.__name__}",), (), {"numpy": True, "row": row, "writes": writes, "numpy_names": numpy_names})


def passed(op, *args, **options):
    """The arrays, parameters and ``out`` that the function of an operator's row passes on."""
    seen = []
    front = SimpleNamespace(
        operand=lambda a: f"array {a}",
        operands=lambda arrays: [f"array {a}" for a in arrays],
        context_name=lambda ctx: f"on {ctx}",
        apply=lambda op, arrays, params, out: seen.append((list(arrays), params, out)),
    )
    row = row_of(op, op.front.row.partition("(")[0])
    method_of(row)(front, *args, **options)
    return seen[0]


def moved(xp, data, *, axis: Axis = None, dim1: int = 0, keepdims: bool = False, shape: Shape = ()):
    """Moves."""


def made(xp, *, shape: Shape = (), ctx: str = "", dtype: str = "float32"):
    """Makes."""


def drawn(xp, loc_array=None, *, loc: float = 0.0):
    """Draws."""


def joined(xp, *data, axis: int = 0):
    """Joins."""


@each(
    "row, writes, expected",
    [
        ("moved(a, axis=None)", "", (["array x"], {}, None)),
        ("moved(a, axis=None)", "axis", (["array x"], {"axis": None}, None)),
        ("moved(a, axis1: dim1 = 3)", "", (["array x"], {}, None)),
        ("moved(a, axis1: dim1 = 3)", "dim1", (["array x"], {"dim1": 3}, None)),
        ("moved(a, keepdims=False, out=None)", "", (["array x"], {}, None)),
    ],
)
def test_defaults_are_left_out_unless_files_contain_them(row, writes, expected):
    assert passed(declared(moved, row, writes), "x") == expected


@each(
    "row, options, expected",
    [
        ("moved(a, axis=None)", {"axis": [0, 1]}, {"axis": (0, 1)}),
        ("moved(a, shape=())", {"shape": onp.array([2, 3])}, {"shape": (2, 3)}),
        ("moved(a, axis1: dim1 = 0)", {"axis1": 2}, {"dim1": 2}),
        ("moved(a, keepdims=False)", {"keepdims": None}, {}),
    ],
)
def test_what_differs_from_a_default_is_passed_as_the_operators_parameter(row, options, expected):
    assert passed(declared(moved, row), "x", **options)[1] == expected


def test_out_is_passed_on():
    assert passed(declared(moved, "moved(a, out=None)"), "x", out="y")[2] == "y"


def test_a_function_without_arrays_names_its_device_and_its_dtype():
    op = declared(made, "made(shape, dtype=None, order='C', ctx=None, device=None)", "dtype")
    assert passed(op, 3, device="gpu") == ([], {"shape": 3, "dtype": "float32", "ctx": "on gpu"}, None)
    with pytest.raises(mx.MXNetError, match="row-major"):
        passed(op, 3, order="F")


@each("row", ["joined(*arys)", "joined(seq)"])
def test_any_number_of_arrays(row):
    given = (("a", "b"),) if "*" not in row else ("a", "b")
    assert passed(declared(joined, row), *given)[0] == ["array a", "array b"]


def test_functions_of_np_refuse_options_that_would_have_no_effect():
    function = namespace.function_of_row(row_of(declared(moved, "moved(a, order='C', **kwargs)"), "moved"))
    for options, error in (({"axs": 1}, "invalid keyword"), ({"where": [True]}, "not supported"), ({"order": "F"}, "row-major")):
        with pytest.raises(mx.MXNetError, match=f"moved: .*{error}"):
            function(mx.np.ones(3), **options)


@each("row, rule", [("made(shape, ctx=None)", made), ("made(shape, device=None)", made), ("drawn(loc)", drawn)])
def test_a_row_that_np_would_serve_by_half_is_refused(row, rule):
    with pytest.raises(mx.MXNetError, match=f"np.{rule.__name__}: "):
        namespace.function_of_row(row_of(declared(rule, row), rule.__name__))


def weighted(xp, data, weight=None):
    """The data, weighted if there are weights."""
    return data if weight is None else data * weight


def together(xp, *data):
    """The first two."""
    return data[0] + data[1]


def test_np_has_functions_of_rows_that_the_installed_numpy_lacks(monkeypatch):
    row = row_of(declared(weighted, "weighted(a, weight=None, out=None)"), "weighted")
    monkeypatch.setitem(namespace.ROWS, "weighted", row)
    try:
        x, out = mx.np.array([1.0, 2.0]), mx.np.zeros(2)
        assert mx.np.weighted(x, 3, out=out) is out
        assert (list(out), mx.np.weighted is mx.np.weighted, "weighted" in dir(mx.np)) == ([3, 6], True, True)
    finally:
        vars(mx.np).pop("weighted", None)


def test_functions_of_np_take_arrays_that_may_be_left_out_and_any_number_of_arrays():
    x = mx.np.array([1.0, 2.0])
    function = namespace.function_of_row(row_of(declared(weighted, "weighted(a, weight=None)"), "weighted"))
    assert [list(function(x)), list(function(x, weight=[2, 3]))] == [[1, 2], [2, 6]]
    for row, args in (("together(*arys)", (x, [1, 1])), ("together(seq)", ([x, [1, 1]],))):
        assert list(namespace.function_of_row(row_of(declared(together, row), "together"))(*args)) == [2, 3]


def chosen(xp, data, other=None, *, axis: int = 0):
    """Chooses."""


def test_an_array_that_may_be_left_out_is_left_out():
    op = declared(chosen, "chosen(a, b=None, axis=0)")
    assert passed(op, "x")[0] == ["array x", None]
    assert passed(op, "x", b="y")[0] == ["array x", "array y"]


@each("row, writes", [("moved(a, axs=None)", ""), ("moved(a, axis: dim2 = 0)", ""), ("moved(a", ""), ("moved(a, axis=None)", "axs")])
def test_a_row_that_is_none_is_refused_when_it_is_declared(row, writes):
    with pytest.raises(mx.MXNetError, match="moved: the row"):
        declared(moved, row, writes)


#: Functions that do something before or instead of what their row does: they take numbers, or have a short path.
MORE = frozenset({"tile", "zeros", "ones", "full_like", "eye"})


def test_rows_are_what_the_namespaces_serve():
    for row in rows_of(OPS.values()):
        assert row.name not in FALLBACKS, row
        assert not row.place or row.name not in LINEAR_FALLBACKS, row
        own = [cls for cls in type(FUNCTIONS).__mro__ if row.name in vars(cls)] if not row.place else [Functions]
        assert own == [Functions] or row.name in MORE, row
        if row.name in row.op.front.numpy_names:
            assert row.name not in namespace.OWN, row
            assert getattr(onp, row.name, None) not in FORMS, row


def test_the_row_of_a_ufunc_serves_the_dialect_and_np_has_the_ufunc():
    op = declared(numpy_elementwise.logaddexp2.rule, "logaddexp2, newer(x1, x2, out=None)", numpy_names=("logaddexp2", "newer"))
    assert [row.name for row in rows_of([op])] == ["logaddexp2", "newer"]
    assert list(namespace.functions_of_rows([op])) == ["newer"]


def test_functions_have_the_signatures_of_rows():
    assert str(inspect.signature(mx.mxnet_numpy.squeeze)) == "(a, axis=None, out=None)"
    assert str(inspect.signature(mx.np.resize)) == "(a, new_shape)"


def test_functions_of_np_that_are_rows_have_numpys_results_and_gradients():
    x = mx.np.arange(6.0)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.np.resize(x, (4, 4)).sum() + (mx.np.tile(x, (2, 2)) * 2).sum()
    y.backward()
    onp.testing.assert_array_equal(x.grad.asnumpy(), onp.bincount(onp.resize(onp.arange(6), 16)) + 8.0)
    for function, args in ((onp.resize, ((2, 4),)), (onp.resize, (5,)), (onp.tile, (3,)), (onp.tile, (onp.array([2, 1]),))):
        found = getattr(mx.np, function.__name__)(x, *args)
        onp.testing.assert_array_equal(found.asnumpy(), function(onp.arange(6.0), *args))
    with pytest.raises(ValueError, match="negative"):
        mx.np.resize(mx.np.zeros((1000, 1000)), -1)


def test_the_stub_of_a_row_says_which_arguments_may_be_left_out():
    text = row_text(row_of(declared(weighted, "weighted(a, weight=None, out=None, **kwargs)"), "weighted"))
    assert text == (
        "def weighted(a: ArrayLike, weight: ArrayLike | None = None, out: ndarray | None = None, **kwargs: Any) -> ndarray: ..."
    )

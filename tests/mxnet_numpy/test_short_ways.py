"""What small operations of the dialect cost, as counts of Python frames; and that the short ways give what the general ones give."""

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import mxnet_numpy as np
from twofold.errors import DTypeError, MXNetError, ParameterError
from twofold.mxnet_numpy import extension as npx


def arrays():
    return {
        "np": np,
        "npx": npx,
        "x": np.arange(6),
        "A": np.array([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]),
        "B": np.ones((2, 3)),
        "H": np.array([0.5, 1.0], dtype="float16"),
        "I": np.array([[1, 2], [3, 4]], dtype="int32"),
    }


#: Expressions, how many Python functions each may enter, and the same of NumPy's.
FRAMES = {
    "np.exp(A)": (2, "np.exp(A)"),
    "np.square(A)": (2, "np.square(A)"),
    "np.abs(A)": (10, "np.abs(A)"),
    "np.add(A, B)": (2, "np.add(A, B)"),
    "np.multiply(A, 2.0)": (3, "np.multiply(A, 2.0)"),
    "np.greater(A, B)": (2, "np.greater(A, B)"),
    "npx.relu(A)": (3, "np.maximum(A, 0)"),
    "np.sum(A)": (9, "np.sum(A)"),
    "A.sum(axis=1)": (9, "A.sum(axis=1)"),
    "np.mean(A, axis=0)": (9, "np.mean(A, axis=0)"),
    "A.max()": (9, "A.max()"),
    "np.maximum(A, 1)": (13, "np.maximum(A, np.float32(1))"),
    "A.reshape(3, 2)": (10, "A.reshape(3, 2)"),
    "A.T": (12, "A.T"),
    "x[0]": (1, "x[0]"),
    "x[-1]": (1, "x[-1]"),
    "A[1]": (1, "A[1]"),
    "A[1, 2]": (1, "A[1, 2]"),
    "A[:, 1]": (1, "A[:, 1]"),
    "A[0][1]": (2, "A[0][1]"),
    "A[0, 1] + A[1, 1]": (3, "A[0, 1] + A[1, 1]"),
    "A[1, 2] * 2.0": (3, "A[1, 2] * 2.0"),
    "np.zeros((2, 3))": (2, "np.zeros((2, 3), np.float32)"),
    "np.ones(3, 'int32')": (2, "np.ones(3, 'int32')"),
    "np.full((2, 3), 2.5)": (3, "np.full((2, 3), np.float32(2.5))"),
    "np.full_like(A, 2)": (4, "np.full_like(A, 2)"),
    "np.zeros_like(A)": (4, "np.zeros_like(A)"),
    "np.ones_like(I)": (4, "np.ones_like(I)"),
    "np.empty_like(A)": (4, "np.zeros_like(A)"),
    "np.arange(4)": (2, "np.arange(4, dtype=np.float32)"),
    "np.eye(3)": (4, "np.eye(3, dtype=np.float32)"),
    "np.eye(2, 3, 1, 'int32')": (4, "np.eye(2, 3, 1, 'int32')"),
    "np.linspace(0, 1, 5)": (4, "np.linspace(0, 1, 5, dtype=np.float32)"),
    "np.array([1, 2])": (3, "np.array([1, 2], np.float32)"),
    "A.__setitem__((0, 1), 5.0)": (1, "A.__setitem__((0, 1), 5.0)"),
}  # fmt: skip


@pytest.mark.parametrize("text", FRAMES)
def test_a_small_operation_enters_few_functions_and_gives_numpys_values(text):
    most, theirs = FRAMES[text]
    own = arrays()
    found = [eval(text, own) for _ in range(2)][1]  # by the general way, which remembers the operator; then by the short one
    host = {k: v.asnumpy() if isinstance(v, np.ndarray) else v for k, v in arrays().items()} | {"np": numpy}
    wanted = eval(theirs, host)
    if wanted is None:
        numpy.testing.assert_array_equal(own["A"].asnumpy(), host["A"])
    else:
        assert found.shape == numpy.shape(wanted)
        assert isinstance(found, np.ndarray)
        numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype
    assert frames(lambda: eval(text, own)) <= most + 1  # eval's own


@pytest.mark.parametrize("name", ["exp", "sqrt", "floor", "sign", "negative", "square"])
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64", "bool"])
def test_functions_of_one_array_give_the_general_results(name, dtype):
    values = [[0, 1], [1, 4]]
    x = np.array(values, dtype=dtype)
    found, wanted = getattr(np, name)(x), np.empty(x.shape, dtype=getattr(np, name)(x).dtype)
    getattr(np, name)(x, out=wanted)  # with `out` they go the general way
    numpy.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
    assert found.dtype == wanted.dtype


def test_parameters_that_are_equal_but_not_the_same_are_told_apart():
    x = np.array([[1.5, -2.5], [3.5, 4.5]])
    for _ in range(2):
        assert np.sum(x, axis=0).shape == (2,)
        assert np.sum(x, axis=0, keepdims=True).shape == (1, 2)
        assert np.sum(x, axis=0, dtype="float64").dtype == "float64"
        assert (1 / np.nan_to_num(np.array([numpy.nan]), nan=0.0)).item() == numpy.inf
        assert (1 / np.nan_to_num(np.array([numpy.nan]), nan=-0.0)).item() == -numpy.inf
        assert np.clip(x, 0, 1).sum().item() == 3
        assert np.clip(x, 0, 2).sum().item() == 5.5


def test_a_call_is_answered_alike_whether_its_parameters_are_remembered_or_not():
    x = np.array([0.25, 0.75, 3])
    for _ in range(3):
        assert np.clip(x, numpy.float32(0.5), 2).tolist() == [0.5, 0.75, 2]
        with pytest.raises(ParameterError, match="a_min"):
            np.clip(x, np.ones(3), 2)


def test_elements_are_views_which_are_written_and_recorded():
    x = np.arange(4)
    first = x[0]
    first[()] = 7
    x[1] += 2
    assert x.tolist() == [7, 3, 2, 3]
    assert first.shape == ()
    assert first.base is x
    x.attach_grad()
    with mx.autograd.record():
        y = np.exp(x[2]) * x[3] + np.add(x, x[1]).sum()
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), [1, 5, 1 + 3 * numpy.exp(2), 1 + numpy.exp(2)], rtol=1e-6)


def test_columns_are_copies_also_while_recording():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    column = a[:, 1]
    column[:] = 0
    assert a.tolist() == [[1, 2], [3, 4]]
    a.attach_grad()
    with mx.autograd.record():
        y = (a[:, 1] * a[:, 0]).sum()
    y.backward()
    assert a.grad.tolist() == [[2, 1], [4, 3]]


def test_what_the_short_ways_refuse_raises_as_before():
    a = np.ones((2, 3))
    with pytest.raises(TypeError):
        np.exp(mx.nd.ones(2))
    with pytest.raises(DTypeError):
        np.add(a, mx.nd.ones((2, 3)))
    with pytest.raises(ValueError, match="broadcast"):
        np.add(a, np.ones((4, 5)))


@pytest.mark.parametrize(
    "text",
    [
        "np.zeros((2, 0){})", "np.zeros((), 'float64'{})", "np.zeros(2, bool{})", "np.zeros(2, int{})", "np.zeros([2, 1]{})",
        "np.ones((2,), float{})",
        "np.full((2, 1), 3{})", "np.full((), 2.5, 'int32'{})", "np.full(2, 300, 'uint8'{})",
        "np.full((2,), True{})", "np.full(2, 1, bool{})",
        "np.full((2,), 70000, 'float16'{})", "np.full((2,), -1, 'uint8'{})", "np.full(2, 1.5, 'float64'{})",
        "np.zeros_like(A, 'int32'{})", "np.ones_like(A > 0{})", "np.full_like(A, 2.7, 'int8'{})", "np.full_like(A, 300, 'uint8'{})",
        "np.full_like(A[1], -2{})", "np.full_like(A, True{})", "np.ones_like(A, bool{})",
        "np.ones((), 'int8'{})", "np.arange(0{})", "np.arange(5, dtype='int32'{})", "np.arange(3, dtype='float16'{})",
        "np.eye(3{})", "np.eye(2, 4, -1, 'int8'{})", "np.eye(2, 0{})", "np.eye(2, 3, 5, bool{})", "np.linspace(0, 1, 7{})",
        "np.linspace(-2.3, 5.1, 11, False, dtype='float64'{})", "np.linspace(1, 2, 1{})", "np.linspace(0, 1, 0{})",
        "np.linspace(0.1, 9, 1000, dtype='float16'{})", "np.linspace(0, 9, 4, dtype='int32'{})",
        "np.array([[1, 2], [3, 4]]{})",
        "np.array([True, False]{})", "np.array([1.5, 2], 'int32'{})", "np.array([]{})", "np.array(N{})", "np.array(N, 'float32'{})",
        "np.array(N.T{})",
    ],
)  # fmt: skip
def test_arrays_are_created_alike_with_and_without_a_device(text):
    own = {"np": np, "N": numpy.arange(6.0).reshape(2, 3), "A": np.array([[0.5, 1.0], [2.0, 2.5]]), "here": mx.current_context()}
    short, general = (eval(text.format(device), own) for device in ("", ", ctx=here"))
    assert type(short) is type(general) is np.ndarray
    assert short.dtype == general.dtype
    assert short.shape == general.shape
    assert short.tolist() == general.tolist()


@pytest.mark.parametrize(
    "text",
    ["np.zeros((-1,))", "np.zeros('x')", "np.ones((2,), 'no')", "np.eye(2, -1)", "np.linspace(0, 1, -1)", "np.zeros(2, order='F')"],
)
def test_wrong_creations_raise_errors_of_the_library(text):
    with pytest.raises(MXNetError):
        eval(text, {"np": np})


def test_an_array_copies_its_source():
    source = numpy.ones(3, "float32")
    x = np.array(source)
    source[0] = 5
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("other", [2.0, 3, "B", "A[:1]", "C"])
@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/="])
def test_in_place_operators_give_what_the_others_give(operator, other):
    own = {"A": np.array([[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]), "B": np.ones((2, 3)) * 4, "C": np.array([1.0, 2.0, 4.0])}
    before = own["A"]
    wanted = eval(f"A {operator[0]} {other}", own)
    exec(f"A {operator} {other}", own)
    assert own["A"] is before
    assert own["A"].tolist() == wanted.tolist()


def test_in_place_operators_of_recorded_arrays_are_recorded():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        y += 1
        y *= x
    y.backward()
    assert x.grad.tolist() == [5.0, 9.0]


@pytest.mark.parametrize(("call", "most"), [("A.__iadd__(2.0)", 3), ("A.__imul__(B)", 2), ("A[0, 1] < A[1, 1]", 9)])
def test_operators_in_place_and_comparisons_of_elements_enter_few_functions(call, most):
    own = arrays()
    assert frames(lambda: eval(call, own)) <= most + 1


@pytest.mark.parametrize("size", [2, 300_000])
def test_the_negative_of_bools_is_an_integer(size):
    """As of MXNet's operator, which multiplies by -1: ``-(np.array([1., -2.]) > 0)`` is ``array([-1, 0], dtype=int64)``."""
    positive = np.array([1.0, -2.0] * (size // 2)) > 0
    for found in (-positive, (-positive.reshape(2, -1)).reshape(-1)):
        assert found.dtype == "int64"
        assert found.asnumpy().tolist() == [-1, 0] * (size // 2)

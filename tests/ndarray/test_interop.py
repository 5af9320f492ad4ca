"""NumPy's functions, DLPack, pickling and copying of `NDArray`."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import AutogradError, DTypeError

from tests.probe import dtype_name


def x():
    return nd.array([[1, 2], [3, 4]])


def is_ours(value, expected, dtype="float32"):
    assert isinstance(value, nd.NDArray)
    assert value.asnumpy().dtype == dtype
    np.testing.assert_allclose(value.asnumpy(), expected, rtol=1e-6)


HOST = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "other", [np.ones((2, 2)), np.ones(2, "float32"), np.ones((2, 2), "int64"), np.float32(3), np.int64(3), np.float64(3)]
)
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "**", "//"])
def test_numpy_operands_mix_in_both_orders(operator, other):
    names = {"x": x(), "o": other, "h": HOST}
    is_ours(eval(f"x {operator} o", names), eval(f"h {operator} o", names))
    is_ours(eval(f"o {operator} x", names), eval(f"o {operator} h", names))


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
def test_numpy_operands_are_compared(operator):
    names = {"x": x(), "o": np.array([2.0, 3.0]), "h": HOST}
    is_ours(eval(f"x {operator} o", names), eval(f"h {operator} o", names))
    is_ours(eval(f"o {operator} x", names), eval(f"o {operator} h", names))


@pytest.mark.parametrize(
    ("dtype", "other", "expected"),
    [
        ("float32", "float64", "float32"),
        ("float64", "float32", "float64"),
        ("float16", "int64", "float16"),
        ("int32", "int64", "int32"),
        ("int32", "float64", "float64"),
        ("uint8", "int64", "int64"),
    ],
)
def test_a_numpy_operand_takes_the_arrays_dtype_if_it_is_of_its_kind(dtype, other, expected):
    assert (nd.ones((2,), dtype=dtype) + np.ones(2, other)).asnumpy().dtype == expected


def test_numpy_operands_are_recorded():
    a = x()
    a.attach_grad()
    with autograd.record():
        y = np.array([1.0, 10.0]) * a + np.sin(a)
    y.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), np.array([1, 10]) + np.cos(HOST), rtol=1e-6)


def test_in_place_operators_take_numpy_operands():
    a = x()
    same = a
    a += np.ones((2, 2))
    a *= np.float32(2)
    is_ours(same, (HOST + 1) * 2)
    with pytest.raises(DTypeError, match="dtype"):
        a -= np.ones(2, complex)


def test_numpy_arrays_are_updated_in_place_with_our_operands():
    host = HOST.copy()
    host += x()
    np.testing.assert_array_equal(host, HOST * 2)


@pytest.mark.parametrize("other", [[1, 2], None, "a", {}])
def test_other_operands_are_rejected(other):
    for expression in ("x + o", "o + x", "x < o", "x == o", "x != o"):
        with pytest.raises(TypeError):
            eval(expression, {"x": x(), "o": other})


@pytest.mark.parametrize("name", ["sin", "exp", "sqrt", "square", "negative", "floor", "log1p", "arctan"])
def test_ufuncs_of_numpy_run_as_operators(name):
    is_ours(getattr(np, name)(x()), getattr(np, name)(HOST))


def test_ufuncs_write_into_out():
    out = nd.zeros((2, 2))
    assert np.exp(x(), out=out) is out
    is_ours(out, np.exp(HOST))
    host = np.zeros((2, 2))
    np.exp(x(), out=host)
    np.testing.assert_allclose(host, np.exp(HOST), rtol=1e-6)


def test_other_ufunc_methods_are_numpys():
    assert isinstance(np.add.reduce(x()), np.ndarray)
    np.testing.assert_array_equal(np.multiply.outer(x()[0], x()[1]), np.multiply.outer(HOST[0], HOST[1]))
    np.testing.assert_array_equal(np.logaddexp(x(), 1), np.logaddexp(HOST.astype("float32"), 1))


@pytest.mark.parametrize(
    "call",
    ["linalg.norm(a)", "percentile(a, 50)", "stack([a, a])", "where(a > 2, a, 0)", "cumsum(a)", "allclose(a, a)", "clip(a, 2, None)"],
)
def test_functions_without_an_operator_are_numpys(call):
    got = eval(f"np.{call}", {"np": np, "a": x()})
    assert not isinstance(got, nd.NDArray)
    np.testing.assert_allclose(got, eval(f"np.{call}", {"np": np, "a": HOST}), rtol=1e-6)


@pytest.mark.parametrize(
    "call", ["sum(a)", "sum(a, axis=1)", "mean(a, 0)", "max(a, axis=0, keepdims=True)", "clip(a, 1.5, 3)", "expand_dims(a, 1)"]
)
def test_functions_with_an_operator_run_that_operator(call):
    got = eval(f"np.{call}", {"np": np, "a": x()})
    expected = eval(f"np.{call}", {"np": np, "a": HOST})
    is_ours(got, np.reshape(expected, got.shape))


def operand(module, record):
    """A (2, 2) array that carries a gradient, and the variable that it is computed from."""
    variable = module.array([[0.3, 0.6], [0.2, 0.5]], dtype="float64")
    variable.attach_grad()
    with autograd.record() if record else autograd.pause():
        return variable * 1.5, variable


def gradient_of(call, module):
    """What a call gives the variable behind its only argument: a gradient, an `AutogradError`, or nothing."""
    y, variable = operand(module, True)
    try:
        with autograd.record():
            results = call(y)
            results = results if isinstance(results, (tuple, list)) else [results]
            recorded = [r for r in results if isinstance(r, (nd.NDArray, mx.np.ndarray)) and dtype_name(r).startswith("float")]
            sum((r * r).sum() for r in recorded).backward()
    except AutogradError as error:
        return "refused" if "no gradient" in str(error) else "cut"
    except (TypeError, ValueError, AttributeError):
        return "no result"
    return variable.grad.asnumpy().round(9).tolist()


def functions_of_one_array():
    """NumPy's functions that return floating-point results for a single array, except those that only read its shape and dtype."""
    skipped = {"asmatrix", "bmat", "empty_like", "ones_like", "zeros_like", "info", "save", "savetxt", "test"}
    for module in (np, np.linalg, np.fft):
        for name in sorted(set(module.__all__) - skipped):
            function = getattr(module, name)
            if not callable(function) or isinstance(function, type):
                continue
            try:
                with np.errstate(all="ignore"):
                    results = function(np.array([[0.45, 0.9], [0.3, 0.75]]))
            except (TypeError, ValueError, AttributeError, np.linalg.LinAlgError, DeprecationWarning):
                continue
            results = results if isinstance(results, (tuple, list)) else [results]
            if any(isinstance(r, (np.ndarray, np.generic)) and r.dtype.kind in "fc" for r in results):
                yield pytest.param(function, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("function", list(functions_of_one_array()))
def test_a_function_of_a_recorded_array_differentiates_as_for_np_arrays_or_raises(function):
    with np.errstate(all="ignore"):
        ours, nps = gradient_of(function, nd), gradient_of(function, mx.np)
    np.testing.assert_equal(ours, nps)
    assert ours != "cut"


@pytest.mark.parametrize(
    "call",
    [
        "np.stack([y, y * 2], 1)", "np.where(y > 0.5, y * y, 2.0)", "np.sum(y, dtype='float32')", "np.mean(y, where=[[True, False]] * 2)",
        "np.hypot(y, 2.0)", "np.add.reduce(y, 1)", "np.multiply.outer(y, [1.0, 2.0])",
        "np.linalg.solve(y, [[1.0], [2.0]])", "np.pad(y, 1, 'edge')", "np.tensordot(y, y)",
    ],
)  # fmt: skip
def test_a_numpy_calls_gradient_matches_finite_differences(call):
    y, variable = operand(nd, True)
    with autograd.record():
        result = eval(call, {"np": np, "y": y})
        assert isinstance(result, nd.NDArray)
        (result * result).sum().backward()
    step, plain = 1e-6 if "float32" not in call else 1e-2, variable.asnumpy()
    direction = np.cos(np.arange(4)).reshape(2, 2)
    ahead, behind = ((eval(call, {"np": np, "y": 1.5 * (plain + s * step * direction)}) ** 2).sum() for s in (1, -1))
    expected = (ahead - behind) / (2 * step)
    assert float((variable.grad.asnumpy() * direction).sum()) == pytest.approx(expected, rel=1e-5 if step < 1e-3 else 1e-3)


def test_a_function_of_numpy_writes_a_recorded_result_into_out():
    y, variable = operand(nd, True)
    out = nd.zeros((2,), dtype="float64")
    with autograd.record():
        assert np.cumsum(y[0], out=out) is out
        out.backward(nd.array([1, 10], dtype="float64"))
    assert variable.grad.asnumpy().tolist() == [[1.5 * 11, 1.5 * 10], [0, 0]]


def test_results_without_a_gradient_are_numpys_while_recording_too():
    y, variable = operand(nd, True)
    with autograd.record():
        for got in (np.median(y.detach()), np.searchsorted(y[0], 0.7), *np.nonzero(y), np.shares_memory(y, y)):
            assert not isinstance(got, nd.NDArray)
        loss = y * np.median(y.detach())
    loss.backward()
    np.testing.assert_allclose(variable.grad.asnumpy(), np.full((2, 2), 1.5 * np.median(y.asnumpy())))


def test_array_protocol_copies_unless_told():
    a = x()
    np.asarray(a)[0, 0] = 9
    assert a[0, 0].asscalar() == 1
    assert np.asarray(a, dtype="float64").dtype == np.float64
    np.testing.assert_array_equal(np.array(a), HOST)


# DLPack


def test_numpy_sees_our_memory_through_dlpack():
    for n in (3, 100_000):
        a = nd.zeros((n,))
        host = np.from_dlpack(a)
        a[:] = 3
        a += 1
        a[1] = 9
        assert host[:3].tolist() == [4, 9, 4]


def test_a_view_is_exported_with_its_root():
    a = nd.zeros((2, 3))
    host = np.from_dlpack(a[1])
    a[:] = 5
    assert host.tolist() == [5, 5, 5]


def test_exported_memory_is_not_moved_by_reads_and_recording():
    a = nd.ones((4,))
    host = np.from_dlpack(a)
    w = nd.ones((4,))
    w.attach_grad()
    with autograd.record():
        y = a * w + a[1:3].sum() * 0
    y.backward()
    a[0:2] = 7
    a -= 1
    assert host.tolist() == [6, 6, 0, 0]


def test_we_see_other_memory_through_dlpack():
    host = np.arange(3.0)
    a = nd.from_dlpack(host)
    assert a.dtype is np.float64
    a[:] = 8
    assert host.tolist() == [8, 8, 8]


def test_dlpack_capsules_are_consumed_once_and_written_through():
    a = nd.zeros((3,))
    capsule = a.to_dlpack_for_write()
    b = nd.from_dlpack(capsule)
    b[:] = 1
    assert a.asnumpy().tolist() == [1, 1, 1]
    with pytest.raises(DTypeError, match="DLPack"):
        nd.from_dlpack(capsule)
    assert nd.from_dlpack(nd.to_dlpack_for_read(a)).asnumpy().tolist() == [1, 1, 1]


def test_strided_and_read_only_memory_is_copied():
    host = np.arange(6.0).reshape(2, 3)
    a = nd.from_dlpack(host.T)
    a[:] = 0
    assert host.sum() == 15
    np.testing.assert_array_equal(nd.from_dlpack(host.T).reshape((-1,)).asnumpy(), host.T.ravel())


@pytest.mark.parametrize("source", [3, "a", None])
def test_anything_but_a_dlpack_producer_is_rejected(source):
    with pytest.raises(DTypeError, match="DLPack"):
        nd.from_dlpack(source)


# pickles and copies


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_pickles_keep_values_dtype_and_context(dtype):
    a = nd.array([[0, 1], [1, 0]], dtype=dtype, ctx=mx.cpu(1))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        b = pickle.loads(pickle.dumps(a, protocol))
        assert (type(b), dtype_name(b), b.context) == (nd.NDArray, dtype, mx.cpu(1))
        np.testing.assert_array_equal(b.asnumpy(), a.asnumpy())


def test_a_view_is_pickled_as_an_array():
    b = pickle.loads(pickle.dumps(nd.arange(6).reshape((2, 3))[1]))
    assert type(b) is nd.NDArray
    assert b.asnumpy().tolist() == [3, 4, 5]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, nd.NDArray.copy])
def test_copies_share_nothing(duplicate):
    for source in (nd.ones((3,)), nd.ones((100_000,)), nd.ones((2, 3))[1]):
        other = duplicate(source)
        other[:] = 3
        assert source[0].asscalar() == 1


def test_a_pickle_can_be_loaded_in_another_process():
    code = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])).asnumpy().tolist())"
    result = subprocess.run([sys.executable, "-c", code, pickle.dumps(x()).hex()], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[[1.0, 2.0], [3.0, 4.0]]"


@pytest.mark.parametrize("dtype", [None, "float64", "float16"])
def test_an_array_built_from_recorded_elements_has_their_gradient(dtype):
    a = nd.array([1, 2])
    a.attach_grad()
    with autograd.record():
        built = nd.array([[a[0] * 5, [3]], ([4], a[1] * 5)], dtype=dtype, ctx=mx.cpu(1))
        loss = (a * a).sum() + built.as_in_context(a.context).astype("float32").sum()
    loss.backward()
    np.testing.assert_array_equal(built.asnumpy(), [[[5], [3]], [[4], [10]]])
    assert (built.dtype, built.context) == (np.dtype(dtype or "float32"), mx.cpu(1))
    np.testing.assert_array_equal(a.grad.asnumpy(), [7, 9])  # 2 a + 5


def test_a_copy_of_a_recorded_array_has_its_gradient():  # as in MXNet
    a = nd.array([1, 2], dtype="float64")
    a.attach_grad()
    with autograd.record():
        y = a * 5
        built = nd.array(y)
        y[:] = 0
        loss = (a * a).sum() + built.sum()
    loss.backward()
    assert built.dtype == np.float64
    np.testing.assert_array_equal(built.asnumpy(), [5, 10])
    np.testing.assert_array_equal(a.grad.asnumpy(), [7, 9])


@pytest.mark.parametrize("index", [slice(None), [1, 0]])
def test_an_assigned_list_of_recorded_elements_has_their_gradient(index):
    a = nd.array([1, 2])
    a.attach_grad()
    with autograd.record():
        y = nd.zeros((2, 1))
        y[index] = [a[0] * 5, a[1] * 5]
        loss = (a * a).sum() + y.sum()
    loss.backward()
    np.testing.assert_array_equal(a.grad.asnumpy(), [7, 9])


@pytest.mark.parametrize("module", [nd, mx.np])
@pytest.mark.parametrize(
    "text",
    [
        "np.copyto(host, y)",
        "np.put(host, [0], y)",
        "np.exp(y, out=host)",
        "np.modf(y, out=(host, host))",
        "np.cumsum(y, out=host[0])",
        "np.median(y, 0, out=host[0])",
        "host.__iadd__(y)",
    ],
)
def test_a_recorded_array_is_not_written_to_a_numpy_array(text, module):
    y, _ = operand(module, True)
    host = np.zeros((2, 2))
    with autograd.record(), pytest.raises(AutogradError, match="no gradient"):
        eval(text, {"np": np, "host": host, "y": y})
    assert not host.any()


@pytest.mark.parametrize("module", [nd, mx.np])
def test_a_numpy_array_takes_what_has_no_gradient(module):
    y, _ = operand(module, True)
    host, tests = np.zeros((2, 2)), np.zeros((2, 2), bool)
    np.copyto(host, y)  # outside `record`
    with autograd.record():
        np.add(host, y.detach(), out=host)
        np.greater(y, 0.5, out=tests)
    np.testing.assert_allclose(host, 3 * np.array([[0.3, 0.6], [0.2, 0.5]]))
    np.testing.assert_array_equal(tests, [[False, True], [False, True]])

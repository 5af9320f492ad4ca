"""Methods of small arrays in machine code: they do what the functions do that they replace, and leave the rest to these."""

import contextlib
import gc
import operator
import signal
import sys
import warnings
from collections import Counter

import numpy
import pytest

import twofold as mx
from twofold import autograd
from twofold import np as tnp
from twofold.device import ENTERED
from twofold.numpy import machine_code
from twofold.numpy.array import ndarray, ndarrayElement
from twofold.numpy.machine_code import MachineCode
from twofold.scheduler import observers

from tests.machine_code import array_methods

METHOD = type(str.upper)


@pytest.fixture(autouse=True)
def code():
    entered = ENTERED.copy()
    ENTERED.clear()  # as in a process that has chosen no device
    with array_methods() as found:
        if found is None:
            pytest.skip("no llvmlite")
        assert isinstance(vars(ndarray)["__add__"], METHOD)
        yield found
    ENTERED.extend(entered)


# ---------------------------------------------------------------------------------------- the same as the functions


def recorded():
    """A vector with a gradient."""
    x = tnp.array([1.0, 2.0, 3.0, 4.0])
    x.attach_grad()
    return x


def of_dtype(name):
    return lambda _: tnp.array([1, 0, 3, 2]).astype(name)


def scalar_of(name):
    return lambda _: numpy.dtype(name).type(3)


#: Arrays and other operands of all kinds that the methods tell apart, by names: functions of a matrix (3, 4), which some are views of.
OPERANDS = {
    "matrix": lambda a: a,
    "row": lambda a: a[1],
    "column": lambda a: a[:, 2],
    "part": lambda a: a[1:, ::2],
    "reversed": lambda a: a[::-1],
    "transposed": lambda a: a.T,
    "turned part": lambda a: a.T[1:],
    "single": lambda a: a[None, 1],
    "empty": lambda a: a[:0],
    "view of one": lambda a: a[1:2, 1],
    "reshaped": lambda a: a.reshape(4, 3),
    "3 by 3": lambda a: a[:, :3],
    "total": lambda a: a.sum(),
    "vector": lambda _: tnp.array([0.5, -1.0, 2.0, 0.0]),
    "scalar": lambda _: tnp.array(1.5),
    "long": lambda _: tnp.arange(700.0),
    **{name: of_dtype(name) for name in ("float32", "float16", "int8", "int64", "uint64", "bool", "complex128", "bfloat16")},
    "part of a large one": lambda _: tnp.arange(90_000.0).reshape(300, 300)[2, :4],
    "with a gradient": lambda _: recorded(),
    "view of it": lambda _: recorded()[1:],
    "int total": lambda _: of_dtype("int64")(_).sum(),
    "float": lambda _: 2.5,
    "int": lambda _: 2,
    "True": lambda _: True,
    "complex": lambda _: 1j,
    "huge": lambda _: 2**70,
    "None": lambda _: None,
    "text": lambda _: "a",
    "list": lambda _: [1.0, 2.0, 3.0, 4.0],
    **{f"np.{name}": scalar_of(name) for name in ("float64", "float32", "int64", "bool", "complex64")},
    "NumPy's": lambda _: numpy.array([1.0, 2.0, 3.0, 4.0]),
    "NumPy's scalar": lambda _: numpy.array(2.0),
}
NAMES = [*OPERANDS]
OF_US = [name for name in NAMES if isinstance(OPERANDS[name](tnp.ones((3, 4))), ndarray)]
OF_TWO = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.matmul]
OF_TWO += [operator.and_, operator.or_, operator.xor, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
OF_TWO += [tnp.add, tnp.maximum, tnp.arctan2, tnp.equal, numpy.subtract, numpy.true_divide, numpy.hypot]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.iand, operator.ixor]
OF_ONE = [operator.neg, operator.abs, operator.invert, len, tnp.sqrt, tnp.exp, tnp.negative, tnp.logical_not, lambda x: x.copy()]


MATRIX = numpy.random.default_rng(0).normal(size=(3, 4))


def shown(value):
    """Everything that can be seen of a result."""
    if isinstance(value, mx.nd.NDArray | ndarray | numpy.ndarray | numpy.generic):
        of_ours = isinstance(value, ndarray)
        found = value.asnumpy() if isinstance(value, mx.nd.NDArray | ndarray) else numpy.asarray(value)
        if of_ours and value._held is not None and value.ndim and not isinstance(value, ndarrayElement):
            content = value._content
            data = content if isinstance(content, numpy.ndarray) else content.data
            assert data.flags.c_contiguous or not isinstance(data, numpy.ndarray)
        of_view = of_ours and value.base is not None
        return type(value), str(found.dtype), found.shape, found.tobytes(), of_view
    return type(value), repr(value)


def outcome(run, *names):
    """What a function of operands gives, and what becomes of them; or its error; and its warnings."""
    matrix = tnp.array(MATRIX)
    given = [OPERANDS[name](matrix) if isinstance(name, str) and name in OPERANDS else name for name in names]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = shown(run(*given))
        except Exception as error:
            found = type(error), str(error)
    after = [shown(x) for x in (*given, matrix) if isinstance(x, ndarray)]
    return found, after, [(w.category, str(w.message)) for w in told]


def compared(code, calls):
    """Assert that the methods and the functions give the same for calls of functions with operands."""
    found = [outcome(*call) for call in calls]
    code.timed()
    try:
        wanted = [outcome(*call) for call in calls]
    finally:
        code.plain()
    for call, one, other in zip(calls, found, wanted, strict=True):
        assert one == other, call


@pytest.mark.parametrize("run", OF_TWO + IN_PLACE, ids=lambda run: f"{run.__module__[:6]}.{run.__name__}")
def test_operators_of_two_operands_do_what_the_functions_do(code, run):
    pairs = [(first, second) for first in NAMES for second in NAMES if first in OF_US or (second in OF_US and run not in IN_PLACE)]
    compared(code, [(run, *pair) for pair in pairs])


@pytest.mark.parametrize("run", OF_ONE, ids=lambda run: run.__name__)
def test_operators_of_one_operand_do_what_the_functions_do(code, run):
    compared(code, [(run, name) for name in NAMES])


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod"]
#: Arguments and options.
WHERE = [((axis,), {}) for axis in (0, -1, 1, None, 5, (0, 1), True, "a")] + [((), {"axis": axis}) for axis in (0, 1, None, (0,), 7)]
WHERE += [((), {}), ((0, "float32"), {}), ((0,), {"axis": 0}), ((), {"keepdims": True}), ((), {"axis": 0, "dtype": "float32"})]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_do_what_the_functions_do(code, name):
    assert isinstance(vars(ndarray)[name], METHOD)
    runs = [lambda x, given=given: getattr(x, name)(*given[0], **given[1]) for given in WHERE]
    compared(code, [(run, array) for run in runs for array in OF_US])


class Index:
    """An index that is an object of a program."""

    def __index__(self):
        return 1


KEYS = [0, -1, 5, 2**70, True, None, ..., (), slice(None), slice(1, 3), slice(None, None, -2), slice(3, 1), Index(), numpy.int64(1)]
KEYS += [
    numpy.int8(2),
    (1, 2),
    (1, -1),
    (0, 9),
    (1, slice(None)),
    (slice(1, None), 2),
    (slice(None), None),
    (None, 1),
    (..., 0),
    (1, Index()),
]
KEYS += [(0, 0, 0), (slice(None), slice(None), slice(None)), (numpy.int64(1), slice(0, 2)), [0, 2], [True, False, True], "a", 1.5, (1, 1.5)]
KEYS += [(slice(0, 5, None), slice(Index(), None)), slice("a"), (True, 1)]


def test_parts_are_what_the_functions_give(code):
    compared(code, [(get, name, key) for get in (operator.getitem, lambda x, k: x[k][k]) for name in OF_US for key in KEYS])


def test_parts_are_written_as_the_functions_write_them(code):
    values = "matrix", "row", "vector", "total", "float", "int", "True", "None", "list", "np.float64", "int64", "complex128"
    compared(code, [(operator.setitem, name, key, value) for name in OF_US for key in KEYS for value in values])


def test_what_is_written_through_a_view_is_seen_through_the_others(code):
    x = tnp.arange(12.0).reshape(3, 4)
    row, column = x[1], x[:, 1]
    row[1] = 50.0
    column += 1.0
    x[1, 1] *= 2.0
    x[1:, 2:] = column[:2]
    assert x.tolist() == [[0, 2, 2, 3], [4, 102, 2, 102], [8, 10, 2, 102]]
    assert (row.tolist(), column.tolist()) == ([4, 102, 2, 102], [2, 102, 10])
    x[:, :3] = x[:, 1:]  # parts of one array that overlap
    assert x.tolist() == [[2, 2, 3, 3], [102, 2, 102, 102], [10, 2, 102, 102]]


# ------------------------------------------------------------------------------------------------------ who runs

FAST = [
    "x[3]",
    "A[2, 3]",
    "A[2]",
    "A[1:, ::2]",
    "A[:, None]",
    "x + x",
    "x * 2.0",
    "3 - x",
    "v / A[1]",
    "A[:, 1] * s",
    "s * x",
    "-x",
    "abs(x)",
]
FAST += [
    "x > 0.5",
    "x == x",
    "x ** 2",
    "A[1:] + A[:-1]",
    "x @ x",
    "A @ x",
    "A[0] @ A[:, 1][:4]",
    "A[:3, :3] @ A[:3, :3]",
    "total + 1.0",
    "-total",
    "s - total",
    "A.sum()",
    "A.max(axis=0)",
    "A[1].argmax()",
]
FAST += [
    "x.__iadd__(1.0)",
    "x.__setitem__(2, 5.0)",
    "A.__setitem__((1, 2), s)",
    "A.__setitem__((slice(None), 1), v)",
    "A[2].__imul__(v)",
    "len(A)",
]
FAST += [
    "np.sqrt(x)",
    "np.sqrt(s)",
    "np.tanh(A[1])",
    "np.maximum(x, 0.0)",
    "np.maximum(0.0, x)",
    "np.minimum(s, s)",
    "A[1].copy()",
    "x // 2.0",
]


def frames_of(statement, names):
    """The functions of Python that a statement enters when it runs for the second time."""
    compiled = compile(statement, "statement", "eval")
    eval(compiled, names)
    frames = []
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        eval(compiled, names)
    finally:
        sys.setprofile(None)
    return frames[1:]


@pytest.mark.parametrize("statement", FAST)
def test_no_frame_of_python_is_entered(statement):
    A, x = tnp.arange(16.0).reshape(4, 4) * 1.0, tnp.arange(4.0) + 1.0
    names = {"A": A, "x": x, "v": x[:], "s": numpy.float64(2.0), "total": x.sum(), "np": tnp}
    assert frames_of(statement, names) == []


def test_counted_calls_put_the_methods_in_place(code, monkeypatch):
    code.timed()
    functions = dict(vars(ndarray))
    monkeypatch.setattr(machine_code, "CALLS", 10)
    fresh = MachineCode(code._make)
    fresh.count()
    x = tnp.arange(4.0)
    for _ in range(9):
        assert x[1] == 1.0
    assert not isinstance(vars(ndarray)["__getitem__"], METHOD)
    x + x, x[1], x - x
    assert isinstance(vars(ndarray)["__getitem__"], METHOD)
    assert isinstance(vars(ndarrayElement)["__add__"], METHOD)
    assert isinstance(vars(type(tnp.exp))["__call__"], METHOD)
    observers._places.remove(fresh)
    fresh.timed()
    assert {name: vars(ndarray)[name] for name in functions} == functions


def failing(_):
    raise RuntimeError("LLVM")


@pytest.mark.parametrize("make", [lambda _: {}, failing], ids=["none", "failing"])
def test_without_methods_the_functions_stay(code, monkeypatch, make):
    code.timed()
    functions = dict(vars(ndarray))
    monkeypatch.setattr(machine_code, "CALLS", 2)
    fresh = MachineCode(make)
    fresh.count()
    x = tnp.arange(4.0)
    assert [float(x[k] + 1.0) for k in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert {name: vars(ndarray)[name] for name in functions} == functions
    observers._places.remove(fresh)


def test_a_ufunc_that_is_made_later_has_the_method():
    assert isinstance(vars(type(tnp.nextafter))["__call__"], METHOD)
    assert tnp.nextafter(tnp.array([1.0]), 2.0).tolist() == [numpy.nextafter(1.0, 2.0)]


def test_the_profiler_sees_operations(tmp_path):
    mx.profiler.set_config(profile_imperative=True, aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    x = tnp.arange(4.0)
    mx.profiler.set_state("run")
    x + x
    mx.profiler.set_state("stop")
    x + x
    assert "add" in mx.profiler.dumps(reset=True)
    assert isinstance(vars(ndarray)["__add__"], METHOD)


# --------------------------------------------------------------------------------------------- recording, threads, errors


def test_what_is_recorded_has_its_gradient():
    x = tnp.arange(4.0) + 1.0
    x.attach_grad()
    weights = tnp.array([1.0, 2.0, 3.0, 4.0])
    with autograd.record():
        y = x[1:] * x[:-1] + tnp.sqrt(x[0]) * weights[1]
        loss = (y * y).sum()
    loss.backward()
    a, g = numpy.arange(4.0) + 1.0, numpy.zeros(4)
    z = a[1:] * a[:-1] + 2.0
    g[1:] += 2 * z * a[:-1]
    g[:-1] += 2 * z * a[1:]
    g[0] += (2 * z).sum() * 2.0 * 0.5
    numpy.testing.assert_allclose(x.grad.asnumpy(), g)


@pytest.mark.parametrize(
    "statement", ["x[0].__iadd__(1.0)", "x.__setitem__(0, 2.0)", "x.__setitem__((0, slice(2)), row)", "x[0].__imul__(row)"]
)
@pytest.mark.parametrize("size", [500, 501])
def test_a_write_during_which_other_threads_may_run_is_the_functions(statement, size):
    # threads that copy the content of the array look for such writes in the frames of others (`concurrent_writes`)
    x = tnp.zeros((2, size))
    assert bool(frames_of(statement, {"x": x, "row": tnp.ones(2 if "slice" in statement else size)})) == (size > 500)


class Writer:
    """An index whose code gives the array another content."""

    def __init__(self, array):
        self.array = array

    def __index__(self):
        self.array[...] = 7.0
        self.array._rebind(numpy.full(6, 3.0))
        gc.collect()
        return 1


def test_an_index_may_change_the_array():
    x = tnp.arange(6.0)
    part = x[Writer(x) :]
    part += 1.0
    assert x.tolist() in ([3.0] + [4.0] * 5, [3.0] * 6)
    x = tnp.arange(6.0)
    x[Writer(x) : 3] = 9.0
    assert len(x) == 6
    assert set(x.tolist()) <= {3.0, 9.0}


def test_errors_say_what_to_do_and_change_nothing():
    x = tnp.arange(3.0)
    with pytest.raises(IndexError, match="index 5"):
        x[5]
    with pytest.raises(mx.MXNetError, match="shape"):
        x + tnp.arange(4.0)
    with pytest.raises(mx.MXNetError):
        x.astype("int64").__itruediv__(2)
    with pytest.raises(TypeError):
        x.__setitem__(1)
    with pytest.raises(TypeError):
        ndarray.__add__(5, 6)
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_warnings_that_are_errors_write_once():
    x = tnp.array([1e308, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            x += 1.7e308
    assert x.tolist()[1] == 1.7e308
    assert x.tolist()[0] == numpy.inf


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_an_exception_of_a_signal_handler_ends_an_operation(monkeypatch):
    def handler(*_):
        raise ValueError("mine")

    before = signal.signal(signal.SIGUSR1, handler)
    monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: signal.raise_signal(signal.SIGUSR1))
    try:
        x = tnp.array([1e308])
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: signal.raise_signal(signal.SIGUSR1))
            with pytest.raises(ValueError, match=r"^mine$"):
                x * 10.0
    finally:
        signal.signal(signal.SIGUSR1, before)


# ------------------------------------------------------------------------------------------------------- references


def test_references_are_given_back():
    A, x, s, total = tnp.arange(16.0).reshape(4, 4) * 1.0, tnp.arange(4.0), numpy.float64(2.0), tnp.arange(4.0).sum()
    key, other = (1, slice(None, 3)), object()
    bad = tnp.arange(3.0)

    def step():
        for statement in (
            lambda: A[key],
            lambda: A[key] + 1.0,
            lambda: A[1, 2] * x,
            lambda: s * x,
            lambda: total - s,
            lambda: A @ x,
            lambda: A[:, 1] @ x,
            lambda: A.__setitem__(key, 2.0),
            lambda: A.__setitem__((0, 1), total),
            lambda: x.__iadd__(x),
            lambda: x.__iadd__(other),
            lambda: x + other,
            lambda: x + bad,
            lambda: x == None,  # noqa: E711
            lambda: x[9],
            lambda: A[1, 2, 3],
            lambda: tnp.exp(x),
            lambda: tnp.sqrt(s),
            lambda: tnp.maximum(0.0, A[key]),
            lambda: tnp.maximum(x, bad),
            lambda: A[1].copy(),
            lambda: len(A),
            lambda: -A[1:],
            lambda: A.__setitem__((7, 7), 1.0),
        ):
            with contextlib.suppress(Exception):
                statement()

    watched = [None, ndarray, ndarrayElement, numpy.ndarray, A, x, s, total, key, other, bad, numpy.dtype("float64"), numpy.multiply, 2]
    watched += [A._held, x._held, tnp.exp, numpy.exp, False, True]

    for _ in range(3):
        step()
    gc.collect()
    before, kinds = [sys.getrefcount(v) for v in watched], Counter(map(type, gc.get_objects()))
    for _ in range(100):
        step()
    gc.collect()
    after, later = [sys.getrefcount(v) for v in watched], Counter(map(type, gc.get_objects()))
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 50, [*zip(watched, before, after, strict=True)]
    assert (later - kinds)[ndarray] == 0

"""Methods of small arrays in machine code: when they are in place, and what else may happen beside them."""

import contextlib
import gc
import inspect
import operator
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections import Counter

import numpy
import pytest

import twofold as mx
from twofold import autograd
from twofold import np as tnp
from twofold.numpy import machine_code
from twofold.numpy.array import ndarray, ndarrayElement
from twofold.numpy.machine_code import MachineCode
from twofold.scheduler import observers

from tests.machine_code import METHODS

pytestmark = pytest.mark.usefixtures("code")

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
    "np.sqrt(2.0)",
    "x[k]",
    "A[A > 2.0]",
    "A[1][k[1:]]",
    "x[i:]",
    "A[:-i, i]",
    "A.T",
    "x.dot(A[:, 1])",
    "A.dot(x)",
    "x[1:].T",
    "A.reshape(2, 8)",
    "A[1:].reshape((3, 2, 2))",
    "A.ravel()",
    "A.astype('float32')",
    "A[:, 1].astype(int)",
    "(A.shape, A[1].size, x.dtype, A.ndim)",
]


def frames_of(statement, names):
    """The functions of Python that a statement enters when it runs for the second time."""
    compiled = compile(statement, "statement", "eval")
    eval(compiled, names)
    frames = []
    gc.disable()  # others' callbacks
    sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        eval(compiled, names)
    finally:
        sys.setprofile(None)
        gc.enable()
    return frames[1:]


@pytest.mark.parametrize("statement", FAST)
def test_no_frame_of_python_is_entered(statement):
    A, x = tnp.arange(16.0).reshape(4, 4) * 1.0, tnp.arange(4.0) + 1.0
    names = {"A": A, "x": x, "v": x[:], "k": tnp.array([2, 0]), "i": numpy.int64(1), "s": numpy.float64(2.0), "total": x.sum(), "np": tnp}
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
    assert not isinstance(vars(ndarray)["__getitem__"], METHODS)
    x + x, x[1], x - x
    assert isinstance(vars(ndarray)["__getitem__"], METHODS)
    assert isinstance(vars(ndarrayElement)["__add__"], METHODS)
    assert isinstance(vars(type(tnp.exp))["__call__"], METHODS)
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
    # not ``x[k]``: CPython keeps the function that such code calls, and does not look again in a class changed a thousand times
    assert [float(operator.getitem(x, k) + 1.0) for k in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert {name: vars(ndarray)[name] for name in functions} == functions
    observers._places.remove(fresh)


def test_a_ufunc_that_is_made_later_has_the_method():
    assert isinstance(vars(type(tnp.nextafter))["__call__"], METHODS)
    assert tnp.nextafter(tnp.array([1.0]), 2.0).tolist() == [numpy.nextafter(1.0, 2.0)]


def test_the_profiler_sees_operations(tmp_path):
    mx.profiler.set_config(profile_imperative=True, aggregate_stats=True, filename=str(tmp_path / "trace.json"))
    x = tnp.arange(4.0)
    mx.profiler.set_state("run")
    x + x
    mx.profiler.set_state("stop")
    x + x
    assert "add" in mx.profiler.dumps(reset=True)
    assert isinstance(vars(ndarray)["__add__"], METHODS)


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
    "statement", ["x[0].__iadd__(1.0)", "x.__setitem__(0, 2.0)", "x.__setitem__((0, slice(None)), row)", "x[0].__imul__(row)"]
)
@pytest.mark.parametrize("size", [500, 501])
def test_a_write_during_which_other_threads_may_run_is_the_functions(statement, size):
    # threads that copy the content of the array look for such writes in the frames of others (`concurrent_writes`)
    x = tnp.zeros((2, size))
    assert bool(frames_of(statement, {"x": x, "row": tnp.ones(size)})) == (size > 500)


class Writer:
    """An index whose code gives the array another content."""

    def __init__(self, array):
        self.array = array

    def __index__(self):
        self.array._rebind(numpy.full(6, 3.0))
        return 1


def test_an_index_whose_code_changes_the_array_is_the_functions(code):
    x = tnp.arange(6.0)
    code.timed()
    x[Writer(x) : 3] = 9.0
    wanted = x.tolist()
    code.plain()
    x = tnp.arange(6.0)
    x[Writer(x) : 3] = 9.0
    assert x.tolist() == wanted


@pytest.mark.parametrize("value", [lambda: tnp.array([1 + 1j] * 4), lambda: numpy.complex128(1 + 1j)], ids=["array", "scalar"])
def test_a_write_that_warns_first_is_not_lost(monkeypatch, value):
    x = tnp.zeros((2, 4))
    w = tnp.ones((2, 4))
    w.attach_grad()

    def other():
        with autograd.record():
            (w * x).sum()
        x[0, 0] = 7.0

    def shows(*_, **__):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.5)

    monkeypatch.setattr(warnings, "showwarning", shows)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", shows)
        x[1] = value()
    assert x.tolist()[1] == [1.0] * 4


def test_a_view_that_the_collector_of_garbage_outdates_knows_it():
    x = tnp.arange(6.0)

    def changes(phase, _):
        if phase == "start":
            x._rebind(numpy.full(6, 3.0))

    thresholds = gc.get_threshold()
    gc.callbacks.append(changes)
    gc.set_threshold(1)
    try:
        v = x[1:4]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(changes)
    v[0] = 99.0
    assert x.tolist()[1] == 99.0


def test_a_copy_of_a_large_array_waits_as_the_array_does():
    x = tnp.arange(100_000.0)
    assert not isinstance(x.copy()._held, numpy.ndarray)
    assert isinstance(tnp.arange(10.0).copy()._held, numpy.ndarray)


def test_what_a_program_has_put_in_place_stays(code, monkeypatch):
    def mine(*_):
        return "mine"

    code.timed()
    with monkeypatch.context() as patch:
        patch.setattr(machine_code, "CALLS", 2)
        patch.setattr(ndarray, "__add__", vars(ndarray)["__add__"])  # to be put back
        patch.setattr(ndarray, "__mod__", mine)
        fresh = MachineCode(code._make)
        fresh._attached[ndarray, "__mod__"] = code._attached[ndarray, "__mod__"]
        fresh.count()
        ndarray.__add__ = mine
        patch.setattr(type(tnp.exp), "__call__", mine)
        x = tnp.arange(4.0)
        for _ in range(4):
            x[0]
        assert isinstance(vars(ndarray)["__sub__"], METHODS)
        assert (x % 2, x + 2, tnp.exp(x)) == ("mine",) * 3
        fresh.timed()
        fresh.plain()
        assert (x % 2, x + 2, tnp.exp(x)) == ("mine",) * 3
        observers._places.remove(fresh)
        fresh.timed()


def test_ufuncs_of_a_program_are_its_own(code):
    class Mine(type(tnp.exp).__base__):
        def __call__(self, *_):
            return "mine"

    code.timed()
    code.plain()
    assert Mine(numpy.exp)(1.0) == "mine"


def test_bad_calls_raise():
    x = tnp.arange(4.0)
    with pytest.raises(TypeError):
        x.__array_ufunc__(numpy.add, 2**60, numpy.float64(1), x)
    with pytest.raises(AttributeError):
        type(tnp.exp).__new__(type(tnp.exp))(x)
    with pytest.raises(TypeError, match=r"3 were given|4 were given|expected 2 arguments, got 3"):
        x.__setitem__(1, 2, 3)


@pytest.mark.parametrize("error", [ValueError, SyntaxError, MemoryError])
def test_a_compiler_that_cannot_be_loaded_leaves_the_functions(code, error):
    def broken(_):
        raise error("broken")

    code.timed()
    functions = dict(vars(ndarray))
    fresh = MachineCode(broken)
    fresh.count()
    fresh.install()
    assert {name: vars(ndarray)[name] for name in functions} == functions
    observers._places.remove(fresh)


def test_methods_have_the_signatures_of_the_functions():
    assert list(inspect.signature(ndarray.__add__).parameters) == ["self", "value"]  # like those of built-in classes
    assert "axis" in inspect.signature(ndarray.sum).parameters
    assert "out" in inspect.signature(tnp.exp).parameters
    assert ndarray.sum.__doc__
    assert list(inspect.signature(ndarray.astype).parameters)[:2] == ["self", "dtype"]
    assert ndarray.T.__doc__
    assert ndarray.size.__doc__


AT_EXIT = """
import codecs
from twofold import np
from twofold.numpy.machine_code import MACHINE_CODE
MACHINE_CODE.install()

class Late:
    def __init__(self):
        self.x = np.arange(4.0)

    def __del__(self, range=range, errors=BaseException):
        x = self.x
        kept = [k + 0.5 for k in range(200_000)]
        for _ in range(3):
            try:
                -x; x + 1.0; x * x; x[1:]; x[1]; x.size; x.T; x.reshape(2, 2); x.astype(int)
            except errors:
                pass
            try:
                x**3
            except errors:
                pass

def handler(error):
    return "", 0

handler.late = Late()
codecs.register_error("late", handler)
print("ends")
"""


def test_an_array_may_outlive_the_modules():
    environment = {**os.environ, "TWOFOLD_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", AT_EXIT], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


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


def test_elements_of_large_arrays_are_written_without_a_frame():
    x = tnp.zeros(100_000)
    x[0] = 1.0
    names = {"x": x, "A": x.reshape(250, 400), "v": tnp.ones(5)}
    for statement in ["x.__setitem__(3, 2.0)", "x.__setitem__(slice(5, 10), v)", "A[1].__setitem__(2, 3.0)", "A[2, 5:10].__iadd__(v)"]:
        assert frames_of(statement, names) == []
    want = numpy.zeros(100_000)
    want[[0, 3, 402]], want[5:10], want[805:810] = (1, 2, 3), 1, 2
    assert (x.asnumpy() == want).all()


def test_what_others_read_of_a_large_array_is_not_written():
    x = tnp.arange(100_000.0)
    x[0] = 1.0
    copied, waiting, shown = x.copy(), x * 2.0, x[:4]
    x[1] = 50.0
    x[2:4] += 1.0
    assert (shown.tolist(), copied[:4].tolist(), waiting[:4].tolist()) == ([1, 50, 3, 4], [1, 1, 2, 3], [2, 2, 4, 6])
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    before = x[:4].tolist()
    x[1] = 7.0  # the tape has saved the elements before
    y.backward()
    assert x.grad[:4].tolist() == [2 * v for v in before]
    exported = tnp.arange(100_000.0)
    memory = numpy.from_dlpack(exported)
    exported[1] = 9.0
    assert memory[1] == 9


def test_arrays_that_are_made_without_axes_are_changed_and_results_are_not():
    made, total = tnp.zeros(()), tnp.ones(200_000).sum()
    names = {"made": made, "total": total, "x": tnp.ones(3)}
    assert frames_of("made.__iadd__(x.sum())", names) == []
    before = made.item()
    for first in (made.copy(), made.astype("float32"), tnp.array(made), made):
        same = first
        same += 1
        assert (first, same) == (before + 1, before + 1)
    for first in (total, total.copy(), made.sum()):
        kept, number = first, first.item()
        first += 1
        assert (kept, first) == (number, number + 1)

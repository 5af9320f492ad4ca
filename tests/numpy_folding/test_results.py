"""Results of operations on folding arrays are NumPy's bit by bit, in dtype, layout and scalars."""

import json
import operator
import sys
import warnings
from importlib.util import find_spec

import numpy as real
import pytest

from twofold.config import SETTINGS
from twofold.numpy_folding import rules, sites
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np
from twofold.numpy_folding.rules import COMPILED as UFUNCS
from twofold.numpy_folding.rules import FOLDABLE

#: The function itself: the tests' fixture replaces it.
HAS_MACHINE_CODE = sites.has_machine_code
N = 70_000
DTYPES = sorted(FOLDABLE, key=str)
NUMBERS = (2, -3, 0.5, True, 1e300, 2**40, real.float32(0.1), real.float64(0.1), real.int16(7), real.array([1.5]))


def sample(dtype):
    """Every kind of element: zeros of both signs, infinities, NaN, the extremes of integers."""
    random = real.random.default_rng(1)
    if dtype.kind == "f":
        x = (random.standard_normal(N) * 10).astype(dtype)
        x[:12] = [0.0, -0.0, real.inf, -real.inf, real.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e-40]
        return x
    if dtype.kind == "b":
        return random.integers(0, 2, N).astype(dtype)
    limits = real.iinfo(dtype)
    x = random.integers(limits.min, limits.max, N, dtype=dtype, endpoint=True)
    x[:4] = [0, 1, limits.min, limits.max]
    return x


def folding(x):
    found = np.array(x)
    assert type(found) is FoldingArray
    return found


def outcome(function, *operands):
    """What a function gives, or the class and text of its error."""
    with real.errstate(all="ignore"):
        try:
            found = function(*operands)
        except Exception as error:
            return type(error), str(error)
        found = real.asarray(found)
        return found.dtype, found.shape, found.strides, found.tobytes()


def twice(function, *operands):
    """A function and another operation after it, so that both are pending in one window."""
    found = function(*operands)
    return real.where(found != 0, found, 0)


def chained(function):
    return lambda *operands: twice(function, *operands)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("chain", [False, True], ids=["alone", "in a chain"])
def test_unary_functions(dtype, chain):
    x = sample(dtype)
    for ufunc in UFUNCS:
        if ufunc.nin == 1:
            function = chained(ufunc) if chain else ufunc
            for _ in range(3):  # from the second time on a window is machine code
                assert outcome(function, folding(x)) == outcome(function, x), ufunc


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_binary_functions_of_two_arrays(dtype):
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    for other in {dtype, real.dtype("float64"), real.dtype("int32")}:
        z = sample(other)[::-1].copy()
        for ufunc in UFUNCS:
            if ufunc.nin == 2:
                assert outcome(ufunc, folding(x), folding(z)) == outcome(ufunc, x, z), (ufunc, other)
                assert outcome(chained(ufunc), folding(x), folding(y)) == outcome(chained(ufunc), x, y), ufunc


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_binary_functions_of_an_array_and_a_number(dtype):
    x = sample(dtype)
    for ufunc in UFUNCS:
        if ufunc.nin == 2:
            for number in NUMBERS:
                assert outcome(ufunc, folding(x), number) == outcome(ufunc, x, number), (ufunc, number)
                assert outcome(chained(ufunc), number, folding(x)) == outcome(chained(ufunc), number, x), (ufunc, number)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operators(dtype):
    x = sample(dtype)
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "lt", "le", "eq", "ne")
    for name in names:
        function = getattr(operator, name)
        for number in (2, 0.5, -1, 3):
            assert outcome(function, folding(x), number) == outcome(function, x, number), (name, number)
            if name != "pow":
                assert outcome(function, number, folding(x)) == outcome(function, number, x), (name, number)
        assert outcome(function, folding(x), folding(x)) == outcome(function, x, x), name
    for name in ("iadd", "isub", "imul", "itruediv", "iand", "ipow"):
        function = getattr(operator, name)
        for number in (2, 0.5):
            assert outcome(function, folding(x), number) == outcome(function, x.copy(), number), (name, number)
        assert outcome(function, folding(x), folding(x) * 1) == outcome(function, x.copy(), x * 1), name


def test_selections_and_casts():
    x, mask = sample(real.dtype("float64")), sample(real.dtype("bool"))
    for dtype in DTYPES:
        y = sample(dtype)
        assert outcome(real.where, folding(mask), folding(x), folding(y)) == outcome(real.where, mask, x, y)
        assert outcome(real.where, folding(mask), folding(y), 3) == outcome(real.where, mask, y, 3)
        assert outcome(real.clip, folding(y), 1, 3) == outcome(real.clip, y, 1, 3)
        assert outcome(lambda a: (a + a).clip(0, 1), folding(x)) == outcome(lambda a: (a + a).clip(0, 1), x)
        for target in ("float32", "float64", "int8", "complex128"):
            if dtype.kind != "f" or target[0] in "fc":
                assert outcome(lambda a, t=target: a.astype(t), folding(y)) == outcome(lambda a, t=target: a.astype(t), y)


LAYOUTS = {
    "transposed": lambda x: x.reshape(250, 280).T,
    "every second": lambda x: x.reshape(2, 250, 140)[:, ::2].repeat(2, axis=1),
    "reversed": lambda x: x[::-1],
    "columns": lambda x: x.reshape(100, 700)[:, 5:-3],
    "middle axis first": lambda x: x.reshape(10, 100, 70).transpose(1, 0, 2),
    "broadcast": lambda x: real.broadcast_to(x, (2, N)),
    "a row and a column": lambda x: x.reshape(250, 280)[:, :1] + x.reshape(250, 280)[:1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_results(layout):
    x = sample(real.dtype("float64"))

    def function(a):
        b = LAYOUTS[layout](a)
        return (b * 2 + b) * 0.5

    with real.errstate(all="ignore"):
        found, expected = function(folding(x)), function(x)
        assert found.strides == expected.strides
        assert real.asarray(found).tobytes() == expected.tobytes()
        assert found.sum(axis=0).tobytes() == expected.sum(axis=0).tobytes()


REDUCTIONS = [
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "argmin",
    "argmax",
    "any",
    "all",
    "cumsum",
    "cumprod",
    "ptp",
    "median",
    "nansum",
    "count_nonzero",
]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_numpys(name):
    x = real.random.default_rng(0).random((250, 280)) * 0.01 + 0.5
    function = getattr(real, name)
    for axis in (None, 0, 1):
        for make in (lambda a: a, lambda a: a * 2.0, lambda a: a * 2.0 - 0.3, lambda a: a.T):
            expected = function(make(x), axis=axis)
            found = function(make(folding(x)), axis=axis)
            assert type(found) is type(expected) or type(found) is FoldingArray
            assert real.asarray(found).tobytes() == real.asarray(expected).tobytes()


def test_elements_are_numpys_scalars():
    x = folding(real.arange(float(N)))
    assert type(x[3]) is real.float64
    assert isinstance(x[3], float)
    assert json.dumps([x[1], x.max().item(), float(x.sum())]) == f"[1.0, {N - 1.0}, {N * (N - 1) / 2}]"
    assert hash(x[3]) == hash(3.0)
    assert type((x > 2)[3]) is real.bool_
    assert {x[2]: 1}[2.0] == 1
    assert [type(v) for v in x[:2].tolist()] == [float, float]
    assert f"{x[1]:.2f}" == "1.00"


def test_printing_is_numpys():
    x = real.random.default_rng(0).random((300, 300))
    f = folding(x)
    assert repr(f) == repr(x)
    assert str(f) == str(x)
    with real.printoptions(precision=2, threshold=5, edgeitems=1):
        assert repr(f) == repr(x)
    assert str(type(f)) == str(type(x))


def test_an_array_is_no_key_and_has_no_truth():
    x = folding(real.zeros(N))
    with pytest.raises(TypeError, match="unhashable type"):
        hash(x)
    with pytest.raises(ValueError, match="truth value of an array"):
        bool(x)


def test_it_is_an_ndarray_as_far_as_a_program_can_ask():
    x = folding(real.zeros(N))
    assert isinstance(x, real.ndarray)
    assert isinstance(x, np.ndarray)
    assert x.__class__ is real.ndarray
    assert type(x) == real.ndarray  # noqa: E721
    assert real.isscalar(x) is False
    assert type(type(x)((2, 3))) is real.ndarray
    assert callable(x.sum)
    assert dir(x) == dir(real.ndarray)
    assert set(dir(real.ndarray)) - set(dir(type(x))) <= {"__array_finalize__", "__class_getitem__", "__setstate__"}
    assert real.shares_memory(x.__array_wrap__(x), x)
    assert sys.getsizeof(x) == sys.getsizeof(real.zeros(N))


@pytest.mark.parametrize(
    "text",
    ["x / 0", "x / x", "np.sqrt(x - 1)", "np.log(x)", "1 / x", "x // 0.0", "(x + 1) / (x * 0)", "np.divide(x, x, out=x)"],
)
def test_warnings_are_numpys_at_the_line_of_the_operation(text):
    def seen(x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            real.asarray(eval(compile(text, "script.py", "eval"), {"np": real, "x": x, "__name__": "script"}))
        return [(w.category, str(w.message), w.filename, w.lineno) for w in found]

    x = real.arange(float(N))
    expected = seen(x.copy())
    found = seen(folding(x))
    if "1e308" in text:  # numbers that overflow in the middle of a chain: see the page on folding arrays
        expected, found = expected[:1], found[:1]
    assert expected
    assert found == expected


def test_the_error_state_is_the_programs():
    x = folding(real.arange(float(N)))
    with real.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        x / 0
    with real.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in multiply"):
        x * 1e308
    calls = []
    with real.errstate(all="call", call=lambda kind, flag: calls.append((kind, flag))):
        real.log(x)
    assert calls == [("divide by zero", 1)]


def test_errors_are_numpys():
    x = folding(real.arange(float(N)))
    y = real.arange(float(N))
    for function in (
        lambda a: a + real.zeros(3), lambda a: a[N], lambda a: a.reshape(3, 7), lambda a: a @ real.zeros(4), lambda a: a & 1, lambda a: ~a,
        lambda a: a[1.5], lambda a: a.astype("nothing"), lambda a: real.sum(a, axis=3), lambda a: a + object(), lambda a: a < "text",
        lambda a: operator.iadd(a, 1j), lambda a: a.__setitem__(slice(0, 3), [1, 2]),
        lambda a: pow(a, 2, 3),
    ):  # fmt: skip
        assert outcome(function, x) == outcome(function, y)


def test_chains_are_computed_step_by_step_until_their_site_has_computed_enough(monkeypatch):
    monkeypatch.setattr(sites, "HOT", 3 * N)
    x, before = folding(real.zeros(N)), dict(sites.PATHS)
    for k in range(5):
        y = x * 2.0 + k
        assert y[0] == k
    assert sites.PATHS["blocks"] - before["blocks"] == 2
    assert sites.PATHS["program"] - before["program"] == 3


@pytest.mark.parametrize("jit", [False, True])
def test_chains_stay_in_blocks_without_machine_code(monkeypatch, jit):
    monkeypatch.setattr(sites, "has_machine_code", HAS_MACHINE_CODE)
    monkeypatch.setattr(SETTINGS, "jit", jit)
    x, before = folding(real.zeros(N)), dict(sites.PATHS)
    for k in range(5):
        y = x * 2.0 + k
        assert y[0] == k
    compiled = 5 if jit and find_spec("llvmlite") else 0
    assert sites.PATHS["program"] - before["program"] == compiled
    assert sites.PATHS["blocks"] - before["blocks"] == 5 - compiled


def test_a_site_whose_results_are_read_at_once_stops_waiting(monkeypatch):
    monkeypatch.setattr(sites, "ALONE", 3)
    x, pending = folding(real.zeros(N)), []
    for _ in range(6):
        y = x + 1.0
        pending.append(y.array is None)
        assert y[0] == 1.0
    assert pending == [True, True, True, False, False, False]
    assert type(y) is FoldingArray


def test_a_site_whose_results_are_never_part_of_a_chain_gives_numpys_arrays(monkeypatch):
    monkeypatch.setattr(sites, "RETIRED", 6 * N)
    x, kinds = folding(real.zeros(N)), []
    for _ in range(12):
        y = x + 1.0
        assert y[0] == 1.0
        kinds.append(type(y))
    assert kinds == [FoldingArray] * 5 + [real.ndarray] * 7
    for _ in range(12):
        z = x * 2.0 + 1.0
        assert z[0] == 1.0
        assert type(z) is FoldingArray


def test_a_chain_by_steps_leaves_its_operands_alone(monkeypatch):
    monkeypatch.setattr(sites, "HOT", 1 << 60)
    x = folding(real.arange(float(N)))
    y = x * 2.0
    z = (y + 1.0) * y - x
    assert real.array_equal(real.asarray(z), (real.arange(float(N)) * 2 + 1) * real.arange(float(N)) * 2 - real.arange(float(N)))
    assert y[3] == 6.0
    assert x[3] == 3.0


def test_numpys_scalars_are_held_when_arrays_of_one_element_fold(monkeypatch):
    monkeypatch.setattr(rules.SETTINGS, "fold_elements", 1)
    typed = rules.TypedRules()
    one = (real.dtype("float64"),)
    assert typed[(real.add, ((3,), *one), ((), *one))].holds
    assert not typed[(real.add, ((3,), *one), ((3,), *one))].holds


@pytest.mark.parametrize(
    "exponent", [-3, -1, -0.5, 0, 0.0, 0.5, 1, 1.0, 1.5, 2, 2.0, 3, 3.0, 7.25, True, 1e300, real.float64(3.0), "array"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_powers_have_numpys_bits_and_fold_where_they_can(dtype, exponent):
    x = sample(real.dtype(dtype))
    y = real.abs(real.nan_to_num(x, posinf=3)) % 3 if exponent == "array" else exponent
    assert outcome(operator.pow, folding(x), folding(y) if exponent == "array" else y) == outcome(operator.pow, x, y)
    if dtype == "float64" and type(exponent) in (int, float) and exponent != 1:
        sites.SITES.clear()
        with real.errstate(all="ignore"):
            folding(x) ** exponent
        assert sum(where.folded for where in sites.SITES.values()) == 1

"""Operands of which NumPy makes no array of numbers, or which it leaves to their own class: the results are NumPy's."""

import datetime
import operator
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

from twofold import autograd, np

from tests.statements import frames_of

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
DAY = numpy.timedelta64(1, "D")
MATRIX = numpy.array([[1.0, 2.0], [3.0, 4.0]]).view(numpy.matrix)  # the constructor warns


class Squares:
    """An object whose ``__array__`` gives an array of the namespace that it is made with."""

    def __init__(self, xp):
        self.xp = xp

    def __array__(self, dtype=None, copy=None):
        return self.xp.array([1.0, 4.0])


class Wrapped(NDArrayOperatorsMixin):
    """An array in an object that leaves its operators to ``__array_ufunc__``."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return getattr(ufunc, method)(*[x.value if isinstance(x, Wrapped) else x for x in inputs], **options)


class Named:
    """An object that says which of NumPy's functions was called with it."""

    def __array__(self, dtype=None, copy=None):
        return numpy.ones(2)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return f"{ufunc.__name__} {method} {len(inputs)} {sorted(options) if method == '__call__' else ''}"

    def __array_function__(self, function, types, args, options):
        return function.__name__


NAMES = {
    "numpy": numpy, "datetime": datetime, "Decimal": Decimal, "DAY": DAY, "MATRIX": MATRIX, "Squares": Squares, "Named": Named,
    "Wrapped": Wrapped,
}  # fmt: skip
DATES = [
    "np.arange(3) * DAY",
    "DAY * np.arange(3)",
    "numpy.datetime64('2024-02-28') + np.arange(3)",
    "np.arange(3) + numpy.datetime64('2024-02-28')",
    "np.arange(3) * numpy.array([1, 2, 3], 'm8[s]')",
    "numpy.array([4, 6], 'm8[s]') / np.array([2, 4])",
    "np.multiply(np.arange(3), DAY)",
    "np.arange(3).sum() * DAY",
    "DAY / np.arange(4).sum()",
    "np.arange(3) == DAY",
    "np.arange(3) < DAY",
    "np.arange(3) * datetime.timedelta(days=2)",
    "datetime.timedelta(days=2) * np.arange(3)",
]
OBJECTS = [
    "np.arange(3) * numpy.array([1, 2, 3], object)",
    "np.arange(3) + Decimal(2)",
    "Decimal(2) * np.arange(3)",
    "np.arange(3) + range(3)",
    "np.arange(2) + Squares(np)",
    "np.arange(2) * Squares(numpy)",
    "np.add(np.arange(2), Squares(np))",
    "np.asarray(Squares(np))",
    "np.array(Squares(np), dtype='float32')",
    "np.array([Squares(np), Squares(np)])",
    "np.sum(Squares(np))",
    "np.linalg.norm(Squares(np))",
    "np.arange(2).dot(Squares(np))",
    "np.arange(2) + Named()",
    "np.add(np.arange(2), Named())",
    "np.sqrt(Named())",
    "np.multiply.outer(np.arange(2), Named())",
    "divmod(np.arange(2), Named())",
    "np.add.reduce(Named())",
    "np.sum(Named())",
    "np.concatenate([Named(), Named()])",
    "np.arange(2) * Wrapped(np.ones(2))",
    "np.arange(2) @ Wrapped(np.ones(2))",
    "Wrapped(np.ones(2)) @ np.arange(2)",
    "np.matmul(np.arange(2), Wrapped(np.ones(2)))",
    "'ab' * np.arange(3).sum()",
]
MATRICES = [
    "x * MATRIX",
    "MATRIX * x",
    "x @ MATRIX",
    "x - MATRIX",
    "x == MATRIX",
    "np.multiply(x, MATRIX)",
    "np.concatenate([x, MATRIX])",
    "x.dot(MATRIX)",
    "np.add.reduce(MATRIX)",
]
TABLES = ["np.exp(s)", "np.maximum(s, 2)", "np.add(x[0], s)", "x[0] + s", "np.round(s)", "np.mean(s.to_frame(), axis=0)", "x[0].dot(s)"]


def found_and_wanted(program, **names):
    """The results of a program with ``twofold.np`` and with NumPy, as type, dtype and elements."""

    def result(xp):
        value = eval(program, NAMES | names | {"np": xp, "x": xp.array([[1.0, 2.0], [3.0, 5.0]])})
        kind = "array" if isinstance(value, (np.ndarray, numpy.generic)) or type(value) is numpy.ndarray else type(value)
        return kind, getattr(value, "dtype", None), value.tolist() if hasattr(value, "tolist") else str(value)

    return result(np), result(numpy)


@pytest.mark.parametrize("program", DATES + OBJECTS + MATRICES)
def test_results_are_numpys(program):
    found, wanted = found_and_wanted(program)
    assert found == wanted


@pytest.mark.parametrize("program", TABLES)
def test_results_of_pandas_keep_their_index(program):
    pandas = pytest.importorskip("pandas")
    s = pandas.Series([1.5, 2.0], index=[1, 0])
    found, wanted = found_and_wanted(program, s=s)
    assert found == wanted


@pytest.mark.parametrize("other", [Fraction(1, 2), Decimal(1), datetime.timedelta(1), object()])
@pytest.mark.parametrize("way", [operator.iadd, operator.imul])
def test_what_cannot_be_written_in_place_raises_and_changes_nothing(way, other):
    for dtype in ("int64", "float64"):
        x = np.arange(3).astype(dtype)
        for part in (x, x[1:]):
            with pytest.raises(TypeError):
                way(part, other)
        assert x.tolist() == [0, 1, 2]


def test_an_operand_that_nobody_knows_is_refused():
    class Unknown:
        __array_ufunc__ = None

    for way in (operator.add, operator.iadd, operator.or_):
        with pytest.raises(TypeError, match="unsupported operand"):
            way(np.arange(3), Unknown())


def test_a_matrix_is_an_array_where_it_is_added_in_place():
    x = np.ones((2, 2))
    x *= MATRIX
    assert type(x) is np.ndarray
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_gradients_flow_to_the_other_operand_of_an_object_with_its_own_ufuncs():
    x = np.array([2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = np.multiply(x, Named())
    y.backward()
    assert x.grad.tolist() == [1.0, 1.0]


SMALL = [
    "np.exp(n)",
    "np.sum(n)",
    "np.maximum(n, 0)",
    "np.add(n, v)",
    "np.add(v, n)",
    "n + v",
    "v * n",
    "v - n",
    "v > n",
    "np.where(v > 4, n, v)",
]
SMALL += [
    "np.array(n)",
    "np.asarray(n, 'float32')",
    "np.concatenate([n, v])",
    "np.sort(n)",
    "np.clip(n, 1, 2)",
    "np.argmax(n)",
    "v @ n",
    "n / v",
]
#: Those that enter at most four functions of Python.
SHORTEST = ["np.dot(n, n)", "np.dot(v, n)", "np.dot(n, v[:3])", "np.dot(n, v)", "n @ v", "np.linalg.norm(n)"]


@pytest.mark.parametrize("program", SMALL + SHORTEST)
def test_small_arrays_of_numpys_take_short_ways(program):
    n = numpy.array([3.0, 1.0, 2.0])
    names = {"np": np, "n": n, "v": np.array([4.0, 5.0, 6.0])}
    found, frames = eval(program, names), frames_of(program, names)
    wanted = eval(program, {"np": numpy, "n": n, "v": numpy.array([4.0, 5.0, 6.0])})
    assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
    assert not isinstance(found, numpy.ndarray)
    assert frames <= (4 if program in SHORTEST else 12)


@pytest.mark.parametrize(
    "program", ["np.array(n)", "np.asarray(n)", "np.positive(n)", "np.real(n)", "np.atleast_1d(n)", "np.squeeze(n)", "np.maximum(n, n)"]
)
def test_results_do_not_share_the_memory_of_numpys_arrays(program):
    n = numpy.arange(3.0)
    found = eval(program, {"np": np, "n": n})
    found[0] = 9
    assert n.tolist() == [0.0, 1.0, 2.0]
    n[1] = 7
    assert found.tolist() == [9.0, 1.0, 2.0]


def test_arrays_of_numpys_are_constants_while_recording():
    x, n = np.array([1.0, 2.0]), numpy.array([3.0, 4.0])
    x.attach_grad()
    with autograd.record():
        y = x * n + np.exp(n) * x
    y.backward()
    assert x.grad.tolist() == (n + numpy.exp(n)).tolist()


@pytest.mark.parametrize("number", [300, -1])
@pytest.mark.parametrize("x", [numpy.array([250], "uint8"), numpy.uint8(250)], ids=["array", "scalar"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "remainder", "maximum", "bitwise_and"])
def test_integers_out_of_range_of_numpys_operands_raise(name, x, number):
    for module in (numpy, np):
        for pair in ((x, number), (number, x)):
            with pytest.raises(OverflowError, match=f"Python integer {number} out of bounds for uint8"):
                getattr(module, name)(*pair)


@pytest.mark.parametrize("number", [300, 2.5, True])
@pytest.mark.parametrize("x", [numpy.array([1.5], "float16"), numpy.float32(1.5)], ids=["array", "scalar"])
@pytest.mark.parametrize("name", ["greater", "hypot", "logical_and", "arctan2"])
def test_numbers_adopt_the_dtype_of_numpys_operands(name, x, number):
    found, wanted = getattr(np, name)(x, number), getattr(numpy, name)(x, number)
    assert found.dtype == wanted.dtype
    numpy.testing.assert_allclose(numpy.asarray(found), wanted, rtol=1e-3)

"""Methods of small arrays in machine code: they do what the functions do that they replace, and leave the rest to these."""

import operator
import warnings

import numpy
import pytest

import twofold as mx
from twofold import np as tnp
from twofold.numpy.array import ndarray, ndarrayElement

from tests.machine_code import METHODS
from tests.statements import frames_of

pytestmark = pytest.mark.usefixtures("code")

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
OF_TWO += [ndarray.dot]
FUNCTIONS_OF_NUMBERS = [tnp.sqrt, tnp.exp, tnp.abs, tnp.log, tnp.isnan, tnp.logical_not, tnp.invert]
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
        elements = repr(found.tolist()) if found.dtype.char in "Og" else found.tobytes()  # no addresses, no padding
        return type(value), str(found.dtype), found.shape, elements, of_view
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


@pytest.mark.parametrize("run", FUNCTIONS_OF_NUMBERS, ids=lambda run: run.__name__)
def test_functions_of_numbers_do_what_the_functions_do(code, run):
    compared(code, [(run, number) for number in (2.0, 0, -1.0, -3, True, 1j, 2**70, float("nan"), None, "a")])
    with mx.cpu(1):
        compared(code, [(run, number) for number in (2.0, 3)])


REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod"]
#: Arguments and options.
WHERE = [((axis,), {}) for axis in (0, -1, 1, None, 5, (0, 1), True, "a")] + [((), {"axis": axis}) for axis in (0, 1, None, (0,), 7)]
WHERE += [((), {}), ((0, "float32"), {}), ((0,), {"axis": 0}), ((), {"keepdims": True}), ((), {"axis": 0, "dtype": "float32"})]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_do_what_the_functions_do(code, name):
    assert isinstance(vars(ndarray)[name], METHODS)
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
KEYS += [slice(numpy.int64(1), None), (slice(None, numpy.int64(-1)), numpy.int64(1)), slice(numpy.int8(1), numpy.int64(9))]
KEYS += [(slice(0, 5, None), slice(Index(), None)), slice("a"), (True, 1)]
#: Arrays as indices and masks, some of which fit.
AT = {
    "indices": lambda: tnp.array([2, 0, -1]),
    "indices of int8": lambda: tnp.array([1, 0]).astype("int8"),
    "matrix of indices": lambda: tnp.array([[0, 1], [2, 2]]),
    "index without axes": lambda: tnp.array(1),
    "part of indices": lambda: tnp.arange(6)[::2],
    "no indices": lambda: tnp.array([], dtype="int64"),
    "too large": lambda: tnp.array([1, 9]),
    "floats": lambda: tnp.array([0.0, 1.0]),
    "many": lambda: tnp.zeros(5000, dtype="int64"),
    "mask of rows": lambda: tnp.array([True, False, True]),
    "mask of four": lambda: tnp.array([True, False, True, True]),
    "mask of the matrix": lambda: tnp.array(MATRIX) > 0,
    "total": lambda: tnp.array([1, 1]).sum(),
    "true": lambda: tnp.array(True),
}


def test_parts_are_what_the_functions_give(code):
    compared(code, [(get, name, key) for get in (operator.getitem, lambda x, k: x[k][k]) for name in OF_US for key in KEYS])


def test_elements_at_arrays_are_what_the_functions_give(code):
    gets = [lambda x, make=make: x[make()] for make in AT.values()]
    compared(code, [(get, name) for get in gets for name in OF_US])


SHAPES = [
    (),
    (-1,),
    (12,),
    (3, 4),
    ((4, 3),),
    ((2, -1, 2),),
    ([6, 2],),
    (5,),
    (-1, -1),
    (0, -1),
    ("a",),
    (1.5,),
    (None,),
    ((),),
    (Index(), -1),
]
SHAPES += [(tnp.array([4, 3]),), (1,) * 7, (1,) * 9, (4,), (2, 2), (tnp.array(4),), (numpy.int64(12),)]


def test_reshaped_arrays_are_what_the_functions_give(code):
    runs = [lambda x, sizes=sizes: x.reshape(*sizes) for sizes in SHAPES]
    runs += [
        lambda x: x.ravel(),
        lambda x: x.ravel("F"),
        lambda x: x.ravel(order="C"),
        lambda x: x.T,
        lambda x: x.T.T[1:],
        lambda x: x.T @ x,
    ]
    runs += [lambda x: x.reshape(3, 4, order="F"), lambda x: x.reshape((4, 3), copy=True), lambda x: x.reshape(-1).reshape(-1).T]
    compared(code, [(run, name) for run in runs for name in OF_US])


def test_what_is_written_to_reshaped_arrays_is_seen_in_all(code):
    def written(x):
        flat, turned = x.ravel(), x.T
        pairs = turned.T.reshape(-1, 2) if x.size % 2 == 0 and x.ndim else x
        flat[:1] = 7.0
        turned += 1.0
        pairs *= 2.0
        x[:1] = 3.0
        return tnp.concatenate([x.ravel(), flat.ravel(), turned.ravel(), pairs.ravel()])

    compared(code, [(written, name) for name in OF_US])


DTYPES = [
    "float64",
    "float32",
    "f2",
    "bfloat16",
    "int8",
    int,
    bool,
    tnp.float32,
    numpy.dtype("uint16"),
    complex,
    object,
    str,
    ">f8",
    "longdouble",
]


def test_casts_are_what_the_functions_give(code):
    runs = [lambda x, dtype=dtype: x.astype(dtype) for dtype in [*DTYPES, "no dtype", None, 3, "M8[s]"]]
    runs += [lambda x: x.astype("int8", casting="safe"), lambda x: x.astype("float64", copy=False), lambda x: x.astype(dtype="int32")]
    runs += [lambda x: (x * numpy.nan).astype("int64"), lambda x: (x * 1e300).astype("float32"), lambda x: x.astype()]
    compared(code, [(run, name) for run in runs for name in OF_US])


def test_what_is_known_of_arrays_is_what_the_functions_give(code):
    runs = [lambda x, name=name: getattr(x, name) for name in ("shape", "size", "ndim", "dtype", "nbytes", "strides")]
    runs += [lambda x: x[1:].shape, lambda x: x[None].size, lambda x: x.T.dtype]
    compared(code, [(run, name) for run in runs for name in OF_US])
    code.plain()
    x = tnp.arange(6.0)
    x.shape = 2, 3
    assert (x.shape, x.size, x.ndim) == ((2, 3), 6, 2)
    with pytest.raises(AttributeError):
        x.size = 3


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


#: Assignments from a part of an array to another part that overlaps, which NumPy is left to do itself; others.
SAFE = ["x[1:] = x[:-1]", "x[:-1] = x[1:]", "x[...] = x[:]", "A[1:] = A[:-1]", "A[:] = A[2]", "A[::-1] = A", "A[...] = A.T", "A.T[:] = A"]
UNSAFE = [
    "x[::2] = x[:5]",
    "x[:3] = x[::3]",
    "x[::-1] = x",
    "A[0] = A[:, 0]",
    "A[1] = A[:, 2]",
    "A[1:, 1:] = A[:-1, :-1]",
    "A[1:3][:] = A[2:]",
]


@pytest.mark.parametrize("text", SAFE + UNSAFE)
def test_parts_are_read_before_they_are_written(text):
    found, wanted = ({"x": xp.arange(9.0), "A": xp.arange(16.0).reshape(4, 4).copy()} for xp in (tnp, numpy))
    frames = frames_of(text, {name: value.copy() for name, value in found.items()})
    exec(text, {}, found)
    exec(f"{text}.copy()", {}, wanted)  # NumPy reads some elements that it has just written
    for name in "xA":
        assert found[name].tolist() == wanted[name].tolist()
    assert text in UNSAFE or frames == 0


LISTS = ["A[1] = [1.5, 2, -1, x[3]]", "A[1:3] = (1, 2, 3, 4)", "x[:2] = 1, -2.5", "A[:, 0] = [numpy.int8(3)] * 4"]
OTHER_LISTS = [
    "A[1] = []",
    "A[1] = [1, 2]",
    "x[:1] = [1j]",
    "x[:1] = [numpy.complex64(1j)]",
    "x[:2] = [2**70, 'a']",
    "x[:2] = [x[1:2], x[:1]]",
]
OTHER_LISTS += ["I[:2] = [1, 2**70]", "I[:2] = [numpy.float32(2.5), -1.5]", "x[:70] = [1.0] * 70", "A[0] = [[1, 2, 3, 4]]"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", LISTS + OTHER_LISTS)
def test_lists_of_numbers_are_written_as_numpy_does(text):
    ended = []
    for xp in (tnp, numpy):
        names = {"x": xp.arange(90.0), "A": xp.arange(16.0).reshape(4, 4), "I": xp.arange(4), "numpy": numpy}
        try:
            exec(text, {}, names)
        except Exception as error:
            ended.append(next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins"))
        ended.append([names[name].tolist() for name in "xAI"])
    assert ended[: len(ended) // 2] == ended[len(ended) // 2 :]
    names = {"x": tnp.arange(9.0), "A": tnp.arange(16.0).reshape(4, 4), "numpy": numpy}
    assert text not in LISTS or frames_of(text, names) == 0

"""What NumPy's own tests have shown: identity of results, classes beside arrays, signatures, odd dtypes, errors."""

import ctypes
import gc
import inspect
import operator
import sys
import weakref
from collections.abc import Sequence

import numpy as np
import pytest

from twofold.numpy_folding import leaving
from twofold.numpy_folding.array import LEAST, FoldingArray
from twofold.numpy_folding.face import numpy as face
from twofold.numpy_folding.guards import UNFOLDED
from twofold.numpy_folding.rewriting import compiled

N = LEAST


def folding():
    x = face.arange(float(N))
    assert type(x) is FoldingArray
    return x


def pending(x):
    y = x + 1.0
    assert type(y) is FoldingArray
    assert y.array is None, "it must wait"
    return y


@pytest.mark.parametrize(
    "write",
    [
        lambda x, out: np.cumsum(x, 0, None, out),
        lambda x, out: x.cumsum(0, None, out),
        lambda x, out: np.clip(x, 1.0, 2.0, out),
        lambda x, out: x.round(0, out),
        lambda x, out: x.round(out=out),
        lambda x, out: np.take(x, np.arange(N), 0, out),
        lambda x, out: x[None].sum(0, None, out),
        lambda x, out: np.concatenate([x], 0, out),
    ],
)
def test_a_positional_target_is_returned_and_written_after_it_was_read(write):
    x, out = folding(), folding()
    later = pending(out)
    assert write(x, out) is out
    assert later[5] == 6.0


class Duck:
    """Computes ufuncs, and is no array."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [x.value if isinstance(x, Duck) else x for x in inputs]
        return Duck(getattr(ufunc, method)(*plain, **options))


def test_a_class_of_the_program_gets_the_folding_array():
    x = folding()
    found = x + Duck(2.0)
    assert type(found) is Duck
    assert type(found.value) is FoldingArray
    assert x.__array_ufunc__(np.add, "__call__", x, Duck(1.0)) is NotImplemented


def test_in_place_with_such_a_class_gives_its_result():
    x = folding()
    x += Duck(2.0)
    assert type(x) is Duck


def test_a_subclass_on_the_right_comes_first():
    class Sub(np.ndarray):
        def __eq__(self, other):
            return "equal"

        def __radd__(self, other):
            return "sum"

        __hash__ = None

    sub = np.arange(float(N)).view(Sub)
    assert (folding() == sub) == "equal"
    assert folding() + sub == "sum"


def test_text_is_unequal_to_numbers():
    x = folding()
    assert not (x == np.array("a")).any()
    assert (x != np.array("a")).all()


def test_an_object_may_make_its_array_in_any_way():
    class Made:
        def __array__(self, dtype=None, copy=None):
            return face.arange(float(N))

    assert np.add(Made(), 1.0)[-1] == N
    assert np.bincount(np.array([1])).size == 2

    kept = folding()

    class Kept:
        def __array__(self, dtype=None, copy=None):
            return kept

    assert face.asarray(Kept()) is kept


def test_dtypes_that_only_look_alike_keep_their_identity():
    annotated = np.dtype("int64", metadata={"unit": "m"})
    other = np.dtype("longlong")
    for dtype in (annotated, other):
        x = face.ones(N, dtype)
        assert np.asarray(x).dtype.metadata == dtype.metadata
        assert (x + x).dtype.char == (np.ones(N, dtype) + np.ones(N, dtype)).dtype.char


def test_small_arrays_are_instances_of_a_large_ones_class():
    assert isinstance(np.ones(3), type(folding()))
    assert not isinstance([1.0], type(folding()))


def test_signatures_are_numpys():
    for name in ("array", "asarray", "zeros", "arange", "full", "linspace", "eye"):
        assert inspect.signature(getattr(face, name)) == inspect.signature(getattr(np, name)), name


def test_the_array_function_protocol_takes_keywords():
    x = folding()
    assert x.__array_function__(func=np.sum, types=(np.ndarray,), args=(x,), kwargs={}) == x.sum()


def test_the_array_namespace_is_the_programs_numpy():
    assert folding().__array_namespace__() is face
    with pytest.raises(ValueError, match="Version"):
        folding().__array_namespace__(api_version="1999.01")


def test_a_pointer_keeps_the_array():
    x = folding()
    alive = weakref.ref(x)
    pointer = x.ctypes.data_as(ctypes.c_void_p)
    del x
    gc.collect()
    assert alive() is not None
    del pointer
    gc.collect()
    assert alive() is None


def test_elements_of_flat_cannot_be_deleted():
    with pytest.raises(TypeError):
        del folding().flat[0]


def test_an_integer_beyond_double_precision_raises_at_once():
    with pytest.raises(OverflowError):
        folding() + 10**400


def test_resize_wants_a_boolean():
    with pytest.raises(TypeError):
        folding().resize(3, refcheck="no")


def test_broadcast_arrays_warn_when_they_are_written():
    x, _ = np.broadcast_arrays(face.ones((1, N)), face.ones((2, 1)))
    with pytest.warns(DeprecationWarning, match="broadcast_arrays"):
        x += 1.0


def test_a_class_is_looked_up_without_code_in_python():
    """NumPy's C code has no reference to the object then: another thread must not come in between."""
    cls, calls = type(folding()), []
    sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        found = {np.ndarray: "array"}[cls], cls == np.ndarray, cls != np.ndarray, operator.eq(cls, list), operator.eq(cls, cls), hash(cls)
    finally:
        sys.setprofile(None)
    assert found == ("array", True, False, False, True, hash(np.ndarray))
    assert calls == []


def test_a_buffer_keeps_the_array():
    x = folding()
    alive = weakref.ref(x)
    buffer = memoryview(x)
    del x
    gc.collect()
    assert alive() is not None
    del buffer
    gc.collect()
    assert alive() is None


def test_functions_of_a_class_of_the_program_get_the_folding_array():
    class Dispatching:
        def __array_function__(self, func, types, args, kwargs):
            return [type(x) for x in args]

    assert np.dot(folding(), Dispatching()) == [FoldingArray, Dispatching]
    with pytest.raises(TypeError, match="args must be a tuple"):
        folding().__array_function__(np.sum, (np.ndarray,), [], {})


def test_patterns_of_sequences_match_as_with_numpys_arrays():
    def matched(array):
        match array:
            case [first, second]:
                return "two", first[0], second[0]
            case [first, *others]:
                return "more", first, len(others)
            case _:
                return "none"

    plain, x = np.arange(float(N)), folding()
    for want, found in ((plain, x), (plain + 1.0, pending(x)), (plain.reshape(2, -1), x.reshape(2, -1))):
        assert type(found) is FoldingArray
        assert matched(found) == matched(want)
    assert not isinstance(x, Sequence)


@pytest.mark.skipif(
    "check_bounds" not in inspect.signature(np.lib.stride_tricks.as_strided).parameters, reason="as_strided checks bounds from NumPy 2.5 on"
)
@pytest.mark.parametrize(
    "function",
    ["np.lib.stride_tricks.as_strided", "[np.lib.stride_tricks.as_strided][0]", "strided_by_another_name", "as_strided"],
)
def test_bounds_of_strides_are_those_of_the_memory(monkeypatch, function):
    for known, thing in {**leaving.NAMES, UNFOLDED: False}.items():
        monkeypatch.setattr("builtins." + known, thing, raising=False)
    monkeypatch.setattr(leaving, "is_own", lambda variables: "strided" in variables)
    text = f"""
from numpy.lib.stride_tricks import as_strided, as_strided as strided_by_another_name
def strided(x, n):
    return {function}(x, (n,), (8,), check_bounds=True)
"""
    outcomes = []
    for module in (np, face):
        names = {"np": module}
        exec(compiled(text, "strides.py", is_first=True) if module is face else text, names)
        x = module.arange(float(2 * N))
        for piece in (x, x[10 : N + 20], x[:N], x.reshape(N // 8, 16)[:, 3:15]):
            for n in (3, N, N + 11, 2 * N - 10, 2 * N - 9, 2 * N, 2 * N + 1):
                try:
                    outcomes.append(names["strided"](piece, n)[-1])
                except ValueError as error:
                    outcomes.append(str(error))
    assert outcomes[: len(outcomes) // 2] == outcomes[len(outcomes) // 2 :]
    assert {type(v) for v in outcomes} == {np.float64, str}


def with_flags_set(numpy, how):
    """What views, operations and addresses see of an array that is read-only for a while."""
    x = numpy.arange(2.0 * N)
    if how == "column-major":
        x = numpy.asfortranarray(x.reshape(N // 4, 8))
    before, piece = x[1:], x[0:1]
    if how == "held":
        piece = (piece, memoryview(x))[0]
    x.flags.writeable = False
    if how == "another shape":
        x.shape = (8, N // 4)
    y = x * 2.0 + 1.0
    total = y.sum()
    before[0] = 7.0
    before += 1.0
    before[::2] = 3.0
    piece[0] = -1.0
    after = x[2:]
    flags = [a.flags.writeable for a in (x, before, piece, after, after.reshape(-1, 1), before[1:], before.T.reshape(-1), x.T, y)]
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x += 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        after.setflags(write=True)
    if how == "by index":
        x.flags["WRITEABLE"] = True
    elif how == "by method":
        x.setflags(write=True)
    else:
        x.flags.writeable = True
    x[0] = 5.0
    z = x * 2.0
    x += 1.0
    return [flags, total, *(a.tolist() for a in (x, y, z, before, piece))]


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("how", ["by attribute", "by index", "by method", "held", "column-major", "another shape"])
def test_an_array_that_was_read_only_can_be_written_again_and_its_older_views_always(how):
    assert with_flags_set(face, how) == with_flags_set(np, how)

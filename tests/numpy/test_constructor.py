"""``np.ndarray`` called as a constructor, with all its arguments."""

import functools
import pickle

import numpy
import pytest

from twofold import np
from twofold.errors import ParameterError

#: Arguments that select elements of a vector of 12 float64.
PARTS = (
    {"shape": (3, 4)}, {"shape": 5}, {"shape": ()}, {"shape": (2, 2), "offset": 8}, {"shape": (3, 4), "order": "F"},
    {"shape": (3, 2), "offset": 16, "order": "F"}, {"shape": (0, 3)}, {"shape": (-1,)}, {"shape": -1, "offset": 32},
    {"shape": (6,), "strides": (8,)},
)  # fmt: skip
GAPS = ({"shape": (3, 2), "strides": (32, 16)}, {"shape": 3, "offset": 88, "strides": (-8,)}, {"shape": (2, 3), "strides": (0, 8)})


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "bfloat16", None])
@pytest.mark.parametrize("shape", [3, (2, 3), (), (0,)])
@pytest.mark.parametrize("order", ["C", "F", None])
def test_an_array_of_new_memory_has_the_shape_and_dtype(shape, dtype, order):
    given = {} if dtype is None else {"dtype": dtype}
    x = np.ndarray(shape, order=order, **given)
    assert isinstance(x, np.ndarray)
    assert x.shape == numpy.ndarray(shape).shape
    assert str(x.dtype) == (dtype or "float64")
    x[...] = 1
    assert (x == 1).all()


def test_a_dtype_of_numpys_alone_gives_numpys_array():
    assert type(np.ndarray(2, dtype="U3")) is numpy.ndarray


@pytest.mark.parametrize("given", PARTS, ids=str)
@pytest.mark.parametrize("make", [np.array, numpy.array, lambda a: bytearray(a.tobytes())], ids=["twofold", "numpy", "bytearray"])
def test_an_array_shares_the_memory_of_a_buffer(make, given):
    host = numpy.arange(12.0)
    buffer = make(host)
    x, expected = np.ndarray(buffer=buffer, **given), numpy.ndarray(buffer=host, **given)
    assert x.tolist() == expected.tolist()
    x[...] = -x
    expected[...] = -expected
    memory = buffer.asnumpy() if isinstance(buffer, np.ndarray) else numpy.frombuffer(buffer)
    assert memory.tolist() == host.tolist()
    if isinstance(buffer, (np.ndarray, numpy.ndarray)):
        buffer[:] = 7.0
        assert (x == 7.0).all()


@pytest.mark.parametrize("given", GAPS, ids=str)
@pytest.mark.parametrize("make", [np.array, numpy.array, numpy.ndarray.tobytes], ids=["twofold", "numpy", "bytes"])
def test_elements_with_gaps_are_a_copy_that_refuses_writes(make, given):
    host = numpy.arange(12.0)
    x = np.ndarray(buffer=make(host), **given)
    assert x.tolist() == numpy.ndarray(buffer=host, **given).tolist()
    with pytest.raises(ParameterError, match="read-only"):
        x[...] = 0.0


def test_the_memory_of_bytes_is_read_only_and_may_begin_anywhere():
    memory = bytes(3) + numpy.arange(4.0).tobytes()
    x = np.ndarray(3, float, memory, 11)
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(ParameterError, match="read-only"):
        x[0] = 5.0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"shape": (5, 5)}, TypeError, "too small"),
        ({"shape": 12, "offset": 8}, TypeError, "too small"),
        ({"shape": 3, "strides": (40,), "offset": 40}, ValueError, "strides"),
        ({"shape": 3, "dtype": "int64"}, ParameterError, "float64, to be read as int64"),
        ({"shape": 3, "offset": 4}, ParameterError, "multiple of 8"),
        ({"shape": (-2,)}, ValueError, "negative"),
        ({"shape": "text"}, TypeError, "integer"),
        ({"shape": 3, "order": "Z"}, ValueError, "order"),
    ],
)
def test_arguments_that_cannot_be_met_are_errors(given, error, text):
    with pytest.raises(error, match=text):
        np.ndarray(buffer=np.arange(12.0), **given)
    with pytest.raises(ParameterError, match="with gaps"):
        np.ndarray(3, buffer=np.arange(12.0)[::2])


def test_all_arrays_are_instances_of_the_class():
    x = np.arange(3.0)
    for array in (x, x[1:], x.sum(), np.array(1.0), np.ndarray(2)):
        assert isinstance(array, np.ndarray)
        assert issubclass(type(array), np.ndarray)
    assert {type(x), type(x[1:]), type(x.reshape(3, 1)), type(np.ndarray(2))} == {np.ndarray}
    assert not isinstance(x[0], np.ndarray)
    assert not isinstance(numpy.ones(2), np.ndarray)
    assert np.ndarray.sum(x) == 3.0
    assert pickle.loads(pickle.dumps(np.ndarray)) is np.ndarray

    @functools.singledispatch
    def kind(value):
        return "other"

    kind.register(np.ndarray, lambda value: "array")
    assert [kind(v) for v in (x, x[1:], x.sum(), 3.0)] == ["array", "array", "array", "other"]


def test_classes_of_users_are_made_as_python_makes_them():
    class Made(np.ndarray):
        def __new__(cls, values):
            return np.array(values)

    class Tagged(np.ndarray):
        def __init__(self, *given, **options):
            self.tag = given

    class Plain(np.ndarray):
        pass

    assert Made([3, 2]).tolist() == [3, 2]
    x = Tagged((2,))
    assert (type(x), x.tag, x.shape) == (Tagged, ((2,),), (2,))
    x[:] = 1.5
    assert (x + 1).tolist() == [2.5, 2.5]
    memory = np.arange(6.0)
    y = Plain((2, 2), buffer=memory, offset=8)
    y[0] = 7
    assert (type(y), memory.tolist()) == (Plain, [0, 7, 7, 3, 4, 5])


@pytest.mark.parametrize("size", [4, 400_000])
def test_a_vector_over_a_buffer_shares_memory_that_can_be_written(size):
    memory = bytearray(8 * size)
    x, host = np.frombuffer(memory), numpy.frombuffer(memory)
    doubled = x * 2 + 1
    x[1:] = 5.0
    x += 1
    assert host[:2].tolist() == [1, 6]
    host[0] = 7.0
    assert (x[0], doubled[0], (x * 2)[0]) == (7, 1, 14)
    assert np.frombuffer(bytearray(8), "bfloat16").tolist() == [0] * 4  # a copy
    assert np.frombuffer(memory, "uint8", count=8, offset=8).tolist() == list(numpy.float64(6).tobytes())


def test_a_vector_over_other_buffers_is_a_copy():
    memory = bytearray(3) + numpy.arange(4.0).tobytes()
    assert np.frombuffer(memory, offset=11, count=2).tolist() == [1, 2]  # not aligned
    x = np.frombuffer(bytes(memory[3:]), float, 2)
    x[0] = 5.0
    assert x.tolist() == [5, 1]
    y = np.arange(3.0)
    assert np.frombuffer(y, "float64").tolist() == y.tolist()
    assert type(np.frombuffer(memory, ">i2", 4)) is numpy.ndarray
    with pytest.raises(ValueError, match="smaller than requested"):
        np.frombuffer(memory, float, 9)


def test_an_array_does_not_become_one_of_a_derived_class():
    class Tagged(np.ndarray):
        pass

    for given in ({"dtype": Tagged}, {"type": Tagged}):
        with pytest.raises(ValueError, match="derived class"):
            np.ones(3).view(**given)

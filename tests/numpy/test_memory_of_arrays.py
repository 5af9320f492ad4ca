"""Attributes and methods of arrays that show, write or change their memory, as NumPy's do."""

import ctypes
import hashlib
import pickle

import numpy
import pytest

import twofold as mx
from twofold import np


@pytest.mark.parametrize("size", [6, 100_000])
def test_memory_that_is_shown_sees_later_writes_and_is_written(size):
    x = np.arange(float(size))
    memory, pointer = x.data, x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    x[1] = 7.0
    assert (memory.format, memory.shape, memory[1], pointer[1]) == ("d", (size,), 7.0, 7.0)
    memory[2] = 9.0
    pointer[3] = 11.0
    assert (x[2], x[3]) == (9.0, 11.0)


def test_memory_is_what_numpys_is():
    assert hashlib.sha256(np.arange(9).data).digest() == hashlib.sha256(numpy.arange(9).data).digest()
    assert np.array(5.0).data.shape == ()


def test_elements_are_written_to_files(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    x.tofile(tmp_path / "whole")
    with open(tmp_path / "part", "wb") as file:
        x[:, 1].tofile(file)
    x.dump(tmp_path / "pickle")
    assert numpy.fromfile(tmp_path / "whole").tolist() == [0, 1, 2, 3, 4, 5]
    assert numpy.fromfile(tmp_path / "part").tolist() == [1, 4]
    assert numpy.load(tmp_path / "pickle", allow_pickle=True).tolist() == x.tolist()
    assert pickle.loads(x.dumps()).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["int16", "float64", "int32"])
def test_bytes_are_swapped(dtype):
    x, host = np.arange(5).astype(dtype), numpy.arange(5).astype(dtype)
    assert x.byteswap().tobytes() == host.byteswap().tobytes()
    assert x.byteswap(inplace=True) is x
    assert x.tobytes() == host.byteswap().tobytes()


@pytest.mark.parametrize("shape", [6, (2, 2), (3, 1), 0])
def test_an_array_is_resized_in_place(shape):
    x, host = np.arange(4), numpy.arange(4)
    x.resize(shape)
    host.resize(shape, refcheck=False)
    assert (x.tolist(), x.dtype) == (host.tolist(), host.dtype)


def test_an_array_whose_memory_others_see_keeps_its_size():
    x = np.arange(4.0)
    part = x[1:]
    with pytest.raises(mx.MXNetError, match=r"resize: .* keeps its size"):
        x.resize(9)
    with pytest.raises(mx.MXNetError, match=r"resize: .* keeps its size"):
        part.resize(2)
    assert x.tolist() == [0, 1, 2, 3]


def test_an_array_whose_memory_is_shown_keeps_its_size():
    x = np.arange(4.0)
    memory = x.data
    with pytest.raises(mx.MXNetError, match=r"resize: .* keeps its size"):
        x.resize(9)
    assert memory.shape == (4,)


def test_flags_that_would_change_are_refused():
    x = np.arange(4.0)
    x.setflags(write=True, align=True)
    with pytest.raises(mx.MXNetError, match="read-only"):
        x.setflags(write=False)
    with pytest.raises(mx.MXNetError, match="cannot be changed"):
        np.broadcast_to(x, (2, 4)).setflags(write=True)


@pytest.mark.parametrize("values", [[1, 2, 3], [1.5, 2.0], [[1, 2], [3, 4]], [True], 5, 2.5, True, []], ids=str)
def test_bytes_of_an_array_are_numpys(values):
    assert bytes(np.array(values)) == bytes(numpy.array(values))


def test_bytes_of_a_view_are_its_elements():
    assert bytes(np.arange(6, dtype="int16").reshape(2, 3).T) == numpy.arange(6, dtype="int16").reshape(2, 3).T.tobytes()


@pytest.mark.parametrize("size", [6, 90_000])
def test_out_takes_what_a_function_computes(size):
    x = numpy.linspace(-3, 3, size)
    ours, out = np.array(x), np.zeros(size)
    same, part, whole = out, out[1:3], out.reshape(2, -1)
    for call in (
        lambda m, a, o: m.clip(a, -1.5, 1.5, out=o),
        lambda m, a, o: m.sqrt(a * a, out=o),
        lambda m, a, o: m.round(a, 1, out=o),
        lambda m, a, o: m.add(o, a, out=o),
        lambda m, a, o: m.clip(o, -0.5, 0.5, out=o),
    ):
        expected = numpy.array(out.asnumpy())
        call(numpy, x, expected)
        assert call(np, ours, out) is out
        assert out is same
        numpy.testing.assert_array_equal(out.asnumpy(), expected)
        numpy.testing.assert_array_equal(part.asnumpy(), expected[1:3])
        numpy.testing.assert_array_equal(whole.asnumpy(), expected.reshape(2, -1))
        ours[0] = ours[0]  # a write to the operand is not seen in the result
        numpy.testing.assert_array_equal(out.asnumpy(), expected)


def test_memory_that_is_shown_takes_what_a_function_computes():
    x = numpy.linspace(-3, 3, 90_000)
    ours, out = np.array(x), np.zeros(90_000)
    kept = numpy.from_dlpack(out)
    np.clip(ours, 0.1, 0.2, out=out)
    numpy.testing.assert_array_equal(kept, numpy.clip(x, 0.1, 0.2))
    out[0] = 7
    assert kept[0] == 7
    assert float(ours[0]) == x[0]

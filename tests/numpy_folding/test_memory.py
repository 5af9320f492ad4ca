"""Who looks at the memory of folding arrays: whatever is handed out shares it, and what was pending keeps what it was to read."""

import copy
import ctypes
import gc
import hashlib
import io
import pickle
import sys
import warnings

import numpy as real
import pytest

from twofold.numpy_folding import buffers
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np

N = 100_000


def ramp():
    x = np.arange(float(N))
    assert type(x) is FoldingArray
    return x


def is_pending(x):
    return type(x) is FoldingArray and x.array is None


HANDED_OUT = {
    "piece": lambda x: x[10:20],
    "view of a piece": lambda x: x[10:200][0:100].reshape(10, 10).T[3:4],
    "asarray": real.asarray,
    "dlpack": real.from_dlpack,
    "memoryview": memoryview,
    "numpy.frombuffer": real.frombuffer,
    "flat": lambda x: x.flat,
    "iterator": iter,
    "data": lambda x: x.data,
    "windows": lambda x: real.lib.stride_tricks.sliding_window_view(x, 2),
    "masked array": real.ma.asarray,
    "view of another dtype": lambda x: x.view(real.complex128),
    "nditer": lambda x: real.nditer(x),
    "subclass": lambda x: x.view(real.matrix),
}


@pytest.mark.parametrize("what", HANDED_OUT)
def test_operations_do_not_wait_while_something_that_was_handed_out_is_alive(what):
    x = ramp()
    held = HANDED_OUT[what](x)
    y = x * 2.0
    assert not is_pending(y)
    del held
    assert is_pending(x * 2.0)
    assert y[5] == 10.0


@pytest.mark.parametrize("what", HANDED_OUT)
def test_what_is_pending_is_computed_before_memory_is_handed_out(what):
    x = ramp()
    y = x * 2.0
    assert is_pending(y)
    held = HANDED_OUT[what](x)
    assert not is_pending(y)
    x[15] = -1.0
    assert y[15] == 30.0
    del held


def test_writes_through_a_piece_are_seen():
    x = ramp()
    piece = x[10:20]
    piece[5] = -1.0
    assert (x * 2.0)[15] == -2.0
    x[16] = -3.0
    assert piece[6] == -3.0


def test_a_piece_outlives_its_array():
    x = ramp()
    piece = x[10:20]
    del x
    gc.collect()
    assert piece.tolist() == list(range(10, 20))
    piece += 1.0
    assert piece[0] == 11.0


def test_an_address_looks_for_good():
    x = ramp()
    address = x.ctypes.data
    y = x + 1.0
    assert not is_pending(y)
    ctypes.c_double.from_address(address).value = 7.0
    assert x[0] == 7.0
    assert y[0] == 1.0


def test_the_array_interface_looks_for_good():
    x = ramp()
    address, read_only = x.__array_interface__["data"]
    assert not read_only
    ctypes.c_double.from_address(address).value = 7.0
    assert (x + 1.0)[0] == 8.0


def test_large_slices_share_memory_and_wait():
    x = ramp()
    y = x[1:] - x[:-1]
    assert is_pending(y)
    x[:] = 0.0
    assert y.sum() == N - 1
    left = x[:-1]
    left[0] = 5.0
    assert x[0] == 5.0
    assert left.base is x


def test_a_pending_result_keeps_what_was_there_when_it_was_issued():
    x = ramp()
    y = x + 1.0
    z = y * 2.0
    x += 100.0
    assert z[3] == 8.0
    assert x[3] == 103.0


def test_an_overlapping_assignment_reads_before_it_writes():
    x, y = ramp(), real.arange(float(N))
    x[1:] = x[:-1] * 0.5 + 1.0
    y[1:] = y[:-1] * 0.5 + 1.0
    assert real.array_equal(real.asarray(x), y)
    x[1:] = x[:-1]
    y[1:] = y[:-1]
    assert real.array_equal(real.asarray(x), y)


def test_in_place_operators_keep_the_identity_of_views():
    x = ramp()
    left = x[:-1]
    x *= 2.0
    x += ramp() * 1.0
    assert left[3] == 9.0


def test_a_dead_operands_memory_is_not_overwritten_while_a_slice_is_alive():
    x = ramp()
    left = x[:-1]
    y = x * 2.0 + 1.0
    del x
    assert y[3] == 7.0
    assert left[3] == 3.0


def test_a_dead_operands_memory_is_not_overwritten_while_another_part_is_read():
    x = ramp()
    y = (x[1:] * 2.0 + x[:-1]) * x[1:]
    del x
    assert y[3] == (4 * 2.0 + 3) * 4


def test_equal_results_are_different_memory():
    x = ramp()
    a, b = x * 2.0 + 1.0, x * 2.0 + 1.0
    c = real.maximum(x + 0.0, x + 0.0)
    a[0] = 50.0
    assert b[0] == 1.0
    c[0] = 60.0
    assert x[0] == 0.0


WRITES = {
    "copyto": lambda x: real.copyto(x, 1.0),
    "put": lambda x: real.put(x, 3, 1.0),
    "place": lambda x: real.place(x, x > 2, 1.0),
    "putmask": lambda x: real.putmask(x, x > 2, 1.0),
    "put_along_axis": lambda x: real.put_along_axis(x, real.array([3]), 1.0, 0),
    "at": lambda x: real.add.at(x, 3, 1.0),
    "out": lambda x: real.exp(x * 0.0, out=x),
    "out of a method": lambda x: np.zeros(N).cumsum(out=x),
    "where": lambda x: real.negative(x, out=x, where=x > 2),
    "sort": lambda x: (real.negative(x, out=x), x.sort()),
    "fill": lambda x: x.fill(1.0),
    "partition": lambda x: (real.negative(x, out=x), x.partition(4)),
    "shuffle": lambda x: np.random.shuffle(x),
    "shuffle of a generator": lambda x: np.random.default_rng(3).shuffle(x),
    "flat": lambda x: x.flat.__setitem__(3, 1.0),
    "assignment to flat": lambda x: setattr(x, "flat", 1.0),
    "readinto": lambda x: io.BytesIO(bytes(8 * N)).readinto(x),
    "byteswap": lambda x: x.byteswap(True),
    "real": lambda x: setattr(x, "real", 1.0),
    "fill_diagonal": lambda x: real.fill_diagonal(x.reshape(250, 400), 1.0),
    "nan_to_num": lambda x: real.nan_to_num(x, copy=False),
    "random out": lambda x: np.random.default_rng(1).random(out=x),
    "random out by position": lambda x: np.random.default_rng(1).random(None, "f8", x),
    "gamma out by position": lambda x: np.random.default_rng(1).standard_gamma(2.0, None, "f8", x),
}


@pytest.mark.parametrize("how", WRITES)
def test_what_writes_its_operand_does_so_after_pending_reads(how):
    x, same = ramp(), real.arange(float(N))
    before = x * 2.0
    if "shuffle" in how:
        np.random.seed(0)
    WRITES[how](x)
    if "shuffle" in how:
        np.random.seed(0)
    WRITES[how](same)
    assert before[3] == 6.0
    assert real.asarray(x).tobytes() == same.tobytes()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shape_and_dtype_can_be_set():
    x = ramp()
    x.shape = (250, 400)
    assert x[1, 0] == 400.0
    assert (x + 1.0).shape == (250, 400)
    x.dtype = real.int64
    assert x[0, 1] == 0x3FF0000000000000
    assert (x + 1).dtype == real.int64


@pytest.mark.parametrize(("name", "value"), [("shape", (250, 400)), ("dtype", real.int64), ("strides", (8,))])
def test_what_is_deprecated_warns_at_the_users_line(name, value):
    warned = []
    for x in (ramp(), real.arange(float(N))):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            setattr(x, name, value)
        warned.append([(str(w.message), w.category, w.filename, w.lineno) for w in issued])
    assert warned[0] == warned[1]


def test_resize_refuses_what_others_look_at():
    x = ramp()
    piece = x[:3]
    with pytest.raises(ValueError, match="references or is referenced"):
        x.resize(2 * N)
    del piece
    x.resize(2 * N)
    assert x.shape == (2 * N,)
    assert x[3] == 3.0
    assert x[N:].sum() == 0.0
    with pytest.raises(ValueError, match="does not own its data"):
        x[1:].resize(5)


def test_column_major_memory_of_a_palindromic_shape_keeps_its_strides():
    x = np.array(real.arange(50.0 * 60 * 50).reshape(50, 60, 50), order="F")
    assert type(x) is FoldingArray
    assert real.asarray(x).strides == x.strides == (8, 400, 24000)
    assert x[1, 2, 3] == 60 * 50 + 2 * 50 + 3


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # from NumPy 2.5 on
def test_an_array_owns_its_memory_after_its_shape_was_set():
    x = ramp()
    piece = x[:5]
    x.shape = (250, 400)
    assert x.base is None
    assert x.flags.owndata
    assert x[0, 3] == piece[3]
    assert (x + 1.0)[249, 399] == N


def test_copies_and_pickles_are_independent():
    x = ramp() + 1.0
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy(), np.array(x)):
        assert y.tobytes() == x.tobytes()
        y[0] = -1.0
    assert x[0] == 1.0
    assert np.asarray(x) is x


def test_read_only_stays_read_only():
    x = ramp()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[3] = 1.0
    y = x * 2.0
    assert y[3] == 6.0
    with pytest.raises(ValueError, match="read-only"):
        x[3:5] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x += 1.0
    assert not x[:5].flags.writeable
    assert not x[1:].flags.writeable


def test_flags_are_numpys():
    x, same = ramp().reshape(250, 400), real.arange(float(N)).reshape(250, 400)
    assert repr(x.flags) == repr(same.flags)
    assert x.T.flags.f_contiguous
    assert x.copy().flags.owndata
    assert x.flags["C_CONTIGUOUS"]


@pytest.mark.skipif(sys.version_info < (3, 12) and not buffers.IS_ATTACHED, reason="types are laid out in an unknown way")
def test_c_code_gets_the_memory():
    x = ramp() + 1.0
    assert hashlib.sha256(x).digest() == hashlib.sha256(real.arange(1.0, N + 1)).digest()
    view = memoryview(x)
    view[3] = -1.0
    assert x[3] == -1.0
    file = io.BytesIO()
    file.write(x)
    assert file.getvalue() == x.tobytes()


@pytest.mark.parametrize("key", [slice(None), ..., (slice(None), slice(None))], ids=str)
def test_the_same_memory_as_another_dtype_is_converted(key):
    def converted(numpy):
        x = numpy.zeros((2, N))
        bits = x.view("int64")
        bits[...] = 2
        x[key] = bits
        return x.tolist()

    assert converted(np) == converted(real)


@pytest.mark.skipif(not buffers.IS_ATTACHED, reason="types are laid out in an unknown way")
def test_an_array_over_a_buffer_keeps_the_memory():
    x = ramp() + 1.0
    over = real.ndarray((4,), "f8", memoryview(x))
    del x
    gc.collect()
    for _ in range(4):
        assert (ramp() * 7.0).sum() > 0  # takes memory that is free
    assert over.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.skipif(sys.version_info < (3, 12) and not buffers.IS_ATTACHED, reason="types are laid out in an unknown way")
def test_a_buffer_that_cannot_be_given_is_an_error():
    x = ramp()
    x.flags.writeable = False
    with pytest.raises((BufferError, SystemError, TypeError)):
        io.BytesIO(bytes(8 * N)).readinto(x)


def test_flat_takes_folding_arrays():
    x, same = ramp().reshape(250, 400), real.arange(float(N)).reshape(250, 400)
    mask = (x > 5.0).reshape(-1)
    assert real.array_equal(x.flat[mask], same.flat[(same > 5.0).reshape(-1)])
    x.flat[mask] = 1.0
    x.flat[real.array([3, 4])] = 9.0
    assert x.sum() == 0 + 1 + 2 + 9 + 9 + 5 + (N - 6)
    assert isinstance(x.flat, real.flatiter)
    assert [v for v, _ in zip(x.flat, range(3), strict=False)] == [0.0, 1.0, 2.0]
    assert real.asarray(x.flat).shape == (N,)
    assert (x.flat == 1.0).sum() == N - 5
    assert next(x.flat) == 0.0
    assert x.flat.base.shape == (250, 400)
    x.flat = same
    assert x.tobytes() == same.tobytes()


def test_a_square_array_in_column_major_order_is_not_transposed():
    same = real.asfortranarray(real.arange(90_000.0).reshape(300, 300))
    x = np.array(same)
    assert type(x) is FoldingArray
    assert x[3, 4] == same[3, 4]
    assert real.array_equal(x[2:5], same[2:5])
    assert real.block([[x, x]]).flags.f_contiguous


def test_copies_keep_the_order_of_axes():
    x = ramp().reshape(250, 400).T + 1.0
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.strides == x.strides == (8, 3200)
    assert x.copy().strides == (2000, 8)


def test_resize_refuses_with_numpys_words():
    x, same = ramp(), real.arange(float(N))
    messages = []
    for a in (x, same):
        view = a[:]
        with pytest.raises(ValueError) as error:  # noqa: PT011  (the text is compared)
            a.resize(2 * N)
        messages.append(str(error.value))
        del view
    assert messages[0] == messages[1]


class Finalized:
    """Reads an array when it is collected."""

    def __init__(self, array, read):
        self.array, self.read, self.self = array, read, self

    def __del__(self):
        self.read.append(float(self.array.sum()))


def test_a_pending_array_is_read_by_a_finalizer_in_a_collected_cycle():
    read = []
    node = Finalized(ramp() * 0 + 2, read)
    assert is_pending(node.array)
    del node
    gc.collect()
    assert read == [2.0 * N]


def test_bytes_fold_from_more_elements_than_floats():
    x = ramp()
    narrow = x.astype("u1")
    assert is_pending(x + 1)
    assert not is_pending(narrow + real.uint8(1))
    many = np.zeros(8 * N, "u1")
    assert is_pending(many + real.uint8(1))
    assert is_pending(x > 5)  # one of the operands is wide


def test_what_leaves_as_no_array_is_not_looked_through(monkeypatch):
    x = ramp()

    def looked_through(*args):
        raise AssertionError

    monkeypatch.setattr("twofold.numpy_folding.calls.Given.folded", looked_through)
    assert x.tolist()[:3] == [0.0, 1.0, 2.0]
    assert len(x.tobytes()) == x.nbytes


def test_a_small_array_of_numpys_in_another_order_decides_the_order_of_the_result():
    small = real.arange(6.0).reshape(3, 2, 1).transpose(1, 0, 2)
    assert not small.flags.c_contiguous
    x, y = ramp(), real.arange(float(N))
    for result, expected in ((small + x, small + y), (x * small, y * small)):
        assert result.strides == expected.strides
        assert result.tolist() == expected.tolist()

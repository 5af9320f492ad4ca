"""The pool of large arrays: memory is returned once nothing refers to it, and never before."""

import gc
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

from twofold_numpy import memory
from twofold_numpy.memory import POOLED, Pool, _Loan

from tests.core.signals import interrupted_at
from tests.core.test_other_threads import after_calls

KIND = np.dtype(np.float32)
SHAPE = (POOLED // 4,)


@pytest.fixture
def pool():
    return Pool()


def address(array):
    return array.__array_interface__["data"][0]


def test_a_large_array_is_aligned_packed_and_writable(pool):
    a = pool.empty((1024, 513), KIND)
    a[...] = 1
    assert a.flags.c_contiguous
    assert a.flags.writeable
    assert a.dtype == KIND
    assert address(a) % memory.ALIGNMENT == 0
    assert a.sum() == a.size


def test_arrays_from_a_size_on_are_aligned(pool):
    """So are those of the adapter's allocators, which bind a shape."""
    dtype = np.dtype(np.float32)
    for make in (pool.empty, lambda shape, dtype: memory.allocator(shape, dtype)()):
        kept = [make(shape, dtype) for shape in ((memory.ALIGNED // 4,), (3, memory.ALIGNED), (2, 1, memory.ALIGNED // 4 + 1))]
        assert [address(a) % memory.ALIGNMENT for a in kept] == [0, 0, 0]
        assert [a.shape for a in kept] == [(memory.ALIGNED // 4,), (3, memory.ALIGNED), (2, 1, memory.ALIGNED // 4 + 1)]
        assert all(a.flags.c_contiguous and a.flags.writeable for a in kept)
        assert make((memory.ALIGNED // 4 - 1,), dtype).flags.owndata


def test_small_arrays_do_not_come_from_the_pool(pool):
    assert pool.empty((8,), KIND).flags.owndata
    assert pool.empty((0, 5), KIND).shape == (0, 5)


def test_memory_is_reused_once_no_array_refers_to_it(pool):
    a = pool.empty(SHAPE, KIND)
    where = address(a)
    view = a[10:].reshape(-1, 1)
    del a
    other = pool.empty(SHAPE, KIND)
    assert address(other) != where  # the view still refers to it
    del view
    assert address(pool.empty(SHAPE, KIND)) == where


def test_dtypes_share_blocks(pool):
    where = address(pool.empty(SHAPE, KIND))
    assert address(pool.empty((POOLED // 8,), np.dtype(np.float64))) == where


def test_pooled_memory_is_bounded_and_released_on_request(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_WAITING", 3 * POOLED)
    arrays = [pool.empty(SHAPE, KIND) for _ in range(5)]
    del arrays
    first = pool.empty(SHAPE, KIND)
    assert pool.waiting == 2 * POOLED
    pool.trim()
    assert pool.waiting == 0
    assert first.size == SHAPE[0]


def test_an_array_too_large_for_the_pool_is_freed(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_WAITING", POOLED)
    pool.empty((POOLED,), KIND)
    pool.empty(SHAPE, KIND)
    assert pool.waiting <= POOLED


def test_garbage_collection_during_an_allocation_does_not_deadlock_the_pool(pool):
    class Cycle:
        pass

    for _ in range(20):
        c = Cycle()
        c.me, c.array = c, pool.empty(SHAPE, KIND)
        del c
        with pool._lock:
            gc.collect()
    assert pool.empty(SHAPE, KIND).shape == SHAPE


def test_an_interrupting_handler_takes_new_memory(pool, monkeypatch):
    inner, limit = [], Pool._limit

    def interrupted(self):  # as by a signal handler, in the middle of taking a block
        monkeypatch.setattr(Pool, "_limit", limit)
        inner.append(self.empty(SHAPE, KIND))
        monkeypatch.setattr(memory, "LOCK_TIMEOUT", 0.01)
        self.trim()
        return limit(self)

    monkeypatch.setattr(Pool, "_limit", interrupted)
    outer = pool.empty(SHAPE, KIND)
    outer[...], inner[0][...] = 1, 2
    assert (outer == 1).all()


def test_threads_never_share_a_block(pool):
    wrong = []

    def work(number):
        for _ in range(200):
            a = pool.empty(SHAPE, KIND)
            a[::4096] = number
            if not (a[::4096] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_limit_applies_as_soon_as_memory_is_returned(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_WAITING", 2 * POOLED)
    arrays = [pool.empty(SHAPE, KIND) for _ in range(6)]
    del arrays
    assert pool.waiting <= 2 * POOLED


def test_the_limit_of_all_sizes_applies_at_the_next_request(pool, monkeypatch):
    monkeypatch.setattr(memory, "MAX_WAITING", 4 * POOLED)
    arrays = [pool.empty((size * POOLED // 4,), KIND) for size in (1, 1, 2, 2, 3)]
    del arrays
    assert pool.waiting == 9 * POOLED
    kept = pool.empty((2 * POOLED // 4,), KIND)
    # the least recently requested size is freed first
    assert {size: len(blocks) for size, blocks in pool._free.items()} == {POOLED: 0, 3 * POOLED: 0, 2 * POOLED: 1}
    assert kept.nbytes == 2 * POOLED


def test_arrays_of_similar_size_share_blocks(pool):
    for extra in range(0, 100_000, 1000):
        a = pool.empty((SHAPE[0] + 1 + extra,), KIND)
        a[-1] = 1
        del a
    assert len(pool._free) <= 4
    assert pool.waiting <= 6 * POOLED


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="how other C libraries keep memory is theirs")
@pytest.mark.parametrize("elements", [20_000, 64_000, 400_000])
def test_temporary_arrays_of_numpy_get_memory_that_was_freed(elements):
    """In a process of its own, since what was freed before decides; without twofold, 64,000 elements may take 218 page faults a turn."""
    program = f"""
import resource, sys
import twofold.numpy as np
a, b, c = (np.ones({elements}) for _ in range(3))
for turn in range(120):
    if turn == 20:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    ((a * 2 + b) * c).asnumpy()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 100 * 10


def test_a_loan_that_was_interrupted_before_it_had_a_block_ends_quietly(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    loan = _Loan.__new__(_Loan)
    del loan
    assert not seen


def test_no_signal_handler_runs_while_memory_is_returned(pool, monkeypatch):
    """What it raises would be ignored: a function of Python that begins runs the handlers of signals that have come."""
    array = pool.empty(SHAPE, KIND)
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code.co_name) if event == "call" else None)
    del array
    sys.setprofile(None)
    assert seen == []
    assert pool.waiting


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_the_lock_free(pool):
    def use():
        pool.empty(SHAPE, KIND)

    use()
    reached = 0
    for code in (Pool._block.__code__, Pool._limit.__code__, Pool.empty.__code__):
        for offset in after_calls(code):
            reached += interrupted_at(use, code, offset)
            assert not pool._lock.locked(), offset
            pool._limit()
            assert pool.empty(SHAPE, KIND).shape == SHAPE
    assert reached > 5

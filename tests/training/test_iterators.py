"""Every iterator of `mx.io` follows the protocol of iterators; generated from the samples they are registered with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import wait

import numpy as np
import pytest

import twofold as mx
from twofold.io.iterator import REGISTERED
from twofold.io.wrappers import PrefetchingIter, _Reader

from tests.core.signals import interrupted_at
from tests.core.test_other_threads import after_calls


@pytest.fixture(params=sorted(REGISTERED))
def registered(request):
    """The registration of an iterator."""
    return REGISTERED[request.param]


@pytest.fixture
def iterator(registered, tmp_path):
    """The sample of an iterator."""
    return registered.sample(tmp_path)


def arrays_of(given):
    """A list of NumPy arrays, from a list of arrays or a single one."""
    return [array.asnumpy() for array in (given if isinstance(given, (list, tuple)) else [given])]


def epoch_of(iterator):
    """The contents of all batches up to the end."""
    return [(arrays_of(batch.data), arrays_of(batch.label), batch.pad) for batch in iterator]


def test_iterators_are_attributes_of_the_package(iterator):
    assert getattr(mx.io, type(iterator).__name__) is type(iterator)


def test_a_sample_has_at_least_two_batches(iterator):
    assert len(epoch_of(iterator)) >= 2


def test_batches_match_their_descriptions(iterator):
    for batch in iterator:
        for arrays, descriptions in ((batch.data, iterator.provide_data), (batch.label, iterator.provide_label)):
            assert [(array.shape, array.dtype) for array in arrays] == [(x.shape, x.dtype) for x in descriptions]


def test_descriptions_have_distinct_names(iterator):
    names = [x.name for x in (*iterator.provide_data, *iterator.provide_label)]
    assert len(set(names)) == len(names)


def test_batch_size_is_the_length_of_the_batch_axis(iterator):
    described = [*iterator.provide_data, *iterator.provide_label]
    assert {x.shape[mx.io.DataDesc.get_batch_axis(x.layout)] for x in described} == {iterator.batch_size}


def test_an_epoch_that_has_ended_stays_ended(iterator):
    epoch_of(iterator)
    for _ in range(2):
        with pytest.raises(StopIteration):
            iterator.next()
    assert epoch_of(iterator) == []


def test_after_a_reset_the_same_batches_come_again(iterator):
    first = epoch_of(iterator)
    for _ in range(2):
        iterator.reset()
        np.testing.assert_equal(epoch_of(iterator), first)


def test_a_reset_within_an_epoch_returns_to_its_start(iterator):
    whole = epoch_of(iterator)
    iterator.reset()
    iterator.next()
    iterator.reset()
    np.testing.assert_equal(epoch_of(iterator), whole)


def test_steps_give_the_same_batches_as_iteration(iterator):
    whole = epoch_of(iterator)
    iterator.reset()
    found = []
    while iterator.iter_next():
        found.append((arrays_of(iterator.getdata()), arrays_of(iterator.getlabel()), iterator.getpad()))
    np.testing.assert_equal(found, whole)


def test_batches_outlive_the_next_step(iterator):
    batches = list(iterator)
    iterator.reset()
    kept = [(arrays_of(batch.data), arrays_of(batch.label), batch.pad) for batch in batches]
    np.testing.assert_equal(kept, epoch_of(iterator))


def test_only_the_last_batch_is_padded(iterator):
    pads = [batch.pad for batch in iterator]
    assert not any(pads[:-1])
    assert 0 <= pads[-1] < iterator.batch_size


def test_an_epoch_has_the_declared_rows_besides_padding(iterator, registered):
    assert sum(iterator.batch_size - batch.pad for batch in iterator) == len(registered.rows)


def test_indices_are_the_declared_rows(iterator, registered):
    batches = list(iterator)
    if batches[0].index is not None:
        assert {len(batch.index) for batch in batches} == {iterator.batch_size}
        found = [int(k) for batch in batches for k in batch.index[: iterator.batch_size - batch.pad]]
        assert found == list(registered.rows)


def test_equal_indices_have_equal_rows(iterator):
    axes = [mx.io.DataDesc.get_batch_axis(x.layout) for x in (*iterator.provide_data, *iterator.provide_label)]
    known = {}
    for batch in iterator:
        arrays = [np.moveaxis(x.asnumpy(), axis, 0) for x, axis in zip((*batch.data, *batch.label), axes, strict=True)]
        for place, index in enumerate(() if batch.index is None else batch.index):
            row = [x[place] for x in arrays]
            np.testing.assert_equal(row, known.setdefault(int(index), row))


def test_reading_ahead_in_a_thread_changes_nothing(iterator):
    whole = epoch_of(iterator)
    iterator.reset()
    ahead = mx.io.PrefetchingIter(iterator)
    for _ in range(2):
        np.testing.assert_equal(epoch_of(ahead), whole)
        ahead.reset()


def test_a_longer_epoch_continues_at_the_first_batch(iterator):
    whole = epoch_of(iterator)
    iterator.reset()
    np.testing.assert_equal(epoch_of(mx.io.ResizeIter(iterator, len(whole) + 1)), [*whole, whole[0]])


def test_a_model_predicts_each_row_once(iterator):
    rows = sum(iterator.batch_size - batch.pad for batch in iterator)
    names = [x.name for x in iterator.provide_data]
    outputs = mx.sym.Group([mx.sym.sum(mx.sym.Variable(name), axis=0, exclude=True) for name in names])
    model = mx.mod.Module(outputs, names, label_names=None)
    model.bind(iterator.provide_data, for_training=False)
    model.init_params()
    for found in model.predict(iterator, always_output_list=True):
        assert found.shape == (rows,)


def test_all_iterators_of_the_package_are_registered():
    bases = {mx.io.DataIter, mx.io.MXDataIter}
    public = {value for value in vars(mx.io).values() if isinstance(value, type) and issubclass(value, mx.io.DataIter)}
    assert public - bases <= {registered.make for registered in REGISTERED.values()}


class _Slow(mx.io.DataIter):
    """Two batches, of which the second waits until it may be read."""

    def __init__(self) -> None:
        super().__init__(2)
        self.begun, self.may_end, self.count = threading.Event(), threading.Event(), 0
        self.provide_data, self.provide_label = [mx.io.DataDesc("data", (2,))], []

    def next(self) -> mx.io.DataBatch:
        self.count += 1
        if self.count == 2:
            self.begun.set()
            self.may_end.wait()
        if self.count == 3:
            raise StopIteration
        return mx.io.DataBatch([mx.nd.ones((2,), ctx=mx.cpu()) * self.count], pad=0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("is_reading", [False, True])
def test_prefetching_in_a_forked_process_goes_on_or_says_why_not(is_reading):
    slow = _Slow()
    batches = mx.io.PrefetchingIter(slow)
    first = batches.next()
    assert slow.begun.wait(60)
    if not is_reading:
        slow.may_end.set()
        wait(batches._pending)
    child = os.fork()
    if not child:
        signal.alarm(60)  # it ends a child that hangs
        status = 3
        try:
            status = 0 if batches.next().data[0].asnumpy().tolist() == [2.0, 2.0] else 4
        except mx.errors.EngineError:
            status = 2
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    slow.may_end.set()
    assert status == (2 if is_reading else 0)
    assert [b.data[0].asnumpy().tolist() for b in (first, batches.next())] == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_while_it_waits_for_a_batch_does_not_wait_for_ever():
    slow, children = _Slow(), []
    batches = mx.io.PrefetchingIter(slow)
    batches.next()
    assert slow.begun.wait(60)

    def fork(*_):
        children.append(os.fork())
        if children[0]:
            slow.may_end.set()
        else:
            signal.alarm(30)

    before = signal.signal(signal.SIGUSR1, fork)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    status = 3
    try:
        found = batches.next().data[0].asnumpy().tolist()
        status = 4
    except mx.errors.EngineError:
        status = 2
    finally:
        if children == [0]:
            os._exit(status)
        signal.signal(signal.SIGUSR1, before)
    assert found == [2.0, 2.0]
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 2


def test_a_program_ends_although_an_iterator_waits_for_data_in_a_thread():
    program = """
import threading
import twofold as mx

class Endless(mx.io.DataIter):
    provide_data, provide_label = [mx.io.DataDesc("data", (2, 3))], []
    batches = 0

    def next(self):
        self.batches += 1
        if self.batches > 1:
            threading.Event().wait()
        return mx.io.DataBatch([mx.nd.ones((2, 3))], [], 0)

iterator = mx.io.PrefetchingIter(Endless())
print(iterator.next().data[0].shape)
raise ValueError("a mistake")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (1, "(2, 3)\n")
    assert done.stderr.endswith("ValueError: a mistake\n")


@pytest.mark.parametrize("resets", [False, True])
def test_an_interrupt_of_one_that_reads_ahead_leaves_its_iterators_in_step(resets):
    for code in (PrefetchingIter.iter_next.__code__, PrefetchingIter._fetch.__code__, _Reader.next.__code__):
        for offset in after_calls(code):
            sources = [mx.io.NDArrayIter(np.arange(10.0) + 100 * k, batch_size=2, data_name=f"x{k}") for k in range(2)]
            iterator = PrefetchingIter(sources)
            interrupted_at(iterator.next, code, offset)
            if resets:
                iterator.reset()
            first, second = np.array([[x.asnumpy() for x in batch.data] for batch in iterator]).transpose(1, 0, 2)
            np.testing.assert_array_equal(second, first + 100)
            assert np.array_equal(first.ravel(), np.arange(10.0)) or (not resets and np.array_equal(first.ravel(), np.arange(2.0, 10.0)))

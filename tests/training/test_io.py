"""Iterators: views, threads and their errors, parts and order of files, mistakes. Batches themselves are in the programs."""

from __future__ import annotations

import gc
import gzip
import struct
import threading

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, FormatError, MissingFileError, MXNetError, ParameterError, ShapeError
from twofold.io.iterator import REGISTERED

ROWS, LABELS = np.arange(10.0).reshape(5, 2), np.arange(5.0)


def test_batches_in_order_are_views():
    rows = mx.nd.array(ROWS)
    batch = mx.io.NDArrayIter(rows, None, 2).next()
    rows[0] = 9
    assert batch.data[0].asnumpy().tolist() == [[9, 9], [2, 3]]


def test_an_iterator_keeps_its_own_copy_of_numpy_arrays():
    rows = ROWS.copy()
    iterator = mx.io.NDArrayIter(rows, None, 2)
    rows[:] = 9
    assert iterator.next().data[0].asnumpy().tolist() == [[0, 1], [2, 3]]


def test_a_list_of_numbers_is_one_array():
    assert mx.io.NDArrayIter([1.0, 2.0, 3.0], None, 3).next().data[0].asnumpy().tolist() == [1, 2, 3]


def test_batches_stay_on_their_device(gpus):
    iterator = mx.io.NDArrayIter(mx.nd.array(ROWS, ctx=gpus[0]), mx.nd.array(LABELS, ctx=gpus[0]), 2, shuffle=True)
    batch = iterator.next()
    assert (batch.data[0].context, batch.label[0].context) == (gpus[0], gpus[0])
    assert (batch.data[0].asnumpy()[:, 0] == 2 * batch.label[0].asnumpy()).all()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, ParameterError),
        ({"batch_size": 2.0}, ParameterError),
        ({"data": []}, AssertionError),
        ({"label": "x"}, DTypeError),
    ],
)
def test_mistakes_raise_at_once(arguments, error):
    with pytest.raises(error):
        mx.io.NDArrayIter(**{"data": ROWS, **arguments})


def test_a_shorter_array_ends_the_epoch_with_an_error_that_names_it():
    with pytest.warns(UserWarning, match=r"arrays differ in length.*'softmax_label': 4"):
        iterator = mx.io.NDArrayIter(ROWS, LABELS[:4], 2)
    assert [batch.data[0].shape for batch in (iterator.next(), iterator.next())] == [(2, 2)] * 2
    with pytest.raises(ShapeError, match="softmax_label has no rows 4 to 6"):
        iterator.next()


class Failing(mx.io.DataIter):
    provide_data = (mx.io.DataDesc("data", (1,)),)
    provide_label = ()

    def next(self):
        raise ZeroDivisionError("from the thread")


def test_an_iterators_errors_pass_through_its_thread():
    iterator = mx.io.PrefetchingIter(Failing(1))
    with pytest.raises(ZeroDivisionError, match="from the thread"):
        iterator.next()


class Made(mx.io.DataIter):
    """Two batches, created on the current device in the current thread."""

    provide_data = (mx.io.DataDesc("data", (1,)),)
    provide_label = ()

    def __init__(self, count=2):
        super().__init__(1)
        self.count, self.at, self.threads = count, 0, set()

    def reset(self):
        self.at = 0

    def next(self):
        self.threads.add(threading.get_ident())
        self.at += 1
        if self.at > self.count:
            raise StopIteration
        return mx.io.DataBatch([mx.nd.ones((1,)) * self.at], [], 0)


def test_batches_are_prefetched_by_one_thread_on_the_iterators_device():
    source = Made()
    with mx.cpu(1):
        iterator = mx.io.PrefetchingIter(source)
    batches = list(iterator)
    assert [batch.data[0].context for batch in batches] == [mx.cpu(1)] * 2
    assert source.threads.isdisjoint({threading.get_ident()})
    assert len(source.threads) == 1


def test_threads_end_with_their_iterator():
    before = set(threading.enumerate())
    iterator = mx.io.PrefetchingIter([Made(), Made()])
    iterator.next()
    threads = set(threading.enumerate()) - before
    del iterator
    gc.collect()
    for thread in threads:
        thread.join(10)
    assert [thread.is_alive() for thread in threads] == [False, False]


def test_iterators_of_different_lengths_raise():
    iterator = mx.io.PrefetchingIter([Made(2), Made(3)])
    iterator.next()
    iterator.next()
    with pytest.raises(MXNetError, match="differ in length"):
        iterator.next()


def test_every_iterator_needs_a_name():
    with pytest.raises(ParameterError, match="one rename_data per iterator"):
        mx.io.PrefetchingIter([Made(), Made()], rename_data=[{}])


def test_an_iterator_that_defines_nothing_is_at_its_end():
    with pytest.raises(StopIteration):
        mx.io.DataIter(1).next()


def test_there_is_no_batch_before_the_first():
    with pytest.raises(MXNetError, match="no current batch"):
        mx.io.ResizeIter(Made(), 2).getdata()


@pytest.mark.parametrize("size", [7 / 2, float("nan"), "3"])
def test_an_epoch_that_never_ends_warns(size):
    """MXNet runs forever and says nothing."""
    with pytest.warns(UserWarning, match="never ends.*samples // batch_size"):
        mx.io.ResizeIter(Made(), size)


@pytest.mark.parametrize("size", [3.0, np.float32(3), np.int64(3), float("inf"), -1])
def test_a_size_that_may_be_intended_does_not_warn(size):
    assert mx.io.ResizeIter(Made(), size).size == size


def test_the_key_of_the_largest_bucket_is_passed_on():
    source = Made()
    source.default_bucket_key = 10
    assert mx.io.ResizeIter(source, 1).default_bucket_key == 10


def test_upper_layers_add_iterators():
    mx.io.register_iterator(sample=lambda folder: Made(), rows=range(4))(Made)
    try:
        assert mx.io.Made is Made
        assert "Made" in dir(mx.io)
    finally:
        del REGISTERED["Made"]
    with pytest.raises(AttributeError):
        mx.io.Made  # noqa: B018


# files


@pytest.fixture
def digits(tmp_path):
    """Twenty compressed images (4, 3), each filled with its number, which is also its label."""
    images = np.repeat(np.arange(20, dtype=np.uint8), 12)
    (tmp_path / "images").write_bytes(gzip.compress(struct.pack(">IIII", 2051, 20, 4, 3) + images.tobytes()))
    (tmp_path / "labels").write_bytes(struct.pack(">II", 2049, 20) + bytes(range(20)))
    return {"image": str(tmp_path / "images"), "label": str(tmp_path / "labels"), "silent": True}


def numbers(iterator):
    return [int(x) for batch in iterator for x in batch.label[0].asnumpy()]


def test_shuffled_images_come_in_the_order_of_the_seed_in_every_epoch(digits):
    iterator = mx.io.MNISTIter(**digits, batch_size=5, seed=3)
    first = numbers(iterator)
    iterator.reset()
    assert sorted(first) == list(range(20)) != first
    assert numbers(iterator) == first == numbers(mx.io.MNISTIter(**digits, batch_size=5, seed=3))
    assert numbers(mx.io.MNISTIter(**digits, batch_size=5, seed=4)) != first


def test_images_keep_their_labels(digits):
    for batch in mx.io.MNISTIter(**digits, batch_size=5):
        np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0, 0, 0] * 256, batch.label[0].asnumpy())
        np.testing.assert_array_equal(batch.index, batch.label[0].asnumpy())


def test_parts_cover_the_whole_file(digits):
    parts = [numbers(mx.io.MNISTIter(**digits, batch_size=1, num_parts=3, part_index=k)) for k in range(3)]
    assert sorted(number for part in parts for number in part) == list(range(20))


@pytest.mark.parametrize("shape", [(2, 6), "(2, 6)"], ids=["tuple", "text"])
def test_images_have_the_requested_shape_and_dtype(digits, shape):
    data = mx.io.MNISTIter(**digits, batch_size=5, input_shape=shape, dtype="float64").next().data[0]
    assert (data.shape, data.dtype) == ((5, 2, 6), np.float64)


def test_a_file_smaller_than_a_batch_gives_no_batches(digits):
    assert list(mx.io.MNISTIter(**digits, batch_size=30)) == []


def test_reading_is_announced_unless_silent(digits, capsys):
    mx.io.MNISTIter(**{**digits, "silent": False}, batch_size=6, shuffle=False)
    assert capsys.readouterr().out == "MNISTIter: load 20 images, shuffle=0, shape=(6, 1, 4, 3)\n"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"part_index": 1}, ParameterError),
        ({"batch_size": 0}, ParameterError),
        ({"image": "labels"}, ShapeError),
        ({"label": "nope"}, MissingFileError),
        ({"label": "text"}, FormatError),
    ],
)
def test_wrong_files_and_parts_raise(digits, tmp_path, change, error):
    (tmp_path / "text").write_text("text")
    paths = {key: str(tmp_path / value) for key, value in change.items() if key in ("image", "label")}
    with pytest.raises(error):
        mx.io.MNISTIter(**{**digits, **change, **paths})


def test_descriptions_pickle_and_compare_as_pairs():
    import pickle

    desc = pickle.loads(pickle.dumps(mx.io.DataDesc("a", (2, 3), "int32", "NC")))
    assert desc == ("a", (2, 3))
    assert (desc.dtype, desc.layout) == ("int32", "NC")

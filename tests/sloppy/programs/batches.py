"""Sloppy use of iterators and batches."""

from __future__ import annotations

import collections
import struct
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

ROWS = np.arange(12, dtype="float32").reshape(6, 2)


def _images(folder: str) -> dict[str, str]:
    path = Path(folder)
    (path / "images").write_bytes(struct.pack(">4I", 2051, 6, 2, 3) + bytes(range(36)))
    (path / "labels").write_bytes(struct.pack(">2I", 2049, 6) + bytes(range(6)))
    return {"image": str(path / "images"), "label": str(path / "labels")}


def _mnist(mx: Any, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        it = mx.io.MNISTIter(**_images(folder), batch_size=2, shuffle=False, silent=True, **options)
        return [[b.data[0], b.label[0], b.pad] for b in it]


def mnist_with_a_data_shape(mx: Any) -> Any:
    return _mnist(mx, data_shape=(1, 2, 3))


def mnist_with_an_input_shape(mx: Any) -> Any:
    return _mnist(mx, input_shape=(6,), flat=True)


def mnist_with_another_input_shape(mx: Any) -> Any:
    return _mnist(mx, input_shape=(784,))


def mnist_with_unknown_keywords(mx: Any) -> Any:
    return _mnist(mx, mean_img=3, foo="bar")


def mnist_with_text(mx: Any) -> Any:
    return _mnist(mx, flat="True", num_parts="1", part_index="0")


def mnist_with_a_scalar_shape(mx: Any) -> Any:
    return _mnist(mx, flat=1, data_shape=784)


def lengths_that_differ(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(5), 2)
    return [[b.data[0], b.label[0], b.pad] for b in it]


def longer_labels(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(8), 2)
    return [[b.data[0], b.label[0], b.pad] for b in it]


def longer_labels_shuffled(mx: Any) -> Any:
    np.random.seed(1)  # noqa: NPY002
    it = mx.io.NDArrayIter(ROWS, np.arange(8), 2, shuffle=True)
    return [[b.data[0], b.label[0], b.pad] for b in it]


def shorter_labels_in_full_batches(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(5), 3)
    return [[b.data[0], b.label[0].shape] for b in it]


def shorter_labels_discarded(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(4), 4, last_batch_handle="discard")
    return [[b.data[0], b.label[0]] for b in it]


def longer_labels_rolled_over(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(8), 4, last_batch_handle="roll_over")
    found = []
    for _ in range(2):
        found.append([[b.data[0], b.label[0], b.pad] for b in it])
        it.reset()
    return found


def two_data_of_two_lengths(mx: Any) -> Any:
    it = mx.io.NDArrayIter({"a": ROWS, "b": np.arange(9)}, None, 3)
    return [list(b.data) for b in it]


def unknown_last_batch_handle(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(6), 4, last_batch_handle="padding")
    return [[b.data[0], b.pad] for b in it]


def unknown_last_batch_handle_of_whole_batches(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(6), 3, last_batch_handle="keep")
    return [[b.data[0], b.pad] for b in it]


def batch_larger_than_the_data(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(6), 8)
    return [[b.data[0], b.pad] for b in it]


def batch_larger_than_the_data_discarded(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(6), 8, last_batch_handle="discard")
    return [[b.data[0], b.pad] for b in it]


def no_batch_size(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS[:2])
    return [b.data[0] for b in it]


def float_batch_size(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, np.arange(6), 6 / 2)
    return [b.data[0] for b in it]


def batch_size_of_zero(mx: Any) -> Any:
    return mx.io.NDArrayIter(ROWS, np.arange(6), 0).batch_size


def no_data(mx: Any) -> Any:
    return mx.io.NDArrayIter(None, np.arange(6), 2).batch_size


def empty_data(mx: Any) -> Any:
    return mx.io.NDArrayIter([], np.arange(6), 2).batch_size


def unknown_keyword_of_an_array_iterator(mx: Any) -> Any:
    return mx.io.NDArrayIter(ROWS, np.arange(6), 2, foo=1).batch_size


def labels_of_another_name(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, {"my_label": np.arange(6)}, 3)
    return [[d.name for d in it.provide_label], [d.name for d in it.provide_data]]


def integer_rows(mx: Any) -> Any:
    it = mx.io.NDArrayIter(np.arange(6).reshape(3, 2), np.arange(3), 3)
    b = it.next()
    return [b.data[0], b.label[0]]


def resized_beyond(mx: Any) -> Any:
    it = mx.io.ResizeIter(mx.io.NDArrayIter(ROWS, np.arange(6), 3), 5)
    return [b.data[0] for b in it]


def _network(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _module(mx: Any, **options: Any) -> Any:
    mod = mx.mod.Module(_network(mx), **options)
    mod.bind([("data", (2, 2))], [("softmax_label", (2,))])
    mod.init_params(mx.init.One())
    return mod


Batch = collections.namedtuple("Batch", ["data"])


def namedtuple_of_data(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(Batch([mx.nd.array(ROWS[:2])]), is_train=False)
    return mod.get_outputs()[0]


def simple_namespace(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(SimpleNamespace(data=[mx.nd.array(ROWS[:2])], label=[mx.nd.array([0, 1])]), is_train=True)
    mod.backward()
    return [mod.get_outputs()[0], mod._exec_group.grad_arrays[0][0]]


class _MyBatch:
    def __init__(self, data: Any, label: Any, pad: int) -> None:
        self.data, self.label, self.pad = data, label, pad


class _MyIter:
    def __init__(self, mx: Any, pad: int = 0) -> None:
        self.mx, self.pad = mx, pad
        self.batch_size = 2
        self.at = 0

    provide_data = (("data", (2, 2)),)
    provide_label = (("softmax_label", (2,)),)

    def __iter__(self) -> Any:
        return self

    def reset(self) -> None:
        self.at = 0

    def __next__(self) -> Any:
        if self.at == 3:
            raise StopIteration
        start, self.at = 2 * self.at, self.at + 1
        pad = self.pad if self.at == 3 else 0
        return _MyBatch([self.mx.nd.array(ROWS[start : start + 2] / 10)], [self.mx.nd.array([0, 1])], pad)

    next = __next__


def batches_of_a_users_class_in_fit(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.fit(_MyIter(mx), num_epoch=2, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.5})
    return mod.get_params()[0]


def batches_of_a_users_class_in_score(mx: Any) -> Any:
    return _module(mx).score(_MyIter(mx), "acc")


def batches_of_a_users_class_in_predict(mx: Any) -> Any:
    return _module(mx).predict(_MyIter(mx, pad=1))


def batch_without_label_in_training(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])], None), is_train=True)
    return mod.get_outputs()[0]


def batch_with_too_many_arrays(mx: Any) -> Any:
    mod = _module(mx)
    x = mx.nd.array(ROWS[:2])
    mod.forward(mx.io.DataBatch([x, x + 1], [mx.nd.array([0, 1])]), is_train=False)
    return mod.get_outputs()[0]


def batch_with_too_many_labels(mx: Any) -> Any:
    mod = _module(mx)
    x = mx.nd.array(ROWS[:2])
    mod.forward(mx.io.DataBatch([x], [mx.nd.array([0, 1]), mx.nd.array([0, 1])]), is_train=True)
    return mod.get_outputs()[0]


def batch_with_no_arrays(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([], [mx.nd.array([0, 1])]), is_train=False)
    return mod.get_outputs()[0]


def batch_of_numpy_arrays(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([ROWS[:2]], [np.array([0, 1])]), is_train=False)
    return mod.get_outputs()[0]


def batch_of_another_dtype(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2], dtype="int32")], [mx.nd.array([0, 1], dtype="int32")]), is_train=False)
    return mod.get_outputs()[0]


def tuple_of_data_in_a_batch(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch((mx.nd.array(ROWS[:2]),), (mx.nd.array([0, 1]),)), is_train=False)
    return mod.get_outputs()[0]


def array_instead_of_a_list(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(SimpleNamespace(data=mx.nd.array(ROWS[:2]), label=None), is_train=False)
    return mod.get_outputs()[0]


def labels_as_a_column(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])], [mx.nd.array([[0], [1]])]), is_train=True)
    return mod.get_outputs()[0]


def smaller_batch(mx: Any) -> Any:
    mod = _module(mx)
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:1])], [mx.nd.array([0])]), is_train=False)
    return mod.get_outputs()[0]


def provided_as_plain_pairs(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.bind(data_shapes=[["data", [2, 2]]], label_shapes=[["softmax_label", [2]]])
    mod.init_params(mx.init.One())
    mod.forward(mx.io.DataBatch([mx.nd.array(ROWS[:2])], [mx.nd.array([0, 1])]), is_train=False)
    return mod.get_outputs()[0]


def numpy_array_in_predict(mx: Any) -> Any:
    return _module(mx).predict(ROWS[:4])


def data_iterator_without_labels_in_fit(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.fit(mx.io.NDArrayIter(ROWS, None, 2), num_epoch=1)
    return mod.get_params()[0]


def iterator_of_another_data_name(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2, data_name="x"), num_epoch=1, initializer=mx.init.One())
    return mod.get_params()[0]


def iterator_of_another_label_name(mx: Any) -> Any:
    mod = mx.mod.Module(_network(mx))
    mod.fit(mx.io.NDArrayIter(ROWS, np.arange(6) % 3, 2, label_name="y"), num_epoch=1, initializer=mx.init.One())
    return mod.get_params()[0]


def data_described_in_another_order(mx: Any) -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    mod = mx.mod.Module(a - 2 * b, data_names=["b", "a"], label_names=None)
    mod.bind([("a", (2,)), ("b", (2,))], for_training=False)
    mod.init_params()
    mod.forward(mx.io.DataBatch([mx.nd.array([1, 2]), mx.nd.array([10, 20])]))
    return mod.get_outputs()[0]


def loader_of_a_negative_number_of_workers(mx: Any) -> Any:
    return list(mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(ROWS), 4, num_workers=-1))

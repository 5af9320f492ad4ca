"""Lazy updates read and write the rows of the gradient and no others, and gradients of large tables are never dense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.backend import sparse
from twofold.backend.sparse import sorted_rows
from twofold.config import SETTINGS
from twofold.imperative import window
from twofold.imperative.counters import COUNTERS
from twofold.optimizer import multi_tensor
from twofold_numpy import scatter

ROWS, COLUMNS = 200_000, 16
TABLE_BYTES = ROWS * COLUMNS * 4
TOUCHED = np.array([3, 77, 199_999])


def _bytes(action) -> int:
    """The most bytes that an action allocates at a time. NumPy tells tracemalloc of its arrays."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "options"), [("sgd", {"wd": 0.1}), ("sgd", {"momentum": 0.9}), ("adam", {"wd": 0.1}), ("adagrad", {}), ("groupadagrad", {})]
)
def test_only_the_rows_of_the_gradient_are_read_and_written(name, options):
    start = np.full((ROWS, COLUMNS), np.nan, "float32")  # whatever reads another row computes NaN
    start[TOUCHED] = 1
    weight, small = nd.array(start), nd.ones((3, COLUMNS))
    gradient = nd.sparse.row_sparse_array((np.ones((3, COLUMNS), "float32"), TOUCHED), shape=(ROWS, COLUMNS))
    update, dense_update = (mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options)) for _ in range(2))
    for _ in range(3):
        update(0, gradient, weight)
        dense_update(0, nd.ones((3, COLUMNS)), small)
    spent = _bytes(lambda: update(0, gradient, weight))
    dense_update(0, nd.ones((3, COLUMNS)), small)
    found = weight.asnumpy()
    np.testing.assert_allclose(found[TOUCHED], small.asnumpy(), rtol=1e-6)
    assert np.isnan(np.delete(found, TOUCHED, axis=0)).all()
    assert spent < TABLE_BYTES / 100


@pytest.mark.parametrize("kind", ["embedding", "take", "csr"])
def test_the_gradient_of_a_large_table_is_never_dense(kind):
    table = nd.ones((ROWS, COLUMNS))
    table.attach_grad(stype="row_sparse")
    index = nd.array(TOUCHED)
    csr = nd.sparse.csr_matrix(([1.0, 2, 3], TOUCHED, [0, 2, 3]), shape=(2, ROWS))

    def step() -> None:
        with mx.autograd.record():
            if kind == "csr":
                found = nd.sparse.dot(csr, table)
            elif kind == "take":
                found = nd.take(table, index)
            else:
                found = nd.Embedding(index, table, input_dim=ROWS, output_dim=COLUMNS, sparse_grad=True)
            loss = found.sum()
        loss.backward()

    for _ in range(3):
        step()
    assert _bytes(step) < TABLE_BYTES / 100
    assert table.grad.indices.asnumpy().tolist() == TOUCHED.tolist()
    expected = [[1], [2], [3]] if kind == "csr" else [[1], [1], [1]]
    np.testing.assert_array_equal(table.grad.data.asnumpy(), np.broadcast_to(expected, (3, COLUMNS)))


def test_a_gradient_that_no_operation_keeps_in_rows_is_converted():
    x = nd.array([[1.0, 2], [0, 0], [3, 4]])
    x.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        loss = (x * x).sum()
    loss.backward()
    assert x.grad.indices.asnumpy().tolist() == [0, 2]
    np.testing.assert_array_equal(x.grad.asnumpy(), [[2, 4], [0, 0], [6, 8]])


def test_added_gradients_keep_all_their_rows():
    table = nd.ones((6, 2))
    table.attach_grad("add", stype="row_sparse")
    for index in ([1, 3], [3, 5]):
        with mx.autograd.record():
            loss = nd.take(table, nd.array(index)).sum()
        loss.backward()
    assert table.grad.stype == "row_sparse"
    np.testing.assert_array_equal(table.grad.asnumpy()[:, 0], [0, 1, 0, 2, 0, 1])


def test_gradients_of_sparse_arrays_are_of_what_they_store():
    rows, csr = nd.array([[1, 2], [0, 0], [3, 4.0]]).tostype("row_sparse"), nd.array([[1, 0, 2], [0, 0, 3.0]]).tostype("csr")
    rows.attach_grad()
    csr.attach_grad()
    with mx.autograd.record():
        loss = (nd.sparse.square(rows).tostype("default")).sum() + nd.sparse.dot(csr, nd.array([[1], [2], [3.0]])).sum()
    loss.backward()
    assert (rows.grad.stype, csr.grad.stype) == ("row_sparse", "csr")
    np.testing.assert_array_equal(rows.grad.asnumpy(), [[2, 4], [0, 0], [6, 8]])
    np.testing.assert_array_equal(csr.grad.asnumpy(), [[1, 0, 3], [0, 0, 3]])
    (found,) = mx.autograd.grad([_squares(rows)], [rows])
    np.testing.assert_array_equal(found.asnumpy(), [[2, 4], [0, 0], [6, 8]])


def _squares(rows):
    with mx.autograd.record():
        return nd.sparse.square(rows).tostype("default").sum()


def test_batches_that_look_up_other_rows_take_the_programs_of_earlier_ones():
    draw = np.random.RandomState(0)
    layer = mx.gluon.contrib.nn.SparseEmbedding(3000, 4)
    layer.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5})
    expected = np.ones((3000, 4), "float32")

    def step(distinct):
        numbers = draw.choice(draw.choice(3000, distinct, replace=False), (8, 40))
        with mx.autograd.record():
            loss = (layer(nd.array(numbers)) * 2).sum()
        loss.backward()
        trainer.step(1)
        np.subtract.at(expected, numbers, 1)
        return layer.weight.list_grad()[0].indices.shape[0]

    used = {step(distinct) for distinct in (150, 300)}
    COUNTERS.reset()
    used |= {step(distinct) for distinct in (151, 155, 290, 299)}
    assert len(used) == 6
    if mx.current_context() == mx.cpu():
        assert COUNTERS.compiled <= 1  # 16 or 32 rows more or less: the update of another padded size
    np.testing.assert_array_equal(layer.weight.list_row_sparse_data(nd.arange(3000))[0].asnumpy(), expected)


@pytest.mark.parametrize("is_compiled", [False, True], ids=["NumPy", "machine code"])
@pytest.mark.parametrize("shape", [(7,), (32,), (3, 41), (), (0,)])
@pytest.mark.parametrize(("count", "limit"), [(1, 1), (300, 1000), (300, 300), (300, 40), (300, 3), (300, 1 << 60), (3, 1 << 59)])
def test_repeated_rows_are_added_in_the_order_given(count, limit, shape, is_compiled, monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", lambda work: is_compiled)
    monkeypatch.setattr(SETTINGS, "jit", is_compiled)
    draw = np.random.default_rng(0)
    numbers, values = draw.integers(limit, size=count), draw.normal(size=(count, *shape)).astype("f")
    numbers[count // 2 :] = numbers[: count - count // 2]
    found, rows = sorted_rows(values, numbers)
    expected, groups = np.unique(numbers, return_inverse=True)
    sums = np.zeros((expected.size, *shape), "f")
    np.add.at(sums, groups, values)
    assert rows.tolist() == expected.tolist()
    assert found.tobytes() == sums.tobytes()


def test_sparse_backward_hands_out_no_values_that_only_it_reads(monkeypatch):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Embedding(50, 64, sparse_grad=True), mx.gluon.nn.Dense(3, activation="tanh", flatten=False))
    net.initialize()
    x = nd.array(np.arange(4000) % 40)  # so many that the operations wait
    saved = []
    save = window.Window._value_to_save
    monkeypatch.setattr(window.Window, "_value_to_save", lambda *args: (saved.append(args[1]), save(*args))[1])
    for _ in range(2):
        saved.clear()
        with mx.autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
    assert loss.asscalar() > 0
    assert not saved
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        loss.backward()


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_dense_weights_beside_sparse_gradients_are_updated_together(name, monkeypatch):
    def trained(sparse: bool) -> list[np.ndarray]:
        mx.random.seed(0)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Embedding(50, 4, sparse_grad=sparse), mx.gluon.nn.Dense(3), mx.gluon.nn.Dense(2))
        net.initialize(mx.init.Xavier())
        trainer = mx.gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1})
        for _ in range(3):
            with mx.autograd.record():
                loss = (net(nd.array([[1, 7, 7], [2, 0, 9]])) ** 2).sum()
            loss.backward()
            calls.clear()
            trainer.step(1)
        return [p.data().asnumpy() for p in net.collect_params().values()]

    calls, invoke = [], multi_tensor.invoke
    monkeypatch.setattr(multi_tensor, "invoke", lambda *args: (calls.append(args[0]), invoke(*args))[1])
    found = trained(sparse=True)
    assert len(calls) == 1
    for one, other in zip(found[1:], trained(sparse=False)[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_an_error_while_rows_are_summed_leaves_the_graph_whole(monkeypatch):
    weight = nd.ones((6, 2))
    weight.attach_grad(stype="row_sparse")

    def fails(*rows):
        monkeypatch.undo()
        raise MemoryError

    for k in range(2):  # the second time the program is known
        with mx.autograd.record():
            loss = (nd.Embedding(nd.array([1, 2]), weight, input_dim=6, output_dim=2, sparse_grad=True) ** 2).sum()
        if k:
            monkeypatch.setattr(sparse, "sorted_rows", fails)
            with pytest.raises(MemoryError):
                loss.backward()
        loss.backward()
        assert weight.grad.data.asnumpy().tolist() == [[2, 2], [2, 2]]


def test_an_update_beside_a_recording():
    weight = nd.ones((10, 2))
    weight.attach_grad()
    gradient = nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [3]), shape=(10, 2))
    with mx.autograd.record():
        loss = (weight * weight).sum()
        new = nd.sgd_update(weight, gradient, lr=0.5)
    loss.backward()
    assert weight.grad.asnumpy().tolist() == [[2, 2]] * 10
    assert weight.asnumpy().tolist() == [[1, 1]] * 10
    assert new.asnumpy().tolist() == [[0.5 if k == 3 else 1] * 2 for k in range(10)]


def test_a_gradient_of_another_shape_changes_nothing():
    weight, gradient = nd.ones((10, 2)), nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [15]), shape=(20, 2))
    with pytest.raises(mx.MXNetError, match=r"sgd_update: the gradient does not fit the weight: given \(20, 2\) for \(10, 2\)"):
        nd.sgd_update(weight, gradient, lr=0.5, out=weight)
    assert (weight.asnumpy() == 1).all()


def test_updates_of_rows_stay_lazy_when_they_are_called_often():
    weight, gradient = nd.ones((4, 2)), nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [3]), shape=(4, 2))
    for _ in range(5):  # the third call is a function of its own
        new = nd.sgd_update(weight, gradient, lr=0.5, wd=0.5)
        assert new.asnumpy().tolist() == [[1, 1]] * 3 + [[0.25, 0.25]]
    assert (weight.asnumpy() == 1).all()

"""Executors with sparse arrays: what MXNet refuses, gradients that it leaves out, and what is never made dense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import twofold as mx
from twofold.imperative import storage
from twofold.imperative.counters import COUNTERS
from twofold.imperative.storage import SparseValue
from twofold.symbol import segment_runner

DENSE = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], "f")


def most_bytes(action):
    """The most bytes that an action allocates at a time. NumPy tells tracemalloc of its arrays."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def linear(**stypes):
    return mx.sym.dot(mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", **stypes))


def test_an_executor_of_sparse_arrays_takes_other_shapes():
    executor = linear(stype="row_sparse").simple_bind(mx.cpu(), grad_req={"w": "write"}, x=(3, 3), w=(3, 2))
    executor.arg_dict["w"][:] = mx.nd.ones((3, 2)).tostype("row_sparse")
    small = executor.reshape(x=(2, 3), w=(3, 2), partial_shaping=True)
    result = small.forward(is_train=True, x=mx.nd.array(DENSE[:2]).tostype("csr"))[0]
    small.backward(mx.nd.ones((2, 2)))
    assert [a.stype for a in small.arg_arrays] == ["csr", "row_sparse"]
    np.testing.assert_array_equal(result.asnumpy(), DENSE[:2] @ np.ones((3, 2)))
    assert small.grad_dict["w"].indices.asnumpy().tolist() == [1]


def test_row_sparse_gradients_are_added():
    symbol = mx.sym.Embedding(mx.sym.Variable("i"), mx.sym.Variable("w"), input_dim=4, output_dim=2, sparse_grad=True)
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "add"}, i=(2,))
    for index in ([0, 2], [2, 2]):
        executor.forward(is_train=True, i=mx.nd.array(index))
        executor.backward(mx.nd.ones((2, 2)))
    grad = executor.grad_dict["w"]
    assert grad.indices.asnumpy().tolist() == [0, 2]
    assert grad.data.asnumpy().tolist() == [[1, 1], [3, 3]]


def test_the_gradient_of_a_csr_matrix_has_its_places():
    executor = linear().simple_bind(mx.cpu(), x=(3, 3), w=(3, 2))
    weight, head = np.arange(6, dtype="f").reshape(3, 2), np.array([[1, 2], [3, 4], [5, 6]], "f")
    executor.arg_dict["w"][:] = weight
    executor.forward(is_train=True, x=mx.nd.array(DENSE).tostype("csr"))
    executor.backward(mx.nd.array(head))
    grad = executor.grad_dict["x"]
    assert grad.stype == "csr"
    np.testing.assert_array_equal(grad.asnumpy(), np.where(DENSE != 0, head @ weight.T, 0))


def test_gradients_through_a_cast_are_those_of_all_elements():
    x = mx.sym.Variable("x")
    symbol = mx.sym.dot(mx.sym.cast_storage(x * 2, stype="csr"), mx.sym.Variable("w"))
    executor = symbol.bind(mx.cpu(), {"x": mx.nd.array(DENSE), "w": mx.nd.ones((3, 1))}, {"x": mx.nd.zeros((3, 3))})
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 1)))
    assert (executor.grad_dict["x"].asnumpy() == 2).all()


def test_a_write_before_backward_does_not_reach_it():
    w = mx.nd.array([[1.0, 2], [3, 4], [5, 6]])
    symbol = mx.sym.square(mx.sym.Embedding(mx.sym.Variable("i"), mx.sym.Variable("w"), input_dim=3, output_dim=2, sparse_grad=True))
    grad = mx.nd.sparse.zeros("row_sparse", (3, 2))
    executor = symbol.bind(mx.cpu(), {"i": mx.nd.array([1]), "w": w}, {"w": grad})
    executor.forward(is_train=True)
    w[:] = 0
    executor.backward(mx.nd.ones((1, 2)))
    assert grad.data.asnumpy().tolist() == [[6, 8]]
    assert (w.asnumpy() == 0).all()


def test_an_operator_without_a_form_names_itself_once():
    storage.WARNED.clear()
    symbol = mx.sym.transpose(mx.sym.Variable("w", stype="row_sparse"))
    with pytest.warns(UserWarning, match="transpose: operands of storage types row_sparse are made dense") as found:
        symbol.simple_bind(mx.cpu(), w=(3, 2)).forward()
    assert len(found) == 1
    symbol.simple_bind(mx.cpu(), w=(3, 2)).forward()  # warnings are errors in tests


def test_nothing_is_made_dense(monkeypatch):
    """A training step of a model with sparse operands only: no array of the weight's or the data's shape is made."""

    def refuse(self):
        raise AssertionError("made dense")

    symbol = mx.sym.LogisticRegressionOutput(linear(stype="row_sparse"), mx.sym.Variable("y"))
    rows, columns = 4, 10**9  # a dense array of this size would not fit into memory
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"}, x=(rows, columns), w=(columns, 1), y=(rows, 1))
    at = np.array([5, 10**8, 10**9 - 1])
    executor.arg_dict["w"][:] = mx.nd.sparse.row_sparse_array((np.ones((3, 1), "f"), at), shape=(columns, 1))
    data = mx.nd.sparse.csr_matrix((np.ones(4, "f"), at[[0, 1, 1, 2]], [0, 1, 2, 3, 4]), shape=(rows, columns))
    monkeypatch.setattr(SparseValue, "dense", refuse)
    result = executor.forward(is_train=True, x=data)[0]
    executor.backward()
    np.testing.assert_allclose(result.asnumpy(), np.full((4, 1), 1 / (1 + np.exp(-1))), rtol=1e-6)
    assert executor.grad_dict["w"].indices.asnumpy().tolist() == at.tolist()


@pytest.mark.parametrize("store", ["store", "device"])
def test_a_step_of_a_module_reads_and_writes_the_rows_of_its_batch(store):
    rows, columns = 200_000, 16
    symbol = mx.sym.LinearRegressionOutput(linear(stype="row_sparse", shape=(rows, columns)), mx.sym.Variable("y"))
    module = mx.mod.Module(symbol, data_names=["x"], label_names=["y"])
    module.bind([("x", (2, rows))], [("y", (2, columns))])
    weight = np.full((rows, columns), np.nan, "f")  # whatever reads another row computes NaN
    touched = np.array([3, 77, 199_999])
    weight[touched] = 1
    module.init_params(arg_params={"w": mx.nd.array(weight)}, aux_params={})
    kvstore = mx.kv.create("local") if store == "store" else None
    module.init_optimizer(kvstore, "adam", {"learning_rate": 0.1, "wd": 0.1})
    data = mx.nd.sparse.csr_matrix((np.ones(4, "f"), touched[[0, 1, 1, 2]], [0, 2, 4]), shape=(2, rows))
    batch = mx.io.DataBatch([data], [mx.nd.zeros((2, columns))])

    def step():
        if kvstore is not None:
            module.prepare(batch, lambda b: {"w": b.data[0].indices})
        module.forward_backward(batch)
        module.update()

    for _ in range(3):
        step()
    spent = most_bytes(step)
    on_device = module._exec_group.param_arrays[0][0].indices.asnumpy()
    assert on_device.tolist() == touched.tolist() if kvstore is not None else len(on_device) == rows
    found = module.get_params()[0]["w"].asnumpy()
    assert np.isfinite(found[touched]).all()
    assert np.isnan(np.delete(found, touched, axis=0)).all()
    assert spent < weight.nbytes / 20  # an index array of a row each would be an eighth


def machine():
    """A step of a factorization machine, as a function of the number of stored rows of its weights."""
    x, w, v = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse"), mx.sym.Variable("v", stype="row_sparse")
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
    symbol = mx.sym.dot(x, w) + mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True) - squares
    executor = symbol.simple_bind(mx.current_context(), grad_req={"w": "write", "v": "write"}, x=(4, 90), w=(90, 1), v=(90, 3))
    draw = np.random.RandomState(0)

    def step(count):
        """The output and the parts of both gradients, for weights of which so many rows are stored."""
        columns = np.sort(draw.permutation(90)[:count])
        data = mx.nd.sparse.csr_matrix((np.ones(8, "f"), draw.choice(columns, 8), [0, 2, 4, 6, 8]), shape=(4, 90))
        for name, width in (("w", 1), ("v", 3)):
            rows = draw.randn(count, width).astype("f")
            mx.nd.sparse.row_sparse_array((rows, columns), shape=(90, width)).copyto(executor.arg_dict[name])
        output = executor.forward(is_train=True, x=data)[0]
        executor.backward(mx.nd.ones((4, 1)))
        grads = [executor.grad_dict[name] for name in ("w", "v")]
        return [a.asnumpy() for a in (output, *[part for g in grads for part in (g.data, g.indices)])]

    return step


def test_weights_with_another_number_of_rows_take_the_programs_of_earlier_batches(monkeypatch):
    step, counts = machine(), [17, 32, 20, 25, 29, 18, 31]
    found = [step(count) for count in counts[:2]]
    COUNTERS.reset()
    found += [step(count) for count in counts[2:]]
    if mx.current_context() == mx.cpu():  # on GPUs also the rows' copies are programs
        assert COUNTERS.compiled == 0
    monkeypatch.setattr(segment_runner, "with_spare_rows", lambda *given: set())
    step = machine()
    for results, count in zip(found, counts, strict=True):
        for one, other in zip(results, step(count), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_rows_that_are_all_read_have_none_behind_them():
    w = mx.sym.Variable("w", stype="row_sparse")
    sums = mx.sym._internal._square_sum
    x = mx.sym.dot(mx.sym.Variable("x", stype="csr"), sums(w, axis=1, keepdims=True))
    for symbol in (sums(w, axis=1, keepdims=True), sums(w, axis=0), mx.sym.square(w), mx.sym.Group([x, sums(w, axis=1)])):
        shapes = {"x": (2, 40), "w": (40, 3)}
        executor = symbol.simple_bind(mx.current_context(), grad_req={"w": "write"}, **{k: shapes[k] for k in symbol.list_arguments()})
        rows = np.arange(51, dtype="f").reshape(17, 3)
        mx.nd.sparse.row_sparse_array((rows, np.arange(0, 34, 2)), shape=(40, 3)).copyto(executor.arg_dict["w"])
        output = executor.forward(is_train=True)[-1]
        whole = np.zeros((40, 3), "f")
        whole[0:34:2] = rows
        squares = whole * whole
        expected = {(40, 1): squares.sum(1, keepdims=True), (3,): squares.sum(0), (40, 3): squares, (40,): squares.sum(1)}[output.shape]
        np.testing.assert_array_equal(output.asnumpy(), expected)
        executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
        assert executor.grad_dict["w"].shape == (40, 3)
        if len(executor.outputs) == 1:
            np.testing.assert_array_equal(executor.grad_dict["w"].asnumpy(), 2 * whole)

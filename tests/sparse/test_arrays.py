"""Sparse arrays: what is warned of once, refused at use, pickled and saved; and that dense arrays never see any of it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import DeviceOutOfMemory, IndexingError, MXNetError, NotSupportedForSparseNDArray, ParameterError, ShapeError
from twofold.imperative import storage
from twofold.imperative.cell import HOST

DENSE = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], "float32")


@pytest.fixture(autouse=True)
def _nothing_warned() -> None:
    storage.WARNED.clear()


def test_an_operator_without_a_form_warns_once_and_names_itself():
    csr = nd.array(DENSE).tostype("csr")
    with pytest.warns(UserWarning, match=r"exp: operands of storage types csr are made dense"):
        first = nd.exp(csr)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = nd.exp(csr)
    for found in (first, again):
        assert found.stype == "default"
        np.testing.assert_allclose(found.asnumpy(), np.exp(DENSE), rtol=1e-6)


def test_the_warning_can_be_turned_off_as_in_mxnet(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    nd.exp(nd.array(DENSE).tostype("csr"))


@pytest.mark.parametrize(
    ("parts", "error", "match"),
    [
        (([1, 2, 3], [0, 5, 1], [0, 2, 2, 3]), IndexingError, "5 for size 3; pass indices from 0 to 2"),
        (([1, 2, 3], [0, -1, 1], [0, 2, 2, 3]), IndexingError, "-1 for size 3"),
        (([1, 2, 3], [0, 2, 1], [1, 2, 2, 3]), ShapeError, "from 1 to 3 for 3 elements"),
        (([1, 2, 3], [0, 2, 1], [0, 2, 2, 9]), ShapeError, "from 0 to 9"),
        (([1, 2, 3], [0, 2, 1], [0, 2, 1, 3]), ShapeError, "indptr does not increase"),
        (([1, 2, 3], [0, 2, 1], [0, 2, 3]), ShapeError, r"indptr \(3,\)"),
        (([1, 2], [0, 2, 1], [0, 2, 2, 3]), ShapeError, r"data \(2,\)"),
    ],
)
def test_a_malformed_csr_matrix_is_refused_at_its_first_use(parts, error, match):
    uses = (
        lambda a: a.asnumpy(),
        lambda a: a[0:1],
        lambda a: nd.sparse.dot(a, nd.ones((3, 2))),
        lambda a: a + a,
        lambda a: a.tostype("default"),
    )
    for use in uses:
        bad = nd.sparse.csr_matrix(parts, shape=(3, 3))
        with pytest.raises(error, match=match) as caught:
            use(bad)
        assert isinstance(caught.value, MXNetError)


def test_malformed_row_sparse_arrays_are_refused():
    with pytest.raises(IndexingError, match="a row index is out of range: given 7 for size 3"):
        nd.sparse.row_sparse_array(([[1, 2]], [7]), shape=(3, 2)).asnumpy()
    with pytest.raises(ShapeError, match="do not fit together"):
        nd.sparse.row_sparse_array(([[1, 2]], [0, 1]), shape=(3, 2))
    with pytest.raises(IndexingError, match="not sorted, or occur twice"):
        nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 1]), shape=(3, 2)).check_format()


@pytest.mark.parametrize("indices", [[0, np.nan], [0, np.inf], ["0", "1"]])
def test_indices_that_are_no_integers_are_refused(indices):
    with pytest.raises(ParameterError, match="values must be array like object"):
        nd.sparse.row_sparse_array(([[1, 2], [3, 4]], indices), shape=(3, 2))
    with pytest.raises(ParameterError, match="values must be array like object"):
        nd.sparse.csr_matrix(([1, 2], indices, [0, 1, 2]), shape=(2, 3))


def test_elements_at_one_place_are_added_and_their_order_does_not_matter():
    dense, right = np.array([[3, 0, 3], [0, 0, 0], [0, 4, 0]], "f"), np.arange(6, dtype="f").reshape(3, 2)
    a = nd.sparse.csr_matrix(([2.0, 3, 1, 4], [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 3))
    np.testing.assert_array_equal(a.asnumpy(), dense)
    np.testing.assert_array_equal(nd.sparse.dot(a, nd.array(right)).asnumpy(), dense @ right)
    np.testing.assert_array_equal(nd.sparse.dot(a, nd.array(right), transpose_a=True).asnumpy(), dense.T @ right)
    np.testing.assert_array_equal(nd.sparse.sum(a, axis=0).asnumpy(), dense.sum(axis=0))
    np.testing.assert_array_equal((a * 2).asnumpy(), dense * 2)


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad"])
def test_a_lazy_update_adds_rows_that_occur_twice(name):
    def updated(gradient):
        weight = nd.ones((3, 2))
        mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.5))(0, gradient, weight)
        return weight.asnumpy()

    twice = nd.sparse.row_sparse_array(([[1, 2], [5, 6], [3, 4]], [2, 0, 2]), shape=(3, 2))
    once = nd.sparse.row_sparse_array(([[5, 6], [4, 6]], [0, 2]), shape=(3, 2))
    np.testing.assert_array_equal(updated(twice), updated(once))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_pickles_keep_what_is_stored(stype):
    array = nd.array(DENSE, dtype="float16").tostype(stype)
    again = pickle.loads(pickle.dumps(array))
    assert (again.stype, again.dtype, again.shape) == (stype, np.float16, (3, 3))
    np.testing.assert_array_equal(again.indices.asnumpy(), array.indices.asnumpy())
    np.testing.assert_array_equal(again.asnumpy(), DENSE)


def test_a_dense_array_takes_a_sparse_ones_elements():
    dense = nd.ones((3, 3))
    dense[:] = nd.array(DENSE).tostype("csr")
    np.testing.assert_array_equal(dense.asnumpy(), DENSE)


def test_views_of_sparse_arrays_are_refused():
    with pytest.raises(NotSupportedForSparseNDArray):
        nd.array(DENSE).tostype("csr").reshape((9,))


def test_unknown_storage_types_are_refused_in_symbols():
    with pytest.raises(mx.MXNetError, match="csx"):
        mx.sym.cast_storage(mx.sym.Variable("x"), stype="csx")


def test_arrays_of_three_axes_are_not_csr():
    with pytest.raises(mx.MXNetError, match="should be 2 Dimensional"):
        mx.sym.cast_storage(mx.sym.Variable("x"), stype="csr").eval(x=nd.ones((2, 2, 2)))


def test_a_dense_array_takes_the_sum_with_a_sparse_one_in_place():
    x = nd.ones((3, 3))
    x += nd.array(DENSE).tostype("row_sparse")
    assert (x.asnumpy() == DENSE + 1).all()


def test_gradients_flow_through_storage_and_products():
    weight, rows = nd.array([[1.0, 2], [3, 4], [5, 6]]), nd.array([0, 2])
    weight.attach_grad()
    with mx.autograd.record():
        stored = weight.tostype("row_sparse").retain(rows)
        loss = (nd.sparse.dot(nd.array(DENSE).tostype("csr"), weight) * 2 + stored.tostype("default")).sum()
    loss.backward()
    expected = 2 * DENSE.sum(0)[:, None] * np.ones((1, 2)) + [[1, 1], [0, 0], [1, 1]]
    np.testing.assert_allclose(weight.grad.asnumpy(), expected)


def test_products_of_large_matrices_agree_with_dense_ones():
    rng = np.random.default_rng(5)
    dense = (rng.random((200, 300)) * (rng.random((200, 300)) > 0.95)).astype("float32")
    other = rng.random((300, 7)).astype("float32")
    csr = nd.array(dense).tostype("csr")
    np.testing.assert_allclose(nd.sparse.dot(csr, nd.array(other)).asnumpy(), dense @ other, rtol=1e-5)
    turned = nd.sparse.dot(csr, nd.array(dense @ other), transpose_a=True)
    assert turned.stype == "row_sparse"
    np.testing.assert_allclose(turned.asnumpy(), dense.T @ (dense @ other), rtol=1e-5)


def test_a_graph_computes_with_dense_copies_of_sparse_arguments():
    product = mx.sym.sparse.dot(mx.sym.var("x", stype="csr"), mx.sym.var("w", stype="row_sparse"))
    arguments = {"x": nd.array(DENSE).tostype("csr"), "w": nd.ones((3, 2)).tostype("row_sparse")}
    gradient = nd.sparse.zeros("row_sparse", (3, 2))
    executor = product.bind(mx.cpu(), arguments, args_grad={"w": gradient}, grad_req={"w": "write", "x": "null"})
    for _ in range(2):
        np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), DENSE @ np.ones((3, 2)))
        executor.backward(nd.ones((3, 2)))
    assert (arguments["x"].stype, gradient.stype) == ("csr", "row_sparse")
    np.testing.assert_array_equal(gradient.asnumpy(), DENSE.T @ np.ones((3, 2)))


def test_functions_and_operators_of_sparse_arrays_agree():
    csr = nd.array(DENSE).tostype("csr")
    assert (nd.add(csr, csr).stype, (csr + csr).stype) == ("csr", "csr")


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_batches_of_a_sparse_matrix_are_dense(stype):
    last = "discard" if stype == "csr" else "pad"
    iterator = mx.io.NDArrayIter(nd.array(DENSE).tostype(stype), nd.array([0, 1, 2]), batch_size=1, last_batch_handle=last)
    batches = [b.data[0] for b in iterator]
    assert [(x.stype, x.asnumpy()[0].tolist()) for x in batches] == [("default", row) for row in DENSE.tolist()]


@pytest.mark.parametrize("last", ["pad", "roll_over"])
def test_incomplete_batches_of_csr_matrices_are_refused(last):
    matrix = nd.array(DENSE).tostype("csr")
    for given in ((matrix, None), (nd.array(DENSE), {"label": matrix})):
        with pytest.raises(NotImplementedError, match="only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`"):
            mx.io.NDArrayIter(*given, batch_size=2, last_batch_handle=last)


def test_gs_retain_is_retain():
    rows = nd.sparse.gs_retain(nd.array(DENSE).tostype("row_sparse"), nd.array([2, 1]))
    assert (rows.stype, rows.indices.asnumpy().tolist(), rows.data.asnumpy().tolist()) == ("row_sparse", [2, 1], DENSE[[2, 1]].tolist())


def test_a_product_that_does_not_fit_is_the_documented_error(monkeypatch):
    def full(*_, **__):
        raise MemoryError("Unable to allocate 30.2 GiB")

    monkeypatch.setattr(type(HOST.xp), "csr_transposed_matmul", full)
    dense = nd.ones((1, 4), ctx=mx.cpu())
    with pytest.raises(DeviceOutOfMemory, match=r"does not fit into memory: Unable to allocate 30\.2 GiB"):
        nd.sparse.dot(dense.tostype("csr"), dense, transpose_a=True)


@pytest.mark.parametrize("value", ["a", b"a", None, [1, 2], (1, 2), [["a"]], object()])
def test_what_is_no_array_is_not_assigned(value):
    """MXNet raises TypeError for all that is neither an array nor a number."""
    for stype in ("csr", "row_sparse"):
        x = mx.nd.ones((2, 3)).tostype(stype)
        with pytest.raises(TypeError):
            x[:] = value


@pytest.mark.parametrize("key", [None, "a", [0]])
def test_assignment_to_what_is_neither_a_slice_nor_a_number_is_an_assertion(key):
    x = mx.nd.ones((2, 3)).tostype("csr")
    with pytest.raises(AssertionError):
        x[key] = 1


@pytest.mark.parametrize("rows", [[4], [-1], [0, 9], [float("nan")]])
def test_a_store_has_no_rows_outside_its_array(rows):
    store, out = mx.kv.create("local"), mx.nd.sparse.zeros("row_sparse", (4, 2))
    store.init("w", mx.nd.ones((4, 2)).tostype("row_sparse"))
    with pytest.raises(ShapeError, match=r"row_sparse_pull: key 'w' has no such row: given row_ids from .*; pass row numbers from 0 to 3"):
        store.row_sparse_pull("w", out=out, row_ids=mx.nd.array(rows))
    store.row_sparse_pull("w", out=out, row_ids=mx.nd.array([3, 0]))
    assert out.indices.asnumpy().tolist() == [0, 3]

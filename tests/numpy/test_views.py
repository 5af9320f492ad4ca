"""Views are as in NumPy: what shares memory there shares it here, and what is copied there is copied here."""

import weakref

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twofold as mx
import twofold.numpy as np
from twofold import autograd, nd
from twofold.errors import ParameterError

from tests.ndarray.test_indexing import array_items
from tests.probe import captured

VIEWS = {
    "transpose": "a.T",
    "transpose of some": "a.transpose(1, 0, 2)",
    "swapaxes": "a.swapaxes(0, 2)",
    "moveaxis": "np.moveaxis(a, 0, 1)",
    "rollaxis": "np.rollaxis(a, 2)",
    "reshape": "a.reshape(4, 6)",
    "reshape of a slice": "a[:, 1:].reshape(2, 8)",
    "ravel": "a.ravel()",
    "ravel of a part": "a[1].ravel()",
    "integer": "a[1]",
    "slices": "a[:, ::-1, ::2]",
    "ellipsis": "a[..., 0]",
    "element with an ellipsis": "a[1, 2, 3, ...]",
    "new axes": "a[None, :, None]",
    "expand_dims": "np.expand_dims(a, 1)",
    "squeeze": "a[:1].squeeze()",
    "flip": "np.flip(a, 1)",
    "rot90": "np.rot90(a)",
    "split": "np.split(a, 2, axis=2)[1]",
    "array_split": "np.array_split(a, 2, 1)[1]",
    "atleast_3d": "np.atleast_3d(a[0])",
    "view": "a.view()",
    "view of a view of a view": "a.T[1:].swapaxes(0, 1)[:, ::-1]",
    "asarray": "np.asarray(a)",
    "real": "a.real",
    "flat of a contiguous part": "a[1].reshape(-1)",
}
COPIES = {
    "reshape of a transpose": "a.T.reshape(-1)",
    "reshape of a reversal": "a[:, ::-1].reshape(-1)",
    "ravel of a strided part": "a[:, ::2].ravel()",
    "ravel of a strided vector": "np.ravel(a[0, 0, ::2])",
    "ravel of every other matrix's column": "a[..., 1].ravel()",
    "ravel of a reversal": "a[1, 1, ::-1].ravel()",
    "flatten": "a.flatten()",
    "copy": "a.copy()",
    "array": "np.array(a)",
    "astype": "a.astype(a.dtype)",
    "index array": "a[[0, 1]]",
    "mask": "a[a > 3]",
    "integer array without axes": "a[np.array(1)]",
    "element": "a[1, 2, 3]",
    "repeat": "np.repeat(a, 1)",
    "roll": "np.roll(a, 0, 0)",
    "concatenate": "np.concatenate([a])",
    "take": "np.take(a, [0, 1], 0)",
    "positive": "+a",
    "sort": "np.sort(a)",
    "where": "np.where(a > -1, a, a)",
}


def numbered(module=np):
    return module.arange(24, dtype="float64").reshape(2, 3, 4)


@pytest.mark.parametrize("text", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_memory_both_ways(text):
    a, host = numbered(), numbered(numpy)
    view, expected = eval(text, {"a": a, "np": np}), eval(text, {"a": host, "np": numpy})
    assert numpy.shares_memory(expected, host)
    assert np.shares_memory(view, a)
    view *= -1
    expected *= -1
    numpy.testing.assert_array_equal(a.asnumpy(), host)
    a += 100
    host += 100
    numpy.testing.assert_array_equal(view.asnumpy(), expected)


@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES)
def test_a_copy_shares_nothing(text):
    a, host = numbered(), numbered(numpy)
    copied, expected = eval(text, {"a": a, "np": np}), eval(text, {"a": host, "np": numpy})
    assert not numpy.shares_memory(expected, host)
    assert not np.shares_memory(copied, a)
    a[...] = 0
    numpy.testing.assert_array_equal(numpy.asarray(copied), expected)


@given(st.data())
@settings(max_examples=200)
def test_chains_of_views_match_numpys_values_and_sharing(data):
    a, host = np.arange(24.0), numpy.arange(24.0)
    root, host_root = a, host
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(["transpose", "slice", "reshape"]))
        if kind == "transpose":
            order = data.draw(st.permutations(range(host.ndim)))
            a, host = a.transpose(order), host.transpose(order)
        elif kind == "slice":
            items = tuple(slice(data.draw(st.integers(0, n)), None, data.draw(st.sampled_from([1, 2, -1]))) for n in host.shape)
            a, host = a[items], host[items]
        else:
            shape = data.draw(st.sampled_from([s for s in ((-1,), (2, -1), (-1, 2), (3, -1), (2, -1, 2)) if divides(s, host.size)]))
            a, host = a.reshape(shape), host.reshape(shape)
        numpy.testing.assert_array_equal(a.asnumpy(), host)
        assert np.shares_memory(a, root) == numpy.shares_memory(host, host_root)
        assert a.strides == host.strides or not host.size or not np.shares_memory(a, root) or 1 in host.shape
    a[...] = -1
    host[...] = -1
    numpy.testing.assert_array_equal(root.asnumpy(), host_root)


@given(st.data())
@settings(max_examples=150)
def test_views_and_pending_arrays_read_and_write_at_every_index_as_numpy(data):
    """Plain arrays use NumPy's indexing, all others our own."""
    host = numbered(numpy).transpose(2, 0, 1)
    view, pending = numbered().transpose(2, 0, 1), numbered().transpose(2, 0, 1) + 0
    captured(pending)
    index = data.draw(array_items(host.shape))
    expected = host[index]
    value = numpy.arange(expected.size, dtype="float64").reshape(expected.shape)
    for ours in (view, pending):
        got = ours[index]
        assert got.shape == expected.shape
        numpy.testing.assert_array_equal(got.asnumpy(), expected)
        ours[index] = np.array(value)
    host[index] = value
    numpy.testing.assert_array_equal(view.asnumpy(), host)
    numpy.testing.assert_array_equal(pending.asnumpy(), host)


def divides(shape, size):
    known = 1
    for n in shape:
        known *= n if n > 0 else 1
    return (size % known == 0 and size > 0) or shape == (-1,)


def test_a_base_is_the_owner_of_the_memory():
    a = np.arange(6.0)
    assert a.base is None
    assert a.reshape(2, 3).T[1].base is a
    assert a.copy().base is None


def test_reshape_raises_if_it_must_copy_and_may_not():
    a = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError, match="view of that shape is not possible"):
        a.T.reshape(-1, copy=False)
    assert not np.shares_memory(a.reshape(3, 2, copy=True), a)


@pytest.mark.parametrize("write", ["v[0] = 1", "v += 1", "v[...] = np.zeros(3)", "v.sort()", "np.add(v, 1, out=v)"])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_broadcast_view_cannot_be_written(write, recorded):
    a = np.ones(3)
    a.attach_grad()
    with mx.autograd.record() if recorded else mx.autograd.pause():
        v = np.broadcast_to(a * 1, (2, 3))
        with pytest.raises(ValueError, match="read-only"):
            exec(write, {"v": v, "np": np})


def test_what_is_made_of_flat_is_an_array_like_any_other():
    a = np.arange(6).reshape(2, 3).copy()
    for convert in (np.asarray, np.ascontiguousarray, np.atleast_1d, np.ravel):
        whole = convert(a.flat)
        part = whole[1:3]
        part[:] = -1
        assert (type(whole), [*whole], [*whole]) == (np.ndarray, *[a.reshape(-1).tolist()] * 2)
        assert a.reshape(-1)[1:3].tolist() == [-1, -1]
        a[...] = np.arange(6).reshape(2, 3)
    going, freed = a.flat, weakref.ref(a)
    assert [next(going), next(going)] == [0, 1]
    del a, going, whole, part
    assert freed() is None


def test_arrays_made_of_flat_of_scattered_memory_cannot_be_written():
    a = np.arange(6.0).reshape(2, 3)
    assert a.T.flat.tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(a.T.flat)[0] = 9
    a.flat[4] = 9
    assert a[1, 1] == 9


@pytest.mark.parametrize("shape", [(2, 3), (4,), ()])
def test_nd_and_np_arrays_can_share_memory(shape):
    a = np.zeros(shape)
    other = a.as_nd_ndarray()
    assert isinstance(other, nd.NDArray)
    assert other.shape == (shape or (1,))
    other += 2
    a[...] = a + 1
    assert (a == 3).all()
    assert (other == 3).asnumpy().all()
    back = other.as_np_ndarray()
    back *= 2
    assert (a == 6).all()


def test_the_last_axes_of_an_nd_array_can_be_transposed_as_np():
    x = nd.zeros((2, 3))
    x.as_np_ndarray().T[1] = 5
    assert x.asnumpy().tolist() == [[0, 5, 0], [0, 5, 0]]


def test_views_across_front_ends_are_recorded():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 3
        seen = y.as_nd_ndarray()
        seen *= 2
        z = seen.as_np_ndarray() * x
    z.backward()
    assert x.grad.tolist() == [12, 24]


def test_overlapping_assignments_act_as_if_copied_first():
    a, host = np.arange(8.0), numpy.arange(8.0)
    a[1:] = a[:-1]
    host[1:] = host[:-1]
    a[::2] += a[::-2]
    host[::2] += host[::-2]
    assert a.tolist() == host.tolist()


def test_a_0d_result_is_an_independent_value():
    a = np.arange(4.0)
    total = a.sum()
    best = total
    total += 1
    element = a[2]
    a[2] = 50
    assert (best, total, element) == (6, 7, 2)


MADE_WITHOUT_AXES = (
    "xp.array(1.5)",
    "xp.array(total)",
    "xp.array(xp.array(1.5))",
    "xp.array(2.5).copy()",
    "xp.array(2.5).astype('float32')",
    "xp.asarray(3)",
    "xp.asarray(3, 'float32')",
    "xp.zeros(())",
    "xp.ones((), dtype='int8')",
    "xp.full((), 2)",
    "xp.full((), total)",
    "xp.zeros_like(total)",
    "xp.full_like(3.0, 2)",
    "xp.copy(total)",
    "xp.ndarray((), 'int32')",
)


@pytest.mark.parametrize("size", [3, 200_000])
@pytest.mark.parametrize("text", MADE_WITHOUT_AXES)
def test_an_array_made_without_axes_is_changed_in_place_as_in_numpy(text, size):
    found = []
    for xp in (numpy, np):
        x = eval(text, {"xp": xp, "total": xp.ones(size).sum()})
        x.fill(3)
        same, copied, scalar = x, x.copy(), x[()]
        x += 4
        x -= xp.ones(size, "int8").max()
        x *= xp.asarray(2)
        assert x is same
        found.append((x.dtype, x.item(), copied.item(), scalar.item()))
    assert found[0] == found[1]
    assert found[0][1:] == (12, 3, 3)


def test_a_copy_of_a_total_is_as_immutable_as_the_total():
    for size in (3, 200_000):
        total = np.ones(size).sum().copy()
        before = total
        total += 1
        assert (before, total) == (size, size + 1)


def test_an_empty_index_of_a_variable_is_a_recorded_copy():
    x = np.array(5.0)
    x.attach_grad()
    with autograd.record():
        y = x[()]
        z = y * 2
    y += 1
    z.backward()
    assert (x, y, z, x.grad) == (5, 6, 10, 2)
    x += 1
    assert (x, y) == (6, 6)


def test_a_recorded_sum_into_an_array_made_without_axes_has_gradients():
    x = np.arange(3.0)
    x.attach_grad()
    with autograd.record():
        total = np.zeros(())
        same = total
        for _ in range(3):
            total += (x * x).sum()
    total.backward()
    assert same is total
    assert (total, x.grad.tolist()) == (15, [0, 6, 12])


def test_a_0d_view_or_variable_is_written_in_place():
    a = np.arange(4.0)
    element = a[2, ...]
    element += 10
    assert a[2] == 12
    w = np.array(1.0)
    w.attach_grad()
    same = w
    w -= 0.25
    assert same is w
    assert w == 0.75


def test_view_does_not_reinterpret_the_dtype():
    with pytest.raises(ParameterError, match="cannot be reinterpreted as another type"):
        np.ones(3).view("int64")


@pytest.mark.parametrize("method", ["ravel", "flatten"])
@pytest.mark.parametrize("text", ["A", "A.T", "A[:, 1:]", "A[1:]", "A[0]", "A[:, 0]", "A.ravel()[::2]", "A[:1, :1].T", "A[:0].T"])
@pytest.mark.parametrize("side", [3, 400])
def test_flat_copies_and_views_share_memory_where_numpys_do(method, text, side):
    values = np.arange(side * side, dtype=np.float64).reshape(side, side)
    results = []
    for A in (values.copy(), mx.np.array(values)):
        flat = getattr(eval(text, {"A": A}), method)()
        flat[...] = -1.0
        results.append((flat.shape, np.asarray(A)))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[1][1], results[0][1])


def test_a_view_of_a_whole_array_that_nobody_has_read_has_numpys_methods():
    host = numpy.arange(4.0)
    for view in (np.arange(4.0).view(), mx.nd.array(host, dtype="float64").as_np_ndarray()):
        for make in (lambda x: x.ravel(), lambda x: np.ravel(x), lambda x: x.flatten(), lambda x: x.T, lambda x: x[1:], lambda x: x.copy()):
            numpy.testing.assert_array_equal(make(view.view()).asnumpy(), make(host) if make is not None else host)
        found = view.view()
        assert np.copyto(found, 1.0) is None
        assert found.tolist() == [1, 1, 1, 1]


def test_the_gradient_of_a_view_of_a_marked_array_under_the_other_convention():
    x = mx.nd.array([0.0, 1, 2, 3])
    x.attach_grad()
    y = x.as_np_ndarray()
    with mx.autograd.record():
        loss = (y * y).sum()
    (grad,) = mx.autograd.grad(loss, [y])
    assert (type(grad), grad.tolist()) == (type(y), [0, 2, 4, 6])


def test_a_view_as_an_array_is_one():
    x = np.zeros(3)
    for view in (x.view(np.ndarray), x.view(type=np.ndarray)):
        view += 1
        assert type(view) is np.ndarray
    assert x.tolist() == [2.0, 2.0, 2.0]


FLAT = {"a matrix": lambda a: a, "columns": lambda a: a[:, ::2], "a transpose": lambda a: a.T}


@pytest.mark.parametrize("part", FLAT.values(), ids=FLAT)
def test_parts_of_flat_are_copies_and_its_elements_come_one_by_one(part):
    found = []
    for module in (numpy, np):
        a = module.arange(12.0).reshape(2, 6)
        x = part(a)
        piece, whole = x.flat[1:4], x.flat[:]
        piece += 100
        whole[0] = -1
        rest = x.flat
        first = [next(rest), next(rest), next(iter(rest))]
        read = [float(v) for v, _ in zip(x.flat, range(4), strict=False)]
        found.append([piece.tolist(), float(a[0, 0]), list(map(float, first)), read, len(x.flat), len(list(rest)), len(list(rest))])
    assert found[0] == found[1]


def test_flat_is_written_and_recorded():
    x = np.arange(6.0).reshape(2, 3)
    x.flat[2] = 7
    x.flat[[0, 1]] = [8, 9]
    x.flat[3:] += 1
    assert x.tolist() == [[8, 9, 7], [4, 5, 6]]
    x.attach_grad()
    with mx.autograd.record():
        y = (x.flat[1:3] ** 2).sum() + x.flat[0] * 3 + (x.flat * 2).sum()
    y.backward()
    assert x.grad.tolist() == [[5, 20, 16], [2, 2, 2]]

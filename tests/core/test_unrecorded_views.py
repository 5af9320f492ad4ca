"""Views that are made while nothing is recorded: they share memory, and are constants of what is recorded later."""

import numpy
import pytest

import twofold as mx
from twofold import autograd, nd

#: x, doubled: the gradient of ``(x * x).sum()``.
DOUBLED = (2 * numpy.arange(12.0)).reshape(4, 3).tolist()

VIEWS = {
    "rows": lambda x: x[1:3],
    "a row": lambda x: x[1],
    "a part of a row": lambda x: x[1][0:2],
    "steps": lambda x: x[::2],
    "reshaped": lambda x: x.reshape((3, 4)),
    "transposed": lambda x: x.T,
    "the last of its rows": lambda x: list(x)[-1],
}


def variable(space):
    x = space.arange(12).astype("float32").reshape((4, 3))
    x.attach_grad()
    return x


@pytest.fixture(params=["nd", "np", "mxnet.np"])
def space(request):
    if request.param != "mxnet.np":
        return getattr(mx, request.param)
    from twofold import mxnet_numpy

    class Space:
        arange = staticmethod(mxnet_numpy.arange)

    return Space


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_made_before_the_scope_is_a_constant(space, view):
    x = variable(space)
    seen = view(x)
    with autograd.record():
        loss = (x * x).sum() + (seen * seen).sum()
    loss.backward()
    assert x.grad.tolist() == DOUBLED


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_made_in_a_pause_is_a_constant(space, view):
    x = variable(space)
    with autograd.record():
        y = x * 1
        with autograd.pause():
            target = view(y)
        loss = (y * x).sum() + (target * target).sum()
    loss.backward()
    assert x.grad.tolist() == DOUBLED


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_made_between_two_scopes_is_a_constant(space, view):
    x = variable(space)
    with autograd.record():
        y = x * 2
    seen = view(y)
    with autograd.record():
        loss = (seen * seen).sum() + y.sum()
    loss.backward()
    assert x.grad.tolist() == [[2] * 3] * 4


def test_a_view_made_outside_is_not_a_head(space):
    x = variable(space)
    with autograd.record():
        y = x * x
    with pytest.raises(mx.errors.AutogradError, match="not part of a recorded graph"):
        y[1].backward()


def test_a_view_made_in_a_scope_is_recorded(space):
    x = variable(space)
    with autograd.record():
        rows = x[1:3]
    with autograd.record():
        loss = (rows * rows).sum()
    loss.backward()
    assert x.grad.tolist() == [[0] * 3, *DOUBLED[1:3], [0] * 3]


def test_a_view_that_is_a_variable_itself_has_constant_views():
    x = variable(nd)
    rows = x[1:3]
    rows.attach_grad()
    first = rows[0]
    with autograd.record():
        loss = (rows * rows).sum() + (first * first).sum()
    loss.backward()
    assert rows.grad.tolist() == DOUBLED[1:3]


def test_writes_through_a_view_made_outside_reach_the_array(space):
    x = variable(space)
    rows = x[1:3]
    rows[:] = 7
    first = rows[0]
    first += 1
    x[2] = 5
    assert x.tolist() == [[0, 1, 2], [8] * 3, [5] * 3, [9, 10, 11]]
    assert rows.tolist() == [[8] * 3, [5] * 3]
    assert first.tolist() == [8] * 3


def test_weights_updated_by_rows_are_learned(space):
    x = variable(space)
    for _ in range(2):
        with autograd.record():
            loss = (x * x).sum()
        loss.backward()
        for row, gradient in zip(list(x), list(x.grad), strict=True):
            row -= 0.25 * gradient
    assert x.tolist() == (numpy.arange(12.0) / 4).reshape(4, 3).tolist()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_part_of_a_view_that_was_recorded_is_a_constant_in_a_pause(space, view):
    x = variable(space)
    with autograd.record():
        y = x * 1
        seen = y.reshape((-1, 3))[0:4]
        with autograd.pause():
            target = view(seen)
        loss = (seen * x).sum() + (target * target).sum()
    loss.backward()
    assert x.grad.tolist() == DOUBLED


def test_a_part_of_an_array_under_another_convention_is_a_constant():
    x = variable(nd)
    part = x.as_np_ndarray()[1]
    with autograd.record():
        loss = (x * x).sum() + (part * part).sum().as_nd_ndarray()
    loss.backward()
    assert x.grad.tolist() == DOUBLED


def test_elements_written_through_a_constant_while_recording_are_constants():
    x = variable(nd)
    with autograd.record():
        y = x * 2
    part = y[1:3]
    with autograd.record():
        part += 1
        loss = (y * y).sum()
    loss.backward()
    doubled = 4 * numpy.arange(12.0).reshape(4, 3) * 2
    doubled[1:3] = 0
    assert x.grad.tolist() == doubled.tolist()


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize(
    "use",
    [
        lambda x, v: (v * v).sum(),
        lambda x, v: (v @ x).sum() if hasattr(v, "as_nd_ndarray") else nd.dot(v, x).sum(),
        lambda x, v: v.sum(axis=0).sum() + v.mean() + (v**2).sum(),
        lambda x, v: ((v + v) * (2 - v)).sum(),
        lambda x, v: (v[1:] * v[:-1]).sum(),
    ],
    ids=["product", "matrix product", "sums", "chain", "parts"],
)
@pytest.mark.parametrize("kind", ["nd", "np"])
def test_transposes_made_before_are_constants_in_every_operation(kind, use, size):
    x = getattr(mx, kind).ones((size, size)) * 0.5
    x.attach_grad()
    seen, copied = x.T, x.T.copy()
    found = []
    for v in (seen, copied):
        with autograd.record():
            loss = use(x, v) + x.sum()
        loss.backward()
        found.append(x.grad.asnumpy())
    numpy.testing.assert_allclose(*found)


@pytest.mark.parametrize("in_pause", [False, True])
def test_a_recorded_view_that_gets_another_shape_outside_stays_one(in_pause):
    x = mx.np.arange(12.0).reshape(4, 3).copy()
    x.attach_grad()
    with autograd.record():
        seen = x[1:3]
        if in_pause:
            with autograd.pause():
                seen.shape = (6,)
    if not in_pause:
        seen.shape = (6,)
    with autograd.record():
        loss = (seen * seen).sum()
    loss.backward()
    expected = 2 * numpy.arange(12.0).reshape(4, 3)
    expected[[0, 3]] = 0
    assert x.grad.tolist() == expected.tolist()


def test_a_constant_that_gets_another_shape_stays_one():
    x = mx.np.arange(12.0).reshape(4, 3).copy()
    x.attach_grad()
    seen = x[1:3]
    seen.shape = (6,)
    with autograd.record():
        loss = (seen * seen).sum() + x.sum()
    loss.backward()
    assert x.grad.tolist() == numpy.ones((4, 3)).tolist()

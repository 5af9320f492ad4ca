"""Backward: where gradients go, what they are gradients of, how often a graph can be used, and derivatives of any order."""

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.errors import AutogradError, DTypeError, ShapeError
from twofold.graph.tables import drop_generation
from twofold.imperative.tape import tls

from .operators import SIZE, growth, logistic, op, operator, pair, ramp, soft
from tests import probe
from tests.probe import tape_entry

X = np.linspace(0.5, 1.5, SIZE)


def variable(values=X, grad_req="write"):
    x = nd.array(values)
    x.attach_grad(grad_req)
    return x


def near(x, want, rtol=2e-5, atol=1e-6):
    np.testing.assert_allclose(x.asnumpy(), np.broadcast_to(want, x.shape), rtol=rtol, atol=atol)


# where gradients go


def test_grad_req_write_replaces_add_accumulates_and_null_leaves_the_gradient(mode):
    written, added, left = variable(), variable(grad_req="add"), variable(grad_req="null")
    for k in range(1, 4):
        with autograd.record():
            y = (written + added + left) * 2.0
        y.backward()
        near(written.grad, 2.0)
        near(added.grad, 2.0 * k)
        near(left.grad, 0.0)


def test_an_array_keeps_grad_req_null_when_written_while_recording(mode):
    w, x = variable(), variable(grad_req="null")
    with autograd.record():
        x[:] = w * 2.0
        y = x * 3.0
    y.backward()
    near(w.grad, 6.0)
    near(x.grad, 0.0)
    with autograd.record():
        x[:] = w * 2.0
    with autograd.record():
        z = x * w
    z.backward()
    near(x.grad, 0.0)


def test_the_gradient_array_stays_the_same_object(mode):
    x = variable()
    grad = x.grad
    for k in (1.0, 2.0):
        with autograd.record():
            y = x * k
        y.backward()
        assert x.grad is grad
        near(grad, k)


def test_mark_variables_sets_where_gradients_are_stored(mode):
    x, g = nd.array(X), nd.array(np.full(SIZE, 10.0))
    autograd.mark_variables([x], [g], "add")
    with autograd.record():
        y = x * 3.0
    y.backward()
    near(g, 13.0)


def test_a_variable_used_several_times_gets_the_sum(mode):
    x = variable()
    with autograd.record():
        y = x * x + x * 2.0 + (x + x)
    y.backward()
    near(x.grad, 2 * X + 4)


def test_a_variable_on_several_tapes_gets_the_sum(mode):
    x = variable()
    with autograd.record():
        y = x * x
    with autograd.record():
        z = y * 2.0 + x * 3.0
    z.backward()
    near(x.grad, 4 * X + 3)


def test_gradients_of_broadcast_operands_are_summed(mode):
    a, b = variable(np.ones((SIZE, 3))), variable(np.arange(3.0))
    with autograd.record():
        y = op("multiply", a, b)
    y.backward()
    near(b.grad, SIZE)
    near(a.grad, np.arange(3.0))


def test_a_head_gradient_scales_the_gradients(mode):
    x, h = variable(), nd.array(ramp())
    for _ in range(3):
        with autograd.record():
            y = x * x
        y.backward(h)
        near(x.grad, 2 * X * ramp())


def test_a_head_given_twice_counts_twice(mode):
    x = variable()
    with autograd.record():
        y = x * x
    autograd.backward([y, y], [None, nd.array(np.full(SIZE, 2.0))])
    near(x.grad, 6 * X)


def test_a_variable_may_be_a_head(mode):
    x, h = variable(), nd.array(ramp())
    with autograd.record():
        x * 2.0
    x.backward(h)
    h += 1.0
    near(x.grad, ramp())


# what they are gradients of


def test_after_a_write_the_gradient_is_of_the_content_at_first_use(mode):
    x = variable()
    with autograd.record():
        y = x * x
        x[:] = x * 3.0  # recorded: x now holds the result of an operation
        z = y + x * 2.0
    z.backward()
    near(x.grad, 2 * X + 6)
    near(x, 3 * X)


def test_a_later_write_does_not_change_what_was_computed(mode):
    x = variable()
    with autograd.record():
        y = x * x
    x[:] = 100.0
    y.backward()
    near(x.grad, 2 * X)


def test_writes_through_views_are_recorded(mode):
    for _ in range(3):
        x = variable()
        with autograd.record():
            y = x * 1.0
            part = y[0:4]
            part *= 3.0
            y.reshape((4, 4))[1] = x[0:4] * 5.0
            y[8:12] = 7.0
            z = y * y
        z.backward()
        want = np.zeros(SIZE)
        want[0:4] = 2 * 9 * X[0:4] + 2 * 25 * X[0:4]
        want[12:] = 2 * X[12:]
        near(x.grad, want)


def test_writes_at_index_arrays_are_recorded(mode):
    places = nd.array([1, 3, 5], dtype="int64")
    for _ in range(3):
        x = variable()
        with autograd.record():
            y = x * 1.0
            y[places] = x[0:3] * 2.0
            z = y * y
        z.backward()
        want = 2 * X
        want[[1, 3, 5]] = 0
        want[0:3] += 8 * X[0:3]
        near(x.grad, want)


def test_writing_a_recorded_array_into_another_records_it(mode):
    x, y = variable(), nd.array(np.ones(SIZE))
    with autograd.record():
        y[0:4] = x[0:4] * 2.0
        z = y * 3.0
    z.backward()
    near(x.grad, [6.0] * 4 + [0.0] * (SIZE - 4))


@pytest.mark.parametrize("write", ["scale", "all", "some", "shared"])
def test_a_write_outside_the_scope_keeps_the_recorded_history(mode, write):
    x = variable()
    with autograd.record():
        y = x * x
    if write == "scale":
        y /= 4
    elif write == "all":
        y[:] = 2.0
    elif write == "some":
        y[0:2] = 5.0
    else:
        other = y.detach()
        y += 1
        assert other is not y
    y.backward()  # MXNet's result: the gradient of what was recorded
    near(x.grad, 2 * X)


def test_operations_after_an_unrecorded_write_see_content_and_history(mode):
    x = variable()
    with autograd.record():
        y = x * 2.0
        with autograd.pause():
            y += 1
        z = y * (x * 2.0)
    z.backward()
    near(x.grad, 2 * (2 * X) + 2 * (2 * X + 1))


def test_detached_arrays_block_gradients(mode):
    x = variable()
    with autograd.record():
        y = x * x
        z = y.detach() * x
    z.backward()
    near(x.grad, X * X)


# how often a graph can be used


def test_a_retained_graph_can_be_used_again(mode):
    x = variable(grad_req="add")
    with autograd.record():
        y = (x * x).exp() * 0.5
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    near(x.grad, 3 * X * np.exp(X * X))


@pytest.mark.parametrize("work", [lambda x: x * x, lambda x: x + 1.0, lambda x: soft(x.reshape((4, 4))), lambda x: pair(x)[1]])
@pytest.mark.parametrize("head", [False, True])
def test_backward_through_a_used_graph_raises_and_harms_nothing(mode, work, head):
    for _ in range(3):
        x = variable()
        with autograd.record():
            y = work(x)
        head_grad = nd.array(np.ones(y.shape)) if head else None
        y.backward(head_grad)
        first = x.grad.asnumpy()
        with pytest.raises(AutogradError, match="already used"):
            y.backward(head_grad)
        assert tls.tape is None
        np.testing.assert_array_equal(x.grad.asnumpy(), first)
        with autograd.record():
            z = x * 2.0
        z.backward()
        near(x.grad, 2.0)


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_to_an_operation_that_another_loss_has_freed_raises(mode, create_graph):
    for _ in range(3):
        x = variable()
        with autograd.record():
            y = x * x
            a, b = y * 2.0, y * y
        a.backward()
        with pytest.raises(AutogradError, match="already used"):
            autograd.grad(b, x, create_graph=create_graph)
        near(x.grad, 4 * X)


def test_a_result_that_no_loss_has_reached_is_constant_once_its_operation_is_used(mode):
    for _ in range(3):
        x = variable()
        with autograd.record():
            first, second = pair(x)
            loss = first * 2.0
        loss.backward()
        with autograd.record():
            z = second * x
        z.backward()
        near(x.grad, second.asnumpy())
        with pytest.raises(AutogradError, match="not part of a recorded graph"):
            second.backward()


@pytest.mark.parametrize("head", [False, True])
def test_a_defect_in_what_was_saved_is_not_reported_as_a_used_graph(inline, head):
    for _ in range(2):
        x = variable()
        with autograd.record():
            y = x * x
        y.backward(nd.ones_like(y) if head else None, retain_graph=True)
        tape_entry(y).saved = ()
        with pytest.raises(IndexError):
            y.backward(nd.ones_like(y) if head else None)


def test_two_losses_share_a_retained_graph(mode):
    x = variable(grad_req="add")
    with autograd.record():
        h = x * x
        a, b = h * 2.0, h * h
    a.backward(retain_graph=True)
    b.backward()
    near(x.grad, 4 * X + 4 * X**3)


def test_two_losses_of_one_tape_are_independent(mode):
    x, c = variable(grad_req="add"), nd.array(X)
    with autograd.record():
        a, b = x * c, c * x * x
    a.backward()
    c[:] = 0.0  # b still needs it
    b.backward()
    near(x.grad, X + 2 * X * X)


def test_backward_within_the_scope_leaves_recording_on(mode):
    x = variable()
    with autograd.record():
        for k in range(1, 4):
            y = x * x * float(k)
            y.backward()
            near(x.grad, 2 * k * X)
            assert autograd.is_recording()


def test_gradients_computed_while_recording_are_not_recorded(mode):
    x, w = variable(), variable()
    with autograd.record():
        given = w * 2.0
        autograd.backward([x, x * x], [given, given])
        content = probe.content(x.grad)
        assert content.__class__ is np.ndarray or content.entry is None
    near(x.grad, given.asnumpy() * (1.0 + 2.0 * x.asnumpy()))


def test_unrecorded_arrays_have_no_gradient(mode):
    x = variable()
    y = x * 2.0
    with pytest.raises(AutogradError, match="not part of a recorded graph"):
        y.backward()


def test_head_gradients_must_match_their_heads(mode):
    x = variable()
    with autograd.record():
        y = x * x
    with pytest.raises(ShapeError, match="head gradient"):
        y.backward(nd.array([1.0, 2.0]))
    with pytest.raises(DTypeError, match="not an array"):
        y.backward(np.ones(SIZE))
    y.backward()
    near(x.grad, 2 * X)


# derivatives of any order

FUNCTIONS = {
    "x⁴": (lambda x: x * x * x * x, lambda x: (4 * x**3, 12 * x**2, 24 * x)),
    "x eˣ": (lambda x: x.exp() * x, lambda x: (np.exp(x) * (x + 1), np.exp(x) * (x + 2), np.exp(x) * (x + 3))),
    "1/x": (lambda x: 1.0 / x, lambda x: (-1 / x**2, 2 / x**3, -6 / x**4)),
    "tanh x": (
        lambda x: x.tanh(),
        lambda x: (1 - np.tanh(x) ** 2, 2 * np.tanh(x) ** 3 - 2 * np.tanh(x), -2 + 8 * np.tanh(x) ** 2 - 6 * np.tanh(x) ** 4),
    ),
    "1/(1 + e⁻ˣ) by its rule": (
        logistic,
        lambda x: (
            (s := 1 / (1 + np.exp(-x))) * (1 - s),
            s * (1 - s) * (1 - 2 * s),
            s * (1 - s) * (1 - 6 * s + 6 * s * s),
        ),
    ),
    "eˣ·eˣ by its rule": (lambda x: growth(x, x), lambda x: (2 * np.exp(2 * x), 4 * np.exp(2 * x), 8 * np.exp(2 * x))),
    "eˣ tanh x of two outputs": (
        lambda x: op("multiply", *pair(x)),
        lambda x: (
            np.exp(x) * (np.tanh(x) + 1 - np.tanh(x) ** 2),
            np.exp(x) * (np.tanh(x) + (2 - 2 * np.tanh(x)) * (1 - np.tanh(x) ** 2)),
            np.exp(x) * (np.tanh(x) + (1 - np.tanh(x) ** 2) * (1 - 6 * np.tanh(x) + 6 * np.tanh(x) ** 2)),
        ),
    ),
}


@pytest.mark.parametrize("dropping", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_first_to_third_order(mode, name, dropping):
    function, derivatives = FUNCTIONS[name]
    for _ in range(3):
        x = variable()
        with autograd.record():
            d = [function(x)]
            for _ in range(3):
                drop_generation() if dropping else None
                d += autograd.grad([d[-1]], [x], create_graph=True)
        for got, want in zip(d[1:], derivatives(X), strict=True):
            near(got, want, 2e-4, 2e-5)
        near(d[0], function(nd.array(X)).asnumpy())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_backward_continues_through_a_recorded_gradient(mode, name):
    function, derivatives = FUNCTIONS[name]
    x = variable()
    with autograd.record():
        y = function(x)
        (first,) = autograd.grad([y], [x], create_graph=True)
        z = first * first
    z.backward()
    near(x.grad, 2 * derivatives(X)[0] * derivatives(X)[1], 2e-4, 2e-5)


def soft_of(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


@pytest.mark.parametrize("dropping", [False, True])
def test_second_derivatives_of_a_definition_with_residuals(mode, dropping):
    weights, x0 = np.linspace(-1, 2, SIZE).reshape(4, 4), X.reshape(4, 4)

    def slope(values):
        s = soft_of(values)
        return s * (weights - (s * weights).sum(-1, keepdims=True))

    for _ in range(3):
        x, w = variable(x0), nd.array(weights)
        with autograd.record():
            y = soft(x) * w
            drop_generation() if dropping else None
            (first,) = autograd.grad([y], [x], create_graph=True)
            drop_generation() if dropping else None
            total = first * first
        near(first, slope(x0), 1e-4)
        total.backward()
        want, step = np.zeros((4, 4)), 1e-6
        for place in np.ndindex(4, 4):
            d = np.zeros((4, 4))
            d[place] = step
            want[place] = ((slope(x0 + d) ** 2).sum() - (slope(x0 - d) ** 2).sum()) / (2 * step)
        near(x.grad, want, 1e-3, 1e-5)


def test_recording_a_gradient_leaves_its_inputs_unchanged(mode):
    for _ in range(3):
        x, h = variable(), nd.array(np.full(SIZE, 2.0))
        with autograd.record():
            y = x.exp()
        y.wait_to_read()
        (g,) = autograd.grad([y], [x], [h], create_graph=True)
        g.wait_to_read()
        near(y, np.exp(X))
        near(g, 2 * np.exp(X))
        near(h, 2.0)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_several_variables_are_different_arrays(mode, create_graph):
    for _ in range(3):
        a, b, h = variable(), variable(), nd.array(ramp())
        with autograd.record():
            y = a + b
        grads = autograd.grad([y], [a, b, a], [h], create_graph=create_graph)
        for g in grads:
            g[:] = 0.0
            near(h, ramp())
        grads[0] += 1.0
        near(grads[1], 0.0)
        near(grads[2], 0.0)


# operators that write auxiliary states when backward runs


def _kept(xp, data, state):
    return data * state


state_doubled = operator(_kept, aux=("state",))
state_doubled.op.on_backward(lambda xp, out, data, state: {"state": state * 2})


def test_auxiliary_states_change_only_when_backward_runs(mode):
    x, state = variable(), nd.array(np.ones(SIZE))
    for k in range(3):
        with autograd.record():
            y = state_doubled(x, state)
        near(state, 2.0**k)
        y.backward()
        near(state, 2.0 ** (k + 1))
        near(x.grad, 2.0**k)


def test_auxiliary_states_are_not_part_of_the_graph(mode):
    x, s = variable(), nd.array(np.ones(SIZE))
    with autograd.record():
        state = s * 1.0
        for k in range(3):
            y = state_doubled(x * x, state)
            y.backward()
            content = probe.content(state)
            assert content.__class__ is np.ndarray or content.entry is None
            near(state, 2.0 ** (k + 1))


def test_an_auxiliary_state_can_be_read_before_and_after_its_update(mode):
    x, state = variable(), nd.array(np.ones(SIZE))
    with autograd.record():
        y = state_doubled(x, state)
    early = state * 1.0
    y.backward()
    near(early, 1.0)
    near(state, 2.0)

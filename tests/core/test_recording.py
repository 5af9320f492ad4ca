"""What a tape records: structure as leaves and nodes, values only if a gradient reads them, older tapes through bridges."""

import gc
import weakref

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.errors import DTypeError, ShapeError
from twofold.graph.ir import const, leaf
from twofold.imperative import backward
from twofold.imperative.cell import HOST
from twofold.imperative.counters import COUNTERS
from twofold.imperative.recording import scalar_entry
from twofold.imperative.tape import Tape, TapeEntry, tls
from twofold.program.cache import PROGRAMS

from .operators import SIZE, in_thread, ramp, soft
from tests import probe
from tests.probe import tape_entry


def variable(first=0.0, size=SIZE):
    x = nd.array(ramp(first, size))
    x.attach_grad()
    return x


def near(x, want, rtol=1e-5):
    np.testing.assert_allclose(x.asnumpy(), np.asarray(want), rtol=rtol, atol=1e-6)


# leaves


@pytest.mark.parametrize("write", ["assignment", "update", "slice"])
def test_a_constant_written_in_place_becomes_a_new_leaf(mode, write):
    for _ in range(3):
        w, c = variable(1.0, SIZE), nd.array(ramp(0.5) * 0.125)
        w[:] = w * 0.0625
        with autograd.record():
            a = (w + c).exp()  # add keeps nothing: c may be written in place, as a new leaf of the tape
            a.wait_to_read()
            if write == "update":
                c += 1.0
            else:
                c[0 : SIZE if write == "slice" else None] = 1.0
            b = (w + c).exp()
            s = a * b
        s.backward()
        first = ramp(0.5) * 0.125
        second = first + 1 if write == "update" else np.ones(SIZE)
        near(w.grad, 2 * np.exp(2 * ramp(1.0) * 0.0625 + first + second))


@pytest.mark.parametrize("update", [False, True])
def test_a_variable_written_in_place_becomes_a_new_leaf_with_a_gradient(mode, update):
    w = variable(1.0)
    with autograd.record():
        kept = w + 1.0  # keeps no value of w
    if update:
        w *= 3.0
    else:
        w[:] = w * 3.0
    with autograd.record():
        z = kept * w
    z.backward()
    near(w.grad, 3 * ramp(1.0) + ramp(2.0))


def test_a_variable_of_grad_req_null_stays_untracked_when_it_is_written(mode):
    w = nd.array(ramp(1.0))
    w.attach_grad("null")
    w[:] = 2.0
    x = variable(1.0)
    with autograd.record():
        w * 2.0
        z = x * w
    assert COUNTERS.recorded == 1
    z.backward()
    near(x.grad, np.full(SIZE, 2.0))
    near(w.grad, np.zeros(SIZE))


def test_leaves_are_numbered_in_the_order_of_use(mode):
    a, b = variable(1.0), variable(2.0)
    for first, second in ((a, b), (a, b), (b, a), (a, b), (b, a)):
        with autograd.record():
            z = first * 2.0 + second * second * 3.0
        z.backward()
        near(first.grad, np.full(SIZE, 2.0))
        near(second.grad, 6 * second.asnumpy())


def test_python_floats_of_one_structure_are_different_leaves(mode):
    for _ in range(3):
        x = variable(1.0)
        with autograd.record():
            z = (x * 2.5).exp() * 0.0 + x * 2.5 + x * 3.5
        z.backward()
        near(z, ramp(1.0) * 6)
        near(x.grad, np.full(SIZE, 6.0))


def test_floats_are_not_part_of_the_structure_but_literals_are():
    tape = Tape()
    nodes = [scalar_entry(k, tape).node for k in (2, 2.5, 3.5, 7, True)]
    assert [repr(n) for n in nodes] == ["2", "%0", "%1", "%2", "True"]
    assert [n.dtype for n in nodes] == ["weaki", "weakf", "weakf", "weaki", "bool"]


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (1, True), (1, 1.0), (0, 0.0)])
def test_constants_with_different_bits_or_types_are_different_nodes(a, b):
    assert const(a) is const(a)
    assert const(a) is not const(b)


def test_negative_zero_stays_negative(mode):
    x = nd.array(ramp(1.0))
    for _ in range(3):
        assert not np.signbit((x * 0.0).asnumpy()).any()
        assert np.signbit((x * -0.0).asnumpy()).all()


def test_recording_a_known_structure_takes_the_short_path(inline):
    x = variable(1.0)
    for k in range(4):
        with autograd.record():
            z = x * 2.5 + x
            z = -z
        recorded = COUNTERS.recorded
        z.backward()
        COUNTERS.reset()
        assert recorded == (3 if k == 0 else 1)  # the first operation of a scope enters x


def test_the_short_path_falls_back_where_it_cannot_run(inline):
    x, y = variable(1.0), variable(2.0)
    for _ in range(3):
        with autograd.record():
            z = x * 1.0 + y * 1.0
            # NumPy's quiet context is in use, as while another thread computes or in a finalizer
            squared, negated, scaled = HOST.quick(lambda z=z: [z * z, -z, z * 2.5])
            total = squared + negated + scaled
        near(total, (2 * ramp() + 3) ** 2 + 1.5 * (2 * ramp() + 3))
        total.backward()
        near(x.grad, 2 * (2 * ramp() + 3) + 1.5)


# what is kept


def test_only_what_a_gradient_reads_is_saved(inline):
    x = variable(1.0)
    for _ in range(3):
        with autograd.record():
            h = x + 1.0
            entry, seen = tape_entry(h), weakref.ref(probe.content(h))
            del h
        assert seen() is None
        assert entry.saved in ((), [])


def test_only_the_factor_of_a_tracked_operand_is_saved(inline):
    x, c = variable(1.0), nd.array(ramp(2.0))
    for _ in range(3):
        with autograd.record():
            y = x * c
        assert [v is probe.content(c) for v in tape_entry(y).saved] == [True]


def test_an_operation_that_reads_its_result_saves_only_that(mode):
    x = variable(1.0)
    for _ in range(3):
        with autograd.record():
            h = x * 0.1
            y = h.exp()
            seen = weakref.ref(probe.content(h))
            y.wait_to_read()
            del h
        assert seen() is None
        y.backward()
        near(x.grad, 0.1 * np.exp(0.1 * ramp(1.0)))


@pytest.mark.parametrize("work", [lambda x: (x * 0.5).exp(), lambda x: x.tanh() * x, lambda x: soft(x.reshape((4, 4)) * 1.5)])
def test_a_recorded_graph_is_freed_by_reference_counting(mode, work):
    gc.disable()
    try:
        for _ in range(3):
            x = variable(0.0)
            with autograd.record():
                y = work(x)
            y.wait_to_read()
            tape, seen = tape_entry(y).tape.ref, weakref.ref(probe.content(y))
            del y, x
            assert seen() is None
            assert tape() is None
    finally:
        gc.enable()


def test_backward_frees_what_was_saved(mode):
    for _ in range(3):
        x = variable(1.0)
        with autograd.record():
            h = x * 0.25
            z = h * h
        saved = weakref.ref(probe.content(h))
        entry = tape_entry(z)
        del h
        assert (saved() is None) == (mode == "deferred")  # a window has h's node and need not keep its value
        z.backward()
        assert saved() is None
        assert entry.saved == ()
        assert entry.tape is None


def test_backward_with_a_head_gradient_frees_what_was_saved(mode):
    for _ in range(3):
        x = variable(1.0)
        with autograd.record():
            h = x * 0.25
            z = h * h
        saved = weakref.ref(probe.content(h))
        del h
        z.backward(nd.array(ramp()))
        assert saved() is None


def test_a_tape_lives_as_long_as_something_recorded_on_it(mode):
    x, c = variable(1.0), nd.array(ramp())
    for _ in range(3):
        with autograd.record():
            y = x * c
            tape = tls.tape.ref
        gc.collect()
        assert tape() is not None
        del y
        gc.collect()
        assert tape() is None  # although x and c have leaves on it


def test_operations_that_depend_on_no_variable_are_not_recorded(mode):
    c = nd.array(ramp())
    with autograd.record():
        y = c * 2.0
    assert COUNTERS.recorded == 0
    assert tape_entry(y) is None


def test_nothing_is_kept_where_recording_is_off(mode):
    x = variable(1.0)
    with autograd.record(), autograd.pause():
        y = x * x
    assert COUNTERS.recorded == 0
    assert tape_entry(y) is None


# bridges


def test_gradients_flow_from_one_tape_to_an_older_one(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
    with autograd.record():
        z = y * y * x
    assert COUNTERS.bridged == 1
    z.backward()
    near(x.grad, 5 * ramp(1.0).astype(np.float64) ** 4)


def test_gradients_flow_over_several_tapes(mode):
    x = variable(1.0)
    y = x
    for _ in range(4):
        with autograd.record():
            y = y * 0.5 + x
    assert COUNTERS.bridged == 3
    y.backward()
    near(x.grad, np.full(SIZE, 1 + 0.5 + 0.25 + 0.125 + 0.0625))


def test_a_value_bridged_twice_gets_both_gradients(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
    with autograd.record():
        a = y * 2.0
    with autograd.record():
        b = y * 3.0 + a
    b.backward()
    near(x.grad, 10 * ramp(1.0))


def test_a_value_bridged_by_the_same_leaf_again_gets_both_gradients(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
    for _ in range(3):
        with autograd.record():
            a = y * 2.0
        with autograd.record():
            b = y * 3.0
        with autograd.record():
            c = a + b
        c.backward(retain_graph=True)
        near(x.grad, 10 * ramp(1.0))


def test_heads_of_several_tapes_run_newest_first(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
    with autograd.record():
        z = y * y
    autograd.backward([y, z])
    near(x.grad, 2 * ramp(1.0) + 4 * ramp(1.0) ** 3)
    assert len([entry for entry in PROGRAMS.values() if isinstance(entry, backward.Backward)]) == 2  # each tape is traversed once


def test_a_bridge_may_itself_be_a_head(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
        q = y * 3.0
    with autograd.record():
        z = y * y
    autograd.backward([y, q, z])  # y is a leaf of the second tape now
    near(x.grad, 2 * ramp(1.0) + 6 * ramp(1.0) + 4 * ramp(1.0) ** 3)
    assert len([entry for entry in PROGRAMS.values() if isinstance(entry, backward.Backward)]) == 2


def test_a_graph_used_by_backward_is_a_constant_on_later_tapes(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
        y.backward()
        z = y * x
    z.backward()
    near(x.grad, ramp(1.0) ** 2)  # as MXNet gives it


def test_a_bridge_to_a_since_used_graph_is_a_constant(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
    with autograd.record():
        z = y * 3.0
    z.backward(retain_graph=True)
    with autograd.record():
        z = y * 3.0
    z.backward()
    near(x.grad, 6 * ramp(1.0))
    with autograd.record():
        z = y * x
    z.backward()
    near(x.grad, ramp(1.0) ** 2)


def test_recording_within_a_pause_starts_another_tape(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
        with autograd.pause(), autograd.record():
            q = y * y
        w = y * q
    w.backward()
    near(x.grad, 6 * ramp(1.0).astype(np.float64) ** 5)


def test_threads_that_share_variables_get_their_own_gradients():
    w, b = variable(1.0), variable(2.0)
    start_w, start_b = w.asnumpy(), b.asnumpy()

    def work(number):
        found = []
        for _ in range(60):
            with autograd.record():
                x = nd.array(np.full(SIZE, float(number)))
                y = (w * x + b) * w
            found.append([g.asnumpy() for g in autograd.grad([y], [w, b])])
        return found

    for number, task in [(n, in_thread(lambda n=n: work(n))) for n in range(3)]:
        for dw, db in task.result():
            np.testing.assert_allclose(dw, 2 * start_w * number + start_b, rtol=1e-6)
            np.testing.assert_array_equal(db, start_w)


def test_threads_recording_large_operations_do_not_interfere():
    def work():
        x = nd.array(np.full(40_000, 2.0))
        x.attach_grad()
        for _ in range(40):
            with autograd.record():
                y = x
                for _ in range(4):
                    y = -(y * x) * 0.5
            y.backward()
        return x.grad.asnumpy()[:3].tolist()

    tasks = [in_thread(work) for _ in range(3)]
    assert [t.result() for t in tasks] == [[5.0] * 3] * 3


def test_a_leaf_record_is_never_marked_used():
    assert not TapeEntry(leaf("x", (2,), "float32"), (), (), None).is_used


def heads_that_are_views(x):
    """Views of recorded arrays, used as heads after the scope has ended."""
    with autograd.record():
        square = x * x
        first, column, whole = square[0], square.reshape((4, 1)), x[1]
    return [(first, [[2, 4], [0, 0]]), (column, [[2, 4], [6, 8]]), (whole, [[0, 0], [1, 1]])]


@pytest.mark.parametrize("k", range(3))
def test_a_view_of_a_recorded_array_is_recorded_when_the_scope_has_ended(k):
    x = nd.array([[1, 2], [3, 4]])
    x.attach_grad()
    head, expected = heads_that_are_views(x)[k]
    head.backward()
    assert x.grad.asnumpy().tolist() == expected


def test_a_write_through_a_view_counts_when_the_scope_has_ended():
    x = nd.array([3, 4])
    x.attach_grad()
    with autograd.record():
        first = x[0]
        first[:] = first * 2
    first.backward()
    assert x.grad.asnumpy().tolist() == [2, 0]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (lambda x: x[0] * 2, [[2, 2], [0, 0]]),
        (lambda x: x[0] * x[0] + x[1], [[0, 2], [1, 1]]),
        (lambda x: x[0] * x, [[2, 5], [0, 1]]),
        (lambda x: x[0].reshape((1, 2))[0][1] * 3, [[0, 3], [0, 0]]),
        (lambda x: (x * x)[1], [[0, 0], [4, 6]]),
    ],
)
def test_views_of_a_view_that_wants_a_gradient_are_parts_of_it(of, expected):
    x = nd.arange(4).reshape((2, 2))
    x.attach_grad()
    with autograd.record():
        y = of(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == expected
    x[0][1] = 9
    assert x.asnumpy().tolist() == [[0, 9], [2, 3]]


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda: nd.zeros((3,)), r"the gradient of variable 1 has a different shape: given \(3,\) for \(2,\)"),
        (lambda: nd.zeros((2,), dtype="float64"), "gradient of variable 1 has a different dtype: given float64 for float32"),
    ],
)
def test_backward_refuses_a_gradient_array_that_does_not_fit(gradient, message):
    first, second = nd.ones((2,)), nd.ones((2,))
    with pytest.warns(UserWarning, match=message):
        autograd.mark_variables([first, second], [nd.zeros((2,)), gradient()])
    with autograd.record():
        y = first * 3
        z = second * 3
    y.backward()
    assert first.grad.asnumpy().tolist() == [3, 3]
    with pytest.raises(ShapeError, match="does not fit"):
        z.backward()


def test_the_gradient_of_integers_is_an_integer():
    x = nd.array([1, 2, 3], dtype="int32")
    with pytest.warns(UserWarning, match="rounded to integers"):
        x.attach_grad()
    with autograd.record():
        y = x * x + x
    y.backward()
    assert (x.grad.dtype, x.grad.asnumpy().tolist()) == (np.int32, [3, 5, 7])


def test_a_variable_behind_a_blocked_gradient_has_a_gradient_of_zeros():
    x, w = nd.array([1, 2]), nd.array([3, 4])
    x.attach_grad()
    w.attach_grad()
    for expected in ([3, 4], [0, 0]):
        with autograd.record():
            y = w * (x if any(expected) else nd.BlockGrad(x))
        y.backward()
        assert x.grad.asnumpy().tolist() == expected


def test_a_marked_variables_gradient_must_be_an_array():
    first, second = nd.ones((2,)), nd.ones((2,))
    with pytest.raises(DTypeError, match="the gradient of variable 1 needs arrays: given int"):
        autograd.mark_variables([first, second], [nd.zeros((2,)), 3])
    assert first.grad is None

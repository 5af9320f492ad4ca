"""Ownership of buffers: no one else sees a write in place, and a write that no one else would see is in place."""

import numpy as np

from twofold import autograd, nd
from twofold.graph.tables import TABLES
from twofold.imperative.cell import ALWAYS, HOST, Value, alias
from twofold.imperative.tape import Tape
from twofold.ndarray.array import NDArray

from .operators import SIZE, address, op, ramp
from tests import probe
from tests.probe import captured


def variable(first=0.0, size=SIZE):
    x = nd.array(ramp(first, size))
    x.attach_grad()
    return x


def same(x, want):
    np.testing.assert_array_equal(x.asnumpy(), np.asarray(want, np.float32))


# who sees a value


def test_a_plain_content_becomes_a_value_when_it_is_captured(inline):
    x = nd.array([1.0, 2.0])
    before = probe.content(x)
    assert before.__class__ is np.ndarray
    assert captured(x).data is before
    assert probe.content(x).__class__ is Value


def test_a_saved_value_is_not_written_in_place(mode):
    for _ in range(3):  # first on the general path, then on the one for known structures
        w, c = variable(1.0), nd.array(ramp(2.0))
        with autograd.record():
            y = (w + c) + w * c
        c[:] = 100.0
        y.backward()
        same(w.grad, ramp(3.0))
        same(c, np.full(SIZE, 100.0))


def test_a_saved_value_is_not_updated_in_place(mode):
    for _ in range(3):
        w, c = variable(1.0), nd.array(ramp(2.0))
        with autograd.record():
            y = (w + c) + w * c
        c += 100.0
        y.backward()
        same(w.grad, ramp(3.0))
        same(c, ramp(102.0))


def test_a_saved_result_is_not_written_in_place(mode):
    for _ in range(3):
        x = variable(0.0)
        with autograd.record():
            y = (x * 0.0).exp()
            z = y * 1.5
        y[:] = 7.0
        z.backward()
        same(x.grad, np.zeros(SIZE))
        x = variable(0.0)
        with autograd.record():
            y = (x * 0.125).tanh()
            z = y + 1.5
        y += 7.0
        z.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), 0.125 * (1 - np.tanh(ramp() * 0.125) ** 2), rtol=1e-4, atol=1e-7)


def test_a_value_saved_on_two_tapes_is_protected_while_either_lives(mode):
    w, c = variable(1.0), nd.array(ramp(2.0))
    with autograd.record():
        kept = w * c
    with autograd.record():
        gone = w * c
    gone.backward()
    del gone
    c[:] = 100.0
    kept.backward()
    same(w.grad, ramp(2.0))


def test_a_value_is_written_in_place_again_after_backward(mode):
    w, c = variable(1.0), nd.array(ramp(2.0))
    for _ in range(3):
        with autograd.record():
            y = w * c * w
        y.backward()
        place = address(w)
        w -= w.grad * 0.25
        assert address(w) == place


def test_two_values_of_one_structure_do_not_share_a_write(mode):
    x = nd.array(ramp())
    a, b = x * x, x * x
    b.wait_to_read()
    a += 1.0
    same(a, ramp() ** 2 + 1)
    same(b, ramp() ** 2)


def test_results_that_are_not_shared_are_written_in_place(deferred):
    x = nd.array(ramp())
    a, b, c = x * x, x * x, x + 2.0
    c.wait_to_read()
    assert probe.content(a).sharing is probe.content(b).sharing is ALWAYS
    place = address(c)
    c += 1.0
    assert address(c) == place


def test_a_pending_window_reads_the_old_content(mode):
    x = nd.array(ramp())
    y = x * 2.0
    x[:] = 100.0
    same(y, ramp() * 2)
    same(x, np.full(SIZE, 100.0))


def test_a_pending_window_reads_what_was_there_before_an_update(mode):
    x = nd.array(ramp())
    y = x * 2.0
    x += 100.0
    same(y, ramp() * 2)
    same(x, ramp(100.0))


def test_a_value_is_written_in_place_once_its_window_has_run(deferred):
    x = nd.array(ramp())
    y = x * 2.0
    y.wait_to_read()
    place = address(x)
    x += 1.0
    assert address(x) == place


def test_an_update_by_a_recorded_array_is_recorded(mode):
    for _ in range(3):
        x, y = variable(1.0), nd.array(ramp())
        with autograd.record():
            y += x * 2.0
            y[0:8] *= x[0:8]
            z = y * 3.0
        z.backward()
        want = np.full(SIZE, 6.0)
        want[:8] = 3 * (ramp()[:8] + 4 * ramp(1.0)[:8])
        same(x.grad, want)


# aliases


def test_an_alias_keeps_its_owner_and_neither_is_written_in_place():
    owner = Value(ramp())
    seen = alias(owner.data[2:4], owner)
    assert seen.sharing.sharing is owner
    assert not owner.exclusive
    assert not seen.exclusive


def test_in_place_writes_resume_once_all_aliases_are_dead():
    owner = Value(ramp())
    seen = alias(owner.data[2:4], owner)
    deeper = alias(seen.data[0:1], seen)
    del seen
    assert not owner.exclusive  # the alias of the alias holds both
    del deeper
    assert owner.exclusive
    for last in (0, 1):
        both = [alias(owner.data, owner), alias(owner.data, owner)]
        both.pop(last)
        assert not owner.exclusive
        both.clear()
        assert owner.exclusive


def test_a_temporary_view_does_not_make_the_next_write_copy(deferred):
    x = nd.array(ramp())
    place = address(x)
    for _ in range(3):
        x[0:8].asnumpy()
        x += 1.0
        x[:] = x.asnumpy()
        assert address(x) == place


def test_a_saved_alias_keeps_its_owner():
    owner, tape = Value(ramp()), Tape()
    seen = alias(owner.data, owner)
    assert seen.lend(tape) is seen
    seen.share()
    assert seen.sharing.sharing is owner


def test_writing_a_marked_array_does_not_overwrite_what_a_tape_saved(mode):
    w, x = variable(1.0), nd.array(ramp(2.0))
    with autograd.record():
        kept = w * x
    x.attach_grad()  # the content is a value that a tape has saved: marking aliases it
    with autograd.record():
        gone = x * x
    gone.backward()
    del gone
    x[:] = 100.0
    kept.backward()
    same(w.grad, ramp(2.0))


def test_marking_an_array_keeps_its_earlier_records(mode):
    x = variable(1.0)
    with autograd.record():
        y = x * x
        q = y * y * y
        y.attach_grad()  # q was computed from the unmarked y
        (first,) = autograd.grad([q], [x], create_graph=True)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 30 * ramp(1.0).astype(np.float64) ** 4, rtol=1e-5)


def test_a_value_read_through_a_view_survives_a_write_to_the_root(mode):
    x = nd.array(ramp(0.0, 2 * SIZE))
    part = x[0:SIZE] * 1.0
    x[:] = 100.0
    same(part, ramp())


def test_writes_propagate_between_view_and_root(mode):
    x = nd.array(ramp())
    view = x[4:8]
    view[:] = 100.0
    assert x.asnumpy()[3:9].tolist() == [3, 100, 100, 100, 100, 8]
    x[5] = 7.0
    assert view.asnumpy().tolist() == [100, 7, 100, 100]
    view += 1.0
    assert x.asnumpy()[3:9].tolist() == [3, 101, 8, 101, 101, 8]


def test_writes_propagate_between_detached_and_original(mode):
    x = variable(1.0)
    d = x.detach()
    d[0:2] = 50.0
    x[2:4] = 60.0
    assert x.asnumpy()[:5].tolist() == [50, 50, 60, 60, 5]
    assert d.asnumpy()[:5].tolist() == [50, 50, 60, 60, 5]


def test_an_update_from_an_overlapping_view_reads_the_old_elements(mode):
    x = nd.array(ramp())
    x[1:SIZE] += x[0 : SIZE - 1]
    same(x, [0, *(2 * k - 1 for k in range(1, SIZE))])


# layout and type of contents


def test_a_values_type_can_be_read_while_its_window_ends(deferred):
    x = nd.array(ramp())
    y = x * 2.0

    class Racing(Value):
        """A value whose window is run by another thread between the reads of its two attributes."""

        reads = 0

        def __getattribute__(self, name):
            found = object.__getattribute__(self, name)
            if name in ("producer", "data"):
                type(self).reads += 1
                if self.reads == 1:
                    y.wait_to_read()
                    self.data, self.producer = probe.data(y), None
            return found

    racing = Racing(None, None, probe.content(y).producer)
    assert Value.type.fget(racing) == ((SIZE,), "float32")


def test_a_result_of_an_operator_is_in_row_major_order(mode):
    x = nd.array(np.zeros((4, 4)))
    for _ in range(3):  # interpreted, then compiled
        y = op("exp", op("permute_dims", x, axes=(1, 0)))
        y.reshape((-1,))[0:3] = 9.0
        assert y.asnumpy().ravel().tolist() == [9] * 3 + [1] * 13


def test_the_backend_gives_arrays_in_row_major_order():
    found = HOST.as_array(np.arange(6.0).reshape(2, 3).T)
    assert found.flags.c_contiguous
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_gather_is_in_row_major_order(mode):
    x = nd.array(ramp(0.0, 64).reshape(4, 16))
    places = nd.array([0, 2, 4, 6], dtype="int64")
    for _ in range(3):
        y = x[:, places]
        y.reshape((-1,))[0:3] = 9.0
        assert y.asnumpy()[0].tolist() == [9, 9, 9, 6]


def test_a_result_that_aliases_its_operand_is_a_copy(mode):
    for _ in range(3):
        x = nd.array(ramp().reshape(4, 4))
        for name, params in (("einsum", {"subscripts": "ij->ij"}), ("permute_dims", {"axes": (1, 0)}), ("reshape", {"shape": (16,)})):
            y = op(name, x, **params)
            y[:] = 0.0
        same(x, ramp().reshape(4, 4))


def test_writing_a_copy_leaves_the_original_unchanged():
    x = nd.array([1.0, 2.0])
    for make in (lambda: x.copy(), lambda: op("stop_gradient", x), lambda: op("contiguous", x), lambda: nd.array(x)):
        y = make()
        assert isinstance(y, NDArray)
        y += 1.0
        same(x, [1.0, 2.0])


def test_nothing_of_a_plain_loop_enters_the_intern_tables(inline):
    x = nd.array(ramp())
    x + x
    before = TABLES.count
    for _ in range(20):
        x = x + x
        x *= 0.5
    assert TABLES.count == before

"""Exported memory: written in place, never donated, and read when the operation is issued, never later."""

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.imperative.counters import COUNTERS

from .operators import SIZE, address, op, ramp


def same(x, want):
    np.testing.assert_array_equal(np.asarray(x.asnumpy() if isinstance(x, nd.NDArray) else x), np.broadcast_to(want, x.shape))


@pytest.fixture(params=["dlpack", "array", "import"])
def shared(request):
    """(array, NumPy view of the same memory), exported in three ways."""
    if request.param == "import":
        outside = ramp()
        return nd.from_dlpack(outside), outside
    x = nd.array(ramp())
    if request.param == "dlpack":
        return x, np.from_dlpack(x)
    return x, np.array(x, copy=False)


def test_external_views_see_writes(mode, shared):
    x, outside = shared
    x[:] = 5.0
    same(outside, 5.0)
    x += 1.0
    same(outside, 6.0)
    x[2:4] = 0.0
    assert outside[1:5].tolist() == [6, 0, 0, 6]
    x[2:4] += 3.0
    assert outside[1:5].tolist() == [6, 3, 3, 6]


def test_external_views_see_writes_after_other_uses(mode, shared):
    x, outside = shared
    x[0:2].asnumpy()
    x.detach().asnumpy()
    (x * 2.0).asnumpy()
    x.attach_grad()
    with autograd.record():
        y = x * x
    y.backward()
    x[:] = 7.0
    same(outside, 7.0)
    x *= 2.0
    same(outside, 14.0)


def test_a_result_reflects_exported_memory_when_it_was_requested(mode, shared):
    x, outside = shared
    if not outside.flags.writeable:
        pytest.skip("this look is read-only")
    y = x * 2.0
    z = x[0:SIZE] + 1.0
    outside[:] = 100.0
    same(y, 2 * ramp())
    same(z, ramp() + 1)
    same(x * 1.0, 100.0)


def test_a_result_requested_before_a_write_does_not_see_it(mode, shared):
    x, _ = shared
    y = x * 2.0
    x[:] = 100.0
    same(y, 2 * ramp())


def test_a_result_requested_before_the_export_is_right(deferred):
    x = nd.array(ramp())
    y = x * 2.0
    outside = np.from_dlpack(x)
    x[:] = 100.0
    same(y, 2 * ramp())
    same(outside, 100.0)


def test_exported_memory_is_not_donated(deferred):
    x = nd.array(ramp())
    y = x * 2.0
    outside = np.from_dlpack(x)
    del x
    same(y, 2 * ramp())
    same(outside, ramp())
    x = nd.array(ramp())
    outside = np.from_dlpack(x)
    y = x * 2.0
    del x
    same(y, 2 * ramp())
    same(outside, ramp())
    assert COUNTERS.donated == 0


def test_a_gradient_reads_exported_memory_as_it_was_when_recorded(mode, shared):
    w, outside = shared
    for _ in range(3):
        w[:] = ramp()
        x = nd.array(ramp(1.0))
        x.attach_grad()
        with autograd.record():
            y = x * w
            z = x * w[0:SIZE]
        w[:] = 100.0
        y.backward()
        same(x.grad, ramp())
        z.backward()
        same(x.grad, ramp())
        same(outside, 100.0)


def test_a_pending_result_can_be_exported(deferred):
    x = nd.array(ramp())
    y = x * 2.0
    outside = np.from_dlpack(y)
    same(outside, 2 * ramp())
    y += 1.0
    same(outside, 2 * ramp() + 1)


def test_a_view_is_exported_with_its_root(mode):
    x = nd.array(ramp())
    outside = np.from_dlpack(x[4:8])
    x[:] = 9.0
    assert outside.tolist() == [9.0] * 4
    assert address(x) + 16 == outside.__array_interface__["data"][0]


def test_a_copy_has_memory_of_its_own(mode, shared):
    x, outside = shared
    copies = [x.copy(), x.asnumpy(), np.array(x), op("stop_gradient", x), nd.array(x)]
    x[:] = 50.0
    for c in copies:
        same(c, ramp())
    same(outside, 50.0)


def test_a_conversion_that_must_copy_raises_if_copies_are_disallowed():
    with pytest.raises(ValueError, match="copy"):
        np.array(nd.array(ramp()), dtype=np.float64, copy=False)


def test_importing_a_numpy_array_copies_it(mode):
    values = ramp()
    x = nd.array(values)
    y = nd.array(np.zeros(SIZE))
    y[:] = values
    z = x * 1.0
    values[:] = 100.0
    for a in (x, y, z):
        same(a, ramp())


@pytest.mark.usefixtures("deferred")
def test_a_small_exported_operand_of_a_deferred_operation_is_read_at_once():
    c = nd.array([1.0, 2.0, 3.0])
    c._pinned()
    y = nd.broadcast_mul(nd.ones((16, 3)), c)
    c[:] = 100
    assert y.asnumpy()[0].tolist() == [1, 2, 3]


@pytest.mark.usefixtures("deferred")
def test_exporting_runs_pending_reads_through_views():
    c = nd.array(np.arange(32.0))
    y = c[0:16] * 2.0
    c._pinned()
    c[:] = 100
    np.testing.assert_array_equal(y.asnumpy(), np.arange(16.0) * 2)

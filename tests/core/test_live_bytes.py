"""The textbook example ``c = b * a; d = c + 1`` on ten doubles: peak live bytes of real runs, counted by the allocator."""

import numpy as np
import pytest

from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.program.compile import Program

from .accounting import AccountingBackend

A, B = leaf("a", (10,), "float64"), leaf("b", (10,), "float64")
C = G.multiply(B, A)
D = C + 1


@pytest.fixture
def backend():
    return AccountingBackend()


def inputs(backend):
    return [backend.from_host(np.arange(10.0) + k, None) for k in (1, 2)]


def peak_of(backend, program, arrays):
    backend.ledger.reset_peak()
    results = program.run(arrays)
    return backend.ledger.peak, results


def test_running_operation_by_operation_holds_every_value(backend):
    a, b = inputs(backend)
    product, total = Program([C], [A, B], backend), Program([leaf("c", (10,), "float64") + 1], [leaf("c", (10,), "float64")], backend)
    backend.ledger.reset_peak()
    (c,) = product.run([a, b])
    (d,) = total.run([c])
    assert backend.ledger.peak == 320
    np.testing.assert_array_equal(d, np.arange(1, 11) * np.arange(2, 12) + 1.0)


def test_an_executor_without_fusion_reuses_one_buffer(backend):
    a, b = inputs(backend)
    peak, (d,) = peak_of(backend, Program([D], [A, B], backend, big=1 << 40), [a, b])
    assert peak == 240
    np.testing.assert_array_equal(d, np.arange(1, 11) * np.arange(2, 12) + 1.0)


@pytest.mark.parametrize("big", [1, 1 << 40])
def test_a_donated_argument_is_overwritten(backend, big):
    arrays = inputs(backend)
    peak, (d,) = peak_of(backend, Program([D], [A, B], backend, donated=[B], big=big), arrays)
    assert peak == 160
    np.testing.assert_array_equal(d, np.arange(1, 11) * np.arange(2, 12) + 1.0)


def test_without_donation_a_compiled_graph_holds_one_result(backend):
    arrays = inputs(backend)
    peak, _ = peak_of(backend, Program([D], [A, B], backend, big=1), arrays)
    assert peak == 240


def test_without_planning_every_value_has_its_own_memory(backend):
    arrays = inputs(backend)
    peak, _ = peak_of(backend, Program([D], [A, B], backend, big=1 << 40, in_place=False, share=False), arrays)
    assert peak == 320


def test_memory_is_freed_when_results_die(backend):
    arrays = inputs(backend)
    before = backend.ledger.live
    program = Program([D], [A, B], backend, big=1)
    results = program.run(arrays)
    assert backend.ledger.live == before + 80
    del results
    assert backend.ledger.live == before

"""Memory and counters: live and peak bytes, from the lifetimes of arrays."""

import gc

import numpy as np

import twofold as mx
from twofold import nd, profiler
from twofold.backend.ledger import HAND_OFFS
from twofold.profiler.recorder import RECORDER

from tests.devices import fake_gpus


def live(context=None):
    gc.collect()
    return profiler.memory()[context or mx.cpu()].live


def test_live_bytes_count_the_live_arrays():
    before = live()
    x, y = nd.zeros((1000,)), nd.zeros((500,), dtype="float64")
    assert live() - before == 8000
    view = x[10:20]
    del x
    assert live() - before == 8000  # the view keeps the whole array alive
    del view
    assert live() - before == 4000
    del y
    assert live() == before


def test_two_views_of_one_array_count_once():
    before = live()
    x = nd.zeros((10, 10))
    x[2:4], x[3:5]
    rows = [x[k] for k in range(10)]
    assert live() - before == 400
    del rows


def test_large_arrays_and_gradients_count():
    before = live()
    x = nd.zeros((300_000,))
    x.attach_grad()
    x.wait_to_read()
    x.grad.wait_to_read()
    assert live() - before == 2 * 1_200_000


def test_devices_are_told_apart():
    with fake_gpus(2, "issue") as (first, second):
        x, y = nd.zeros((100,), ctx=first), nd.zeros((50,), ctx=second)
        mx.nd.waitall()
        found = profiler.memory()
        assert (found[first].live, found[second].live) == (400, 200)
        del x, y


def test_the_peak_is_the_maximum_of_live_bytes(profile):
    x = nd.zeros((1000,))
    start = live()

    def run():
        for _ in range(5):
            y = x + x
            z = y * y
            del y, z

    profile(run)
    found = profiler.memory()[mx.cpu()]
    assert found.peak - start - found.scratch in range(8001)  # scratch of other programs is part of the peak
    assert found.allocations == 10
    assert found.allocated == 40_000
    assert live() == start


def test_untracked_figures_are_none(monkeypatch):
    monkeypatch.setattr(RECORDER.accounts, "ledgers", {})
    found = profiler.memory()[mx.cpu()]
    assert (found.peak, found.allocations, found.allocated) == (None, None, None)


def test_temporaries_of_programs_count_for_the_peak(profile):
    a = mx.sym.Variable("a")
    f = mx.compile(mx.sym.dot(mx.sym.dot(a, a), a))
    x = nd.ones((400, 400))

    def run():
        f(a=x).wait_to_read()

    before = profiler.memory()[mx.cpu()]
    profile(run)
    found = profiler.memory()[mx.cpu()]
    assert found.peak >= before.live + before.scratch + 2 * 640_000


def test_the_trace_contains_memory_over_time(profile):
    def run():
        x = nd.zeros((1000,))
        y = x + x
        del x
        y.wait_to_read()

    events = [e["args"]["Memory: cpu/0"] for e in profile(run) if e["name"] == "Memory: cpu/0"]
    first = events[0] - 4000
    assert [e - first for e in events] == [4000, 8000, 4000, 0]


def test_without_profile_memory_nothing_is_tracked(profile):
    events = profile(lambda: nd.zeros((1000,)) + 1, profile_all=False, profile_memory=False)
    assert not [e for e in events if e["ph"] == "C"]


def test_counters_report_the_execution_paths(profile):
    x, big = nd.ones((3,)), nd.ones((300, 300))
    big.wait_to_read()
    profiler.counters(reset=True)
    profile(lambda: (nd.dot(x, x).asnumpy(), (big * 2 + big).sum().asnumpy()))
    found = profiler.counters()
    assert (found["inline"], found["windows"], found["kernels"], found["fused"]) == (1, 1, 1, 3)
    assert (found["programs"], found["operators"], found["fused_kernels"]) == (1, 1, 1)
    assert found["moved_bytes"] == (3 + 3 + 1) * 4 + 360_000 + 4  # what is summed is not in memory
    assert set(profiler.counters(reset=True).values()) != {0}
    again = profiler.counters()
    assert again.pop("graph_bytes") > 0  # not a count: what graphs take now
    assert set(again.values()) == {0}


def test_copies_between_devices_are_counted_without_the_profiler():
    with fake_gpus(2, "issue") as (first, second):
        profiler.counters(reset=True)
        nd.ones((4,), ctx=first).as_in_context(second).wait_to_read()
        found = profiler.counters()
    assert (found["copies"], found["copied_bytes"]) == (1, 16)


def test_hand_offs_are_counted():
    from twofold.backend import workers

    before = HAND_OFFS.count
    done = np.zeros(2)
    workers.run_all([lambda: done.__setitem__(0, 1), lambda: done.__setitem__(1, 1)])
    assert done.all()
    assert HAND_OFFS.count == before + 1


def test_gpu_memory_info_is_asked_of_the_backend():
    with fake_gpus(1):
        free, total = mx.context.gpu_memory_info(0)
        assert 0 < free <= total

"""Windows in stages: results handed out before the rest exists, what waits for them, failures, and memory that stays as it is."""

import threading

import numpy as np
import pytest

import twofold as mx
from twofold.backend.kernel import ArrayType
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.errors import EngineError, MXNetError
from twofold.imperative import stages
from twofold.imperative.counters import COUNTERS
from twofold.imperative.invoke import data_of
from twofold.imperative.pending import issue
from twofold.imperative.stages import in_stages
from twofold.imperative.window import Window
from twofold.program.compile import Program
from twofold.scheduler.variable import Lane

from .random_programs import run
from tests import probe
from tests.probe import captured

LANE = Lane("test", "communicate")


@pytest.fixture(autouse=True)
def _deferred(monkeypatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 8)


def chain(length=3, start=1.0):
    """Products of a matrix, each of which reads the one before."""
    matrix = mx.nd.array(np.eye(8) * 2)
    found = [mx.nd.dot(matrix, matrix * start)]
    for _ in range(length - 1):
        found.append(mx.nd.dot(found[-1], matrix))
    return found


def told(monkeypatch, after):
    """Have programs call a function with a stage's number after they have handed it out."""
    original = Program.run_in_stages

    def run_in_stages(self, arrays, groups, tell):
        def both(k, found):
            tell(k, found)
            after(k)

        return original(self, arrays, groups, both)

    monkeypatch.setattr(Program, "run_in_stages", run_in_stages)


def doubled(v, begun=None):
    """A task on a lane of its own that doubles a result."""

    def work(arrays):
        if begun is not None:
            begun.set()
        return [arrays[0] * 2]

    (out,) = issue(work, [v], [ArrayType(*v.type)], CPU, float("inf"), LANE)
    return out


def test_a_task_runs_while_the_window_computes_the_rest(monkeypatch):
    values = [probe.content(a) for a in chain()]
    begun = [threading.Event() for _ in values]
    in_time = []
    told(monkeypatch, lambda k: in_time.append(begun[k].wait(20)))  # the next step has not run
    with in_stages([[v] for v in values]):
        out = [doubled(v, event) for v, event in zip(values, begun, strict=True)]
        assert not any(event.is_set() for event in begun)
    assert in_time == [True] * 3
    assert [float(data_of(v)[0, 0]) for v in values] == [4, 8, 16]
    assert [float(data_of(v)[0, 0]) for v in out] == [8, 16, 32]


def test_results_handed_out_are_final_in_random_programs(monkeypatch):
    """Not written any more by later steps, and the same bits as without stages."""
    count = 0

    class Snapshots:
        def run(self, program, arrays, numbers):
            nonlocal count
            seen = {}
            groups = tuple([(k,) for k in range(len(program.outputs))])
            results = program.run_in_stages(arrays, groups, lambda k, found: seen.update({k: (found[0], found[0].copy())}))
            for k, (array, copy) in seen.items():
                assert array is results[k]
                np.testing.assert_array_equal(results[k], copy)
            count += len(seen)
            return results

        def end(self, error): ...

    for seed in range(40):
        monkeypatch.setattr(Window, "__init__", plain := Window.__init__)
        wanted = run(seed, record=True)

        def staged(self, device, plain=plain):
            plain(self, device)
            self.stages = Snapshots()

        with monkeypatch.context() as patch:
            patch.setattr(Window, "__init__", staged)
            for a, b in zip(run(seed, record=True), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
    assert count > 200


def test_a_result_is_in_use_until_the_window_is_done(monkeypatch):
    first, *others = [probe.content(a) for a in chain()]
    exclusive = []
    told(monkeypatch, lambda k: exclusive.append(first.exclusive))
    with in_stages([[first], others]):
        assert not first.exclusive
    assert exclusive == [False, False]
    assert first.exclusive


def test_copies_of_inputs_are_handed_out_at_the_end(monkeypatch):
    a = mx.nd.ones((8, 8))
    b, c = a * 2, a.copy()
    numbers = []
    told(monkeypatch, numbers.append)
    with in_stages([[probe.content(b)], [probe.content(c)]]):
        out = [doubled(v) for v in (probe.content(b), probe.content(c))]
    assert numbers == [0]
    assert [float(data_of(v)[0, 0]) for v in out] == [4, 2]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_failure_between_stages(monkeypatch, kind):
    """What is complete can be read; everything else raises; the error is reported once, and the engine goes on."""
    values = [probe.content(a) for a in chain()]

    def fail(k):
        raise kind("on purpose")

    told(monkeypatch, fail)
    if kind is ValueError:  # the other results are computed one by one if they do not depend on what failed
        monkeypatch.setattr("twofold.imperative.window.salvaged", lambda *given: ())
    with pytest.raises(MXNetError if kind is ValueError else kind), in_stages([[v] for v in values]):
        out = [doubled(v) for v in values]
    assert float(data_of(values[0])[0, 0]) == 4
    assert float(data_of(out[0])[0, 0]) == 8
    for v in (*values[1:], *out[1:]):
        with pytest.raises(MXNetError if kind is ValueError else EngineError):
            data_of(v)
    monkeypatch.undo()
    with pytest.raises(MXNetError) as caught:
        mx.nd.waitall()
    assert not [note for note in getattr(caught.value, "__notes__", ()) if note.startswith("and then")]
    mx.nd.waitall()
    assert [float(a.asnumpy()[0, 0]) for a in chain()] == [4, 8, 16]


def test_an_error_where_tasks_are_issued_leaves_the_results_right():
    values = [probe.content(a) for a in chain()]
    with pytest.raises(LookupError), in_stages([[v] for v in values]):
        raise LookupError
    assert [float(data_of(v)[0, 0]) for v in values] == [4, 8, 16]


def test_without_room_for_tasks_the_window_runs_first(monkeypatch):
    values = [probe.content(a) for a in chain()]
    monkeypatch.setattr(SETTINGS, "lane_operations", 2)
    with in_stages([[v] for v in values]):
        assert all(v.data is None for v in values)
        assert not isinstance(values[0].producer[0], stages.Stage)
        out = [doubled(v) for v in values]
    assert [float(data_of(v)[0, 0]) for v in out] == [8, 16, 32]


def test_ready_results_and_those_of_other_threads_run_as_ever():
    ready = mx.nd.ones((2, 2))
    with in_stages([[], [captured(ready)]]):
        pass
    made = []
    thread = threading.Thread(target=lambda: made.extend(probe.content(a) for a in chain(2)))
    thread.start()
    thread.join()
    with in_stages([[v] for v in made]):
        assert not any(isinstance(v.producer[0], stages.Stage) for v in made)
        out = [doubled(v) for v in made]
    assert [float(data_of(v)[0, 0]) for v in out] == [8, 16]


def test_the_program_in_stages_is_compiled_once():
    COUNTERS.reset()
    programs = set()
    for _ in range(3):
        values = [probe.content(a) for a in chain()]
        with in_stages([[v] for v in values]):
            pass
        programs.add(COUNTERS.compiled)
    assert max(programs) <= 1

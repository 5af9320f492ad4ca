"""Domains, tasks, frames, events, counters, markers and scopes."""

import threading

import pytest

from twofold import MXNetError, nd, profiler

from tests.profiler.conftest import names


def of(events, category):
    return [e for e in events if e.get("cat") == category]


def test_tasks_can_overlap(profile):
    domain = profiler.Domain("load")

    def run():
        first, second = domain.new_task("first"), profiler.Task(domain, "second")
        first.start()
        second.start()
        first.stop()
        second.stop()

    events = of(profile(run), "load")
    assert [(e["name"], e["ph"]) for e in events] == [("first", "b"), ("second", "b"), ("first", "e"), ("second", "e")]
    assert events[0]["id"] == events[2]["id"] != events[1]["id"]


def test_frames_have_their_own_category(profile):
    frame = profiler.Domain("load").new_frame("batch")

    def run():
        for _ in range(2):
            frame.start()
            frame.stop()

    assert [e["ph"] for e in of(profile(run), "load,frame")] == ["b", "e"] * 2


def test_an_event_encloses_what_runs_in_it(profile):
    event, x = profiler.Event("part"), nd.ones((3,))

    def run():
        event.start()
        x + x
        event.stop()

    events = profile(run)
    begin, end = of(events, "event")
    (inside,) = of(events, "operator")
    assert (begin["ph"], end["ph"]) == ("B", "E")
    assert begin["ts"] <= inside["ts"] <= inside["ts"] + inside["dur"] <= end["ts"]


def test_stopping_what_was_not_started_has_no_effect(profile):
    task = profiler.Domain("load").new_task("task")
    task.start()  # the profiler is off
    assert of(profile(task.stop), "load") == []


def test_a_task_can_stop_in_another_thread(profile):
    task = profiler.Domain("load").new_task("task")

    def run():
        task.start()
        other = threading.Thread(target=task.stop)
        other.start()
        other.join()

    begin, end = of(profile(run), "load")
    assert begin["tid"] != end["tid"]


def test_a_counter_is_plotted_over_time(profile):
    domain = profiler.Domain("load")

    def run():
        counter = domain.new_counter("rows", 5)
        counter += 3
        counter -= 1
        counter.increment(4)
        counter.decrement()
        counter.set_value(77)

    events = of(profile(run), "load")
    assert [e["args"]["rows"] for e in events] == [5, 8, 7, 11, 10, 77]
    assert {e["ph"] for e in events} == {"C"}


def test_a_counter_counts_while_the_profiler_is_off_and_in_many_threads(profile):
    counter = profiler.Counter(profiler.Domain("load"), "rows")
    workers = [threading.Thread(target=lambda: [counter.increment() for _ in range(500)]) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    (event,) = of(profile(counter.increment), "load")
    assert event["args"] == {"rows": 2001}
    with pytest.raises(ValueError, match="invalid literal"):
        counter.set_value("x")


def test_markers_have_the_requested_scope(profile):
    marker = profiler.Domain("load").new_marker("here")
    events = profile(lambda: [marker.mark(s) for s in ("process", "thread", "global", "task", "marker")])
    assert [(e["ph"], e["s"]) for e in of(events, "load,instant_marker")] == [("i", s) for s in "ptgpp"]
    with pytest.raises(MXNetError, match="unknown scope"):
        marker.mark("nope")


def test_scopes_nest_and_name_what_runs_in_them(profile):
    x = nd.ones((3,))

    def run():
        with profiler.Scope("model:"):
            x + x
            with profiler.scope("head:"):
                x * x
            with profiler.Scope("apart:", append_mode=False):
                x - x
        x / x

    events = profile(run)
    assert [e.get("args", {}).get("scope") for e in of(events, "operator")] == ["model:", "model:head:", "apart:", None]
    assert names(events, "scope") == ["model:", "model:head:", "apart:"]
    outer, inner, _ = sorted(of(events, "scope"), key=lambda e: e["ts"])
    assert outer["ts"] <= inner["ts"] <= inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_scopes_apply_to_one_thread(profile):
    x = nd.ones((3,))

    def run():
        with profiler.Scope("here:"):
            other = threading.Thread(target=lambda: x + x)
            other.start()
            other.join()

    assert "scope" not in of(profile(run), "operator")[0]["args"]


def test_texts_are_their_names():
    domain = profiler.Domain("load")
    made = [domain, domain.new_task("a"), domain.new_frame("b"), domain.new_counter("c"), profiler.Event("d"), domain.new_marker("e")]
    assert [str(m) for m in made] == ["load", "a", "b", "c", "d", "e"]


@pytest.mark.parametrize("make", [lambda: profiler.Domain(3), lambda: profiler.Event(3), lambda: profiler.Task("domain", "task")])
def test_invalid_names_and_domains_are_rejected(make):
    with pytest.raises(TypeError):
        make()

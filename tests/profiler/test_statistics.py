"""The statistics: MXNet's table, character for character, and JSON."""

import json

import pytest

from twofold import nd, profiler
from twofold.profiler.statistics import Statistics

#: From MXNet 1.9.1, with the times in its table replaced by those used here.
TABLE = """
Profile Statistics:
	Note the difference in units for different entries.
Device Storage
=================
Name                          Total Count    Min Use  (kB)    Max Use  (kB)    Avg Use  (kB)
----                          -----------    -------------    -------------    -------------
Memory: cpu/0                           2          40.0000         280.0040         160.0020

event
=================
Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)
----                          -----------        ---------    -------------    -------------    -------------
evt                                     2           0.2310           0.0010           0.2300           0.1155
yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy               1           0.0010           0.0010           0.0010           0.0010

"""


def filled():
    found = Statistics()
    for kind, category, name, value in [
        ("Memory", "Device Storage", "Memory: cpu/0", 40_000),
        ("Memory", "Device Storage", "Memory: cpu/0", 280_004),
        ("Time", "event", "y" * 30, 1_000),
        ("Time", "event", "evt", 1_000),
        ("Time", "event", "evt", 230_000),
    ]:
        found.add(kind, category, name, value)
    return found


def test_the_summary_table_matches_mxnet():
    assert filled().table("total", False) == TABLE


@pytest.mark.parametrize("sort_by", ["total", "avg", "min", "max", "count"])
def test_rows_are_sorted(sort_by):
    found = Statistics()
    values = {"a": [1, 9], "b": [4, 4, 4], "c": [2]}
    for name, several in values.items():
        for value in several:
            found.add("Time", "event", name, value)
    key = {"total": sum, "avg": lambda v: sum(v) / len(v), "min": min, "max": max, "count": len}[sort_by]
    order = sorted(values, key=lambda name: key(values[name]))
    for ascending, want in ((True, order), (False, sorted(values, key=lambda name: key(values[name]), reverse=True))):
        assert list(json.loads(found.json(sort_by, ascending))["Time"]["event"]) == want


def test_json_has_the_same_values():
    assert json.loads(filled().json("total", False)) == {
        "Time": {
            "event": {
                "evt": {"Count": 2, "Total": 0.231, "Min": 0.001, "Max": 0.23, "Avg": 0.1155},
                "y" * 30: {"Count": 1, "Total": 0.001, "Min": 0.001, "Max": 0.001, "Avg": 0.001},
            }
        },
        "Memory": {"Device Storage": {"Memory: cpu/0": {"Count": 2, "Min": 40.0, "Max": 280.004, "Avg": 160.002}}},
        "Unit": {"Time": "ms", "Memory": "kB"},
    }


def test_executed_operations_are_counted(profile):
    x = nd.ones((3,))
    profile(lambda: [x + x for _ in range(7)], aggregate_stats=True)
    row = json.loads(profiler.dumps(format="json"))["Time"]["operator"]["add"]
    assert row["Count"] == 7
    assert 0 < row["Min"] <= row["Avg"] <= row["Max"] <= row["Total"]


def test_the_statistics_include_counters_and_tasks(profile):
    domain = profiler.Domain("load")

    def run():
        counter, task = domain.new_counter("rows", 4), domain.new_task("task")
        counter += 6
        task.start()
        task.stop()

    profile(run, aggregate_stats=True)
    found = json.loads(profiler.dumps(format="json"))
    assert found["Counter"]["load"]["rows"] == {"Count": 2, "Last": 10, "Min": 4.0, "Max": 10.0, "Avg": 7.0}
    assert found["Time"]["load"]["task"]["Count"] == 1


def test_without_aggregate_stats_nothing_is_kept(profile):
    profile(lambda: nd.ones((3,)) + 1)
    assert profiler.dumps() == ""


def test_reset_starts_over(profile):
    profile(lambda: nd.ones((3,)) + 1, aggregate_stats=True)
    assert "operator" in profiler.dumps(reset=True)
    assert profiler.dumps() == "\nProfile Statistics:\n\tNote the difference in units for different entries.\n"


def test_statistics_can_be_read_while_profiling(profile):
    x, found = nd.ones((3,)), []

    def run():
        x + x
        found.append(profiler.dumps())
        x + x

    profile(run, aggregate_stats=True)
    assert "add                                     1 " in found[0]
    assert "add                                     2 " in profiler.dumps()

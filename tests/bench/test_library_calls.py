"""The table of calls of libraries: how long they take with folding arrays, and which are slow."""

from asv_benchmarks.library_calls import measured, row, table


def test_slow_calls_are_named_with_their_time():
    calls = {"cut": [0.004, 0.002], "merge": [0.002, 0.004]}
    assert row("pandas", calls) == "| pandas | 2 | 1.00 | `merge` 2.00 (2 ms) |"
    text = "\n".join(table({"pandas": calls, "python": {"struct": [1.0, 1.05]}}))
    assert "3 calls, geometric mean 1.02, 1 above 1.1." in text
    assert "| Python itself | 1 | 1.05 |  |" in text


def test_both_ways_are_measured(capsys):
    (calls,) = measured(["PIL"], 1).values()
    assert {"fromarray", "png"} <= set(calls)
    assert all(0 < seconds < 60 for pair in calls.values() for seconds in pair)
    assert capsys.readouterr().out.startswith("| PIL | ")

"""The speed kept beside busy processes: neighbors spin when they are told to, and what is computed from the times."""

import time
from pathlib import Path

import pytest

from asv_benchmarks import busy
from asv_benchmarks.busy import Row


def used(process):
    """The processor ticks that a process has used."""
    return sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_neighbors_spin_when_they_are_told_to():
    with busy.neighbors(2) as others:
        first, second = others._all
        others.run(1)
        end = time.monotonic() + 30
        before = used(first)
        while used(first) < before + 5 and time.monotonic() < end:
            time.sleep(0.01)
        assert used(first) >= before + 5
        stopped = used(second)
        others.run(0)
        time.sleep(0.05)
        assert used(second) - stopped <= 1
    assert all(p.poll() is not None for p in (first, second))


def row(name="chain", kept=1.0):
    return Row(
        name, 1.0, dict.fromkeys(busy.TARGETS, kept), dict.fromkeys(busy.TARGETS, kept), {0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.9, 1: 1.0, 2: 0.7}
    )


@pytest.mark.parametrize(("kept", "verdict"), [(1.0, "met"), (0.7, "missed"), (0.01, "FAILED")])
def test_the_verdict_on_a_row(kept, verdict):
    assert busy.line(row(kept=kept)).endswith(f"  {verdict}")


def test_numpy_cannot_fail():
    assert not row("NumPy: chain", 0.001).has_failed


def test_the_speed_kept_is_a_ratio_of_means():
    found = busy._row("x", {0: [1.0, 1.0, 4.0], 1: [2.0, 2.0, 8.0], 2: [3.0, 3.0, 24.0]}, {0: [2.0], 1: [1.0], 2: [0.5]})
    assert found.kept == pytest.approx({1: 0.5, 2: 0.2})
    assert found.kept_in_the_median == pytest.approx({1: 0.5, 2: 1 / 3})
    assert found.milliseconds == pytest.approx(2000)


def test_a_row_that_fails_fails_the_run(monkeypatch, capsys):
    monkeypatch.setattr(busy, "rows", lambda batch, side: {})
    for kept, status in ((1.0, 0), (0.01, 1)):
        monkeypatch.setattr(busy, "measure", lambda *options, kept=kept: iter([row(kept=kept)]))
        assert busy.main(["--smoke"]) == status
    assert "failed: chain" in capsys.readouterr().out


def test_the_steps_compute():
    for name, step in busy.rows(2, 64).items():
        if "chain" not in name:
            step()

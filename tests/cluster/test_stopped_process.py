"""A stopped process of a cluster is ended from beside; one that only computes is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from twofold.stopped_process import LIMIT

from .conftest import environment

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc, in which a stopped process is seen")

BEGIN = "import ctypes, sys; from twofold.stopped_process import end_if_stopped; end_if_stopped(); print(flush=True)\n"
#: Holds the interpreter's lock, so that no thread of the process can answer.
SILENT = f"{BEGIN}ctypes.PyDLL(None).sleep({int(LIMIT) + 2})"
WAIT = "import sys; sys.stdin.read()"
WAITING = f"{BEGIN}sys.stdin.read()"


def started(program: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", program]
    found = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert found.stdout is not None
    found.stdout.readline()
    return found


@pytest.mark.ci
def test_only_a_process_that_is_stopped_for_long_is_ended():
    stopped, silent, continued = started(WAITING), started(SILENT), started(WAITING)
    for process in (stopped, continued):
        os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        stopped.wait(LIMIT / 2)
    os.kill(continued.pid, signal.SIGCONT)
    _, log = stopped.communicate(timeout=LIMIT + 5)
    assert stopped.returncode == -signal.SIGKILL
    assert "this process has been stopped for 5 s, and is ended" in log
    assert [process.communicate(timeout=20) for process in (silent, continued)] == [("", "")] * 2
    assert (silent.returncode, continued.returncode) == (0, 0)


def test_a_process_ends_that_waits_for_one_without_a_store(tmp_path):
    missing = tmp_path / "missing"
    begin = f"from twofold import stopped_process; stopped_process.end_if_stopped({str(missing)!r}); "
    waiting, connected = (
        subprocess.Popen([sys.executable, "-c", f"{begin}{then}; {WAIT}"], env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for then in ("stopped_process.note_connecting()", "stopped_process.note_connecting(); stopped_process.note_connected()")
    )
    missing.write_text("process 1")
    _, log = waiting.communicate(timeout=30) if waiting.wait(30) else (b"", b"")
    assert waiting.returncode == -signal.SIGKILL
    assert b"waits for process 1, which has finished without a store" in log
    assert connected.communicate(timeout=30)[1] == b""
    assert connected.returncode == 0


def test_a_process_ends_that_waits_too_long_for_others():
    begin = "from twofold import stopped_process; stopped_process.end_if_stopped(patience=1); "
    waiting, connected = (
        subprocess.Popen([sys.executable, "-c", f"{begin}{then}; {WAIT}"], env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for then in ("stopped_process.note_connecting()", "stopped_process.note_connecting(); stopped_process.note_connected()")
    )
    _, log = waiting.communicate(timeout=30) if waiting.wait(30) else (b"", b"")
    assert waiting.returncode == -signal.SIGKILL
    assert b"mx.kv.create has waited 1 s for the other processes" in log
    assert connected.communicate(timeout=30)[1] == b""
    assert connected.returncode == 0


@pytest.mark.ci
def test_a_launcher_ends_whose_process_dies_before_it_connects():
    """It would let the others wait for ever; a process that has connected, or ends of its own will, is nobody's loss."""
    begin = "import os; from twofold.stopped_process import end_if_stopped, note_connected; end_if_stopped(); "
    launcher = "import subprocess, sys, time; subprocess.run([sys.executable, '-c', sys.argv[1]]); time.sleep(2)"
    endings = {"os.kill(os.getpid(), 9)": -signal.SIGTERM, "note_connected(); os.kill(os.getpid(), 9)": 0, "pass": 0}
    started = [
        subprocess.Popen([sys.executable, "-c", launcher, begin + ending], env=environment({"TWOFOLD_FAULT_TOLERANT": "1"}))
        for ending in endings
    ]
    assert [process.wait(30) for process in started] == list(endings.values())


@pytest.mark.ci
def test_a_launcher_is_told_when_a_process_has_connected_and_ended(tmp_path):
    """Whatever ends the process, and whether its group is ended with it or one of its children lives on."""
    begin = "import os, signal, subprocess, sys; from twofold import stopped_process; stopped_process.end_if_stopped(); "
    endings = {
        "stopped_process.note_connected(); stopped_process.note_status(0)": ("connected", "0"),
        "stopped_process.note_connected(); stopped_process.note_status(3); os.killpg(0, signal.SIGKILL)": ("connected", "3"),
        "stopped_process.note_connected(); os.fork() or os.execlp('sleep', 'sleep', '5'); os.kill(os.getpid(), 9)": ("connected", ""),
    }
    for rank, (then, (first, status)) in enumerate(endings.items()):
        more = {"TWOFOLD_TELL": "1", "TWOFOLD_RUN_FOLDER": str(tmp_path), "OMPI_COMM_WORLD_RANK": str(rank)}
        words = [sys.executable, "-c", begin + then]
        process = subprocess.Popen(words, env=environment(more), stderr=subprocess.PIPE, text=True, start_new_session=True)
        assert (
            process.communicate(timeout=30)[1] == f"twofold-process: {rank} {first}\ntwofold-process: {rank} ended {status}".rstrip() + "\n"
        )
        assert (tmp_path / f"ended-{rank}").read_text() == status

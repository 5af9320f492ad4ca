"""Forking while other threads record; running out of memory."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from twofold import nd
from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_computes_whatever_other_threads_were_doing(monkeypatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 8)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            y = nd.ones(100) * 2
            (y + 1).asnumpy()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        failed = 0
        for _ in range(20):
            child = os.fork()
            if not child:
                signal.alarm(5)
                nd.waitall()
                os._exit(int((nd.ones(100) * 3).asnumpy().sum() != 300))
            failed += os.waitpid(child, 0)[1] != 0
    finally:
        stop.set()
        thread.join()
    assert failed == 0


FORKS_AT_EACH_LINE = """
import os, sys
from twofold.collector import RESTING, _Rest

children = []

def at_line(frame, event, _):
    if frame.f_code not in (_Rest.__enter__.__code__, _Rest.__exit__.__code__):
        return None
    if event == "line":
        child = os.fork()
        if child:
            children.append(child)
        else:
            sys.settrace(None)
            with RESTING:
                os._exit(0)
    return at_line

sys.settrace(at_line)
with RESTING:
    pass
sys.settrace(None)
print(len(children), [os.waitpid(child, 0)[1] for child in children])
"""


def test_a_signal_handler_may_fork_while_its_thread_tells_the_collector_to_rest():
    command = [sys.executable, "-c", FORKS_AT_EACH_LINE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    count, _, statuses = done.stdout.partition(" ")
    assert int(count) >= 8
    assert set(json.loads(statuses)) == {0}


@pytest.mark.parametrize(
    "make", [lambda: nd.zeros(1 << 45), lambda: nd.broadcast_add(nd.ones((1 << 21, 1)), nd.ones((1, 1 << 21))).asnumpy()]
)
def test_running_out_of_memory_is_reported(make):
    with pytest.raises(DeviceOutOfMemory, match="does not fit into memory"):
        make()
    assert (nd.ones(2) + 1).asnumpy().tolist() == [2, 2]

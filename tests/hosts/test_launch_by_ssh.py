"""`launch` on hosts of their own: it starts what can start, and names the host and the cause where something is missing."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.hosts.namespaces import ENVIRONMENT, ROOT, Hosts, name
from tests.hosts.network import Link

pytestmark = pytest.mark.slow

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
METADATA = Path(str(distribution("twofold").locate_file(f"twofold-{distribution('twofold').version}.dist-info"))) / "METADATA"
#: Seconds in which a run on loaded cores ends.
SECONDS = 200
#: What each host is: the first two are as they should be.
(NO_PYTHON, NO_PACKAGE, OTHER_VERSION, ONE_CORE, LATE, NO_SERVER) = range(3, 9)
SETUPS = {
    NO_PYTHON: f"mount -t tmpfs none {ENVIRONMENT}; $SSHD",
    NO_PACKAGE: f"mount -t tmpfs none {ROOT}/src/twofold; $SSHD",
    OTHER_VERSION: f"sed 's/^Version: .*/Version: 0.0.7/' {METADATA} > /tmp/metadata; mount --bind /tmp/metadata {METADATA}; $SSHD",
    ONE_CORE: "taskset -c 0 $SSHD",
    LATE: f"$SSHD -o 'SetEnv=LD_PRELOAD={FAKETIME} FAKETIME=+3600 FAKETIME_DONT_FAKE_MONOTONIC=1'",
    NO_SERVER: ":",
}


@pytest.fixture(scope="module")
def hosts():
    with Hosts(8, SETUPS) as made:
        yield made


def launched(hosts, places, words):
    """The status and the log of a job that node1 starts."""
    started = hosts.start([sys.executable, "-m", "twofold", "launch", "--hosts", places, *words], {"TWOFOLD_KV_TIMEOUT": "60"})
    log, _ = started.communicate(timeout=SECONDS)
    return started.returncode, log


def test_digits_are_trained_on_two_hosts(hosts):
    status, log = launched(hosts, "node1:1,node2:1", [str(ROOT / "examples" / "digits_cluster.py"), "--epochs", "1"])
    assert status == 0, log
    assert "launch: 2 workers on node1, node2" in log
    assert {line.partition(" | ")[0] for line in log.splitlines() if "epoch 0: loss" in line} == {"worker 0", "worker 1"}


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (NO_PYTHON, "has no Python of this name"),
        (NO_PACKAGE, "the package 'twofold' is not installed"),
        (OTHER_VERSION, "has another version of twofold: given 0.0.7; this machine:"),
        (NO_SERVER, "cannot be reached by ssh: given ssh: connect to host node8 port 22: Connection refused"),
    ],
)
def test_a_host_that_lacks_something_is_named(hosts, number, cause):
    status, log = launched(hosts, f"node1:1,{name(number)}:1", ["-c", "pass"])
    assert status == 2
    assert f"launch: {name(number)}" in log
    assert cause in log


def test_all_hosts_that_lack_something_are_named(hosts):
    _, log = launched(hosts, f"node1:1,node2:1,{name(NO_PYTHON)}:1,{name(NO_PACKAGE)}:1", ["-c", "pass"])
    assert "launch: node3 has no Python" in log
    assert "Also: node4: the package" in log
    assert "node2" not in log


@pytest.mark.parametrize(
    ("sources", "targets", "link", "cause"),
    [
        (["10.77.0.1"], ["10.77.0.2"], Link(is_cut=True), "launch: node2 cannot be reached by ssh: given ssh: connect to host node2"),
        (["10.77.0.2"], ["10.77.0.1"], Link(is_cut=True), "launch: node2 cannot be reached by ssh: given ssh: connect to host node2"),
        (["10.77.0.2"], ["10.77.0.1"], Link(ports=(22,)), "launch: node2 cannot connect to this machine: given from node2 to node1"),
    ],
    ids=["unreachable", "no route back", "a firewall"],
)
def test_a_host_without_a_way_there_or_back_is_named(hosts, sources, targets, link, cause):
    hosts.network.set(sources, targets, link, both_ways=False)
    try:
        status, log = launched(hosts, "node1:1,node2:1", ["-c", "pass"])
    finally:
        hosts.network.set(sources, targets, Link(), both_ways=False)
    assert status == 2
    assert cause in log


def test_processes_compute_with_as_many_threads_as_the_host_with_the_fewest_cores_has(hosts):
    _, log = launched(hosts, f"node1:1,{name(ONE_CORE)}:1", ["-c", "import os; print(os.environ['OMP_NUM_THREADS'], 'threads')"])
    assert "worker 0 | 1 threads" in log
    assert "worker 1 | 1 threads" in log


@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime not found: apt-get install libfaketime")
def test_a_clock_that_is_an_hour_ahead_is_told_and_the_job_runs(hosts):
    program = "import time, twofold as mx; kv = mx.kv.create('dist_sync'); print(round(time.time()), 'trained')"
    status, log = launched(hosts, f"node1:1,{name(LATE)}:1", ["-c", program])
    assert status == 0, log
    assert re.search(r"launch: the clock of node7 is 3[56]\d\d s ahead of this machine's", log), log
    here, there = (int(line.split()[-2]) for line in sorted(line for line in log.splitlines() if line.endswith("trained")))
    assert there - here > 3000


def test_nothing_is_left_when_the_hosts_end():
    with Hosts(2) as made:
        folder, process = made.folder, made.start(["sleep", "1000"], number=2)
    process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert not folder.exists()

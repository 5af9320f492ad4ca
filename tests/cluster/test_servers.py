"""Stores with servers in processes of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError

from tests.cases import later_in_ci
from tests.cluster.conftest import HERE, SECONDS, environment

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(("servers", "arguments"), later_in_ci([(1, ["dist_sync"]), (1, ["dist_async"]), (2, ["dist_async", "1"])]))
def test_values(run, servers, arguments):
    done = run(2 + servers, "served", *arguments, TWOFOLD_SERVERS=str(servers), MXNET_KVSTORE_BIGARRAY_BOUND="10000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["worker 0 of 2 is done", "worker 1 of 2 is done"]


@pytest.mark.skipif(not Path("/proc/net/tcp").is_file(), reason="sockets are listed in Linux's /proc")
def test_processes_of_one_machine_listen_on_no_network():
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", "-s", "1", str(HERE / "programs" / "listening.py")]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"processes [3-9] listen \[\]", done.stdout), done.stdout


@pytest.mark.ci
def test_servers_train_as_one_worker_with_the_joined_batch(run, tmp_path):
    done = run(3, "served_training", tmp_path, TWOFOLD_SERVERS="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["worker 0 is done", "worker 1 is done"]


@pytest.mark.ci
def test_an_asynchronous_server_goes_on_without_a_worker_that_dies(run):
    done = run(4, "served_surviving", 5, TWOFOLD_SERVERS="1", TWOFOLD_FAULT_TOLERANT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worker 1 has died; the others go on without it" in done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "worker 0: 29 pushes, 1 dead", "worker 2: 29 pushes, 1 dead"]  # 12 + 12 + 5


@pytest.mark.ci
def test_what_arrives_while_a_server_sends_is_understood_after_what_came_before_it(run):
    done = run(2, "announced")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["server is done", "worker is done"]


@pytest.mark.ci
@pytest.mark.parametrize(("kind", "victim", "point"), later_in_ci([("dist_sync", 3, 4), ("dist_sync", 2, 30), ("dist_async", 3, 16)]))
def test_the_others_go_on_without_a_server_that_dies(run, kind, victim, point):
    done = run(
        4, "served_losing", kind, victim, point, TWOFOLD_SERVERS="2", TWOFOLD_FAULT_TOLERANT="1", MXNET_KVSTORE_BIGARRAY_BOUND="10000"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = sorted(done.stdout.splitlines())
    assert [line[:9] for line in lines] == ["worker 0:", "worker 1:"]
    if kind == "dist_sync":  # no push is lost, none counts twice
        shapes = [(5,), (3, 4), (300, 100), (7,)]
        weights = [np.ones(shape) for shape in shapes]
        for worker in range(2):
            draw = np.random.RandomState(worker)
            for _ in range(8):
                for weight, shape in zip(weights, shapes, strict=True):
                    weight -= 0.125 * draw.randint(-8, 8, shape)
        for line in lines:
            np.testing.assert_allclose([float(word) for word in line[9:].split()], [(w * w).sum() for w in weights], rtol=1e-6)


@pytest.mark.ci
def test_without_another_server_the_death_of_one_ends_all():
    # by the launcher: Open MPI alone sometimes ends with status 0 if the workers fail at the same time
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", "-s", "1", "--ft", str(HERE / "programs" / "served_losing.py")]
    done = subprocess.run([*words, "dist_sync", "2", "30"], env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode != 0
    assert "worker 0:" not in done.stdout
    assert "server 0 has died: there is no other server" in done.stderr
    assert "no answer within" not in done.stderr


def test_only_asynchronous_stores_have_a_staleness():
    for kind in ("local", "dist_sync"):
        with pytest.raises(ParameterError, match="staleness"):
            mx.kv.create(kind, staleness=2)
    assert mx.kv.create("dist_async", staleness=2).num_workers == 1

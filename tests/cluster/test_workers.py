"""Stores of several processes without servers: what they hold, training with them, and what happens after a mistake."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterError, ParameterError
from twofold.kvstore import cluster
from twofold.launcher_notes import launched

from .conftest import SECONDS, environment
from tests.cases import later_in_ci

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("workers", later_in_ci([2, 3]))
def test_values(run, workers):
    done = run(workers, "values")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"worker {k} of {workers} is done" for k in range(workers)]


@pytest.mark.ci
def test_the_speed_of_all_workers_and_a_checkpoint(run, tmp_path):
    done = run(2, "speeds", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Speed: ") == 2  # of worker 0 alone
    assert done.stdout.count("is done") == 2
    assert (tmp_path / "step-0000003.json").exists()


@pytest.mark.ci
def test_a_killed_training_continues_bitwise(run, tmp_path):
    """Dropout, data and Adam's states included."""
    for name, killed, status in (("whole", 0, 0), ("cut", 3, 137), ("cut", 0, 0)):
        (tmp_path / name).mkdir(exist_ok=True)
        done = run(2, "resuming", tmp_path / name, 6, killed)
        assert done.returncode == status, done.stderr
    whole, resumed = np.load(tmp_path / "whole" / "after-0.npz"), np.load(tmp_path / "cut" / "after-3.npz")
    for name in whole:
        np.testing.assert_array_equal(resumed[name], whole[name], err_msg=name)
    found = mx.kv.load_checkpoint(tmp_path / "cut")  # by one worker
    assert (found.step, found.own) == (6, None)
    np.testing.assert_array_equal(found.arrays["0.weight"].asnumpy(), whole["0.weight"])


@pytest.mark.ci
@pytest.mark.parametrize(("workers", "how"), later_in_ci([(2, "by the host"), (3, "connected")]))
def test_arrays_on_gpus(run, workers, how):
    done = run(workers, "devices", how, TWOFOLD_FAKE_GPUS="2", TWOFOLD_WORKERS=str(workers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"worker {k} is done" for k in range(workers)]


@pytest.mark.ci
def test_workers_train_as_one_with_the_joined_batch(run, tmp_path):
    for workers in (1, 2):
        done = run(workers, "training", tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    alone = np.load(tmp_path / "1-0.npz")
    first, second = np.load(tmp_path / "2-0.npz"), np.load(tmp_path / "2-1.npz")
    for name in alone:
        np.testing.assert_allclose(first[name], alone[name], atol=1e-6, err_msg=name)
        np.testing.assert_array_equal(second[name], first[name], err_msg=name)


@pytest.mark.ci
def test_all_workers_are_told_of_a_mistake_of_one(run, tmp_path):
    """Other shapes, a parameter that is skipped, other keys at a later push, a store that needs a server, weights that drift apart."""
    done = run(2, "mistakes", "told", tmp_path, TWOFOLD_KV_CHECKSUM="2")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["worker 0 was told", "worker 1 was told"]


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("versions", r"the processes differ: .*process 1: twofold [\d.]+, Open MPI.*each 7 steps"),
        ("raises", r"worker 1: ValueError: a mistake of worker 1"),
        ("absent", r"push of key 'a' \(operation \d+\) has waited for 1 s: worker 1 has not begun it"),
    ],
)
def test_a_mistake_of_one_worker_ends_all(run, mistake, message):
    """Long before the longest wait for a message is over, after which `run` would have given up, too."""
    done = run(2, "mistakes", mistake, TWOFOLD_KV_TIMEOUT="0.8" if mistake == "absent" else "600")
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr


@pytest.mark.ci
@pytest.mark.parametrize(("sign", "point"), later_in_ci([("SIGKILL", 6), ("SIGSTOP", 9)]))
def test_workers_go_on_without_one_that_dies(run, tmp_path, sign, point):
    done = run(3, "surviving", tmp_path, sign, point, TWOFOLD_FAULT_TOLERANT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worker 1 has died; 2 go on without it" in done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "worker 0 misses 1", "worker 2 misses 1"]
    first, other = np.load(tmp_path / "0.npz"), np.load(tmp_path / "2.npz")
    for name in first:
        np.testing.assert_array_equal(first[name], np.full_like(first[name], 1 - 10 * 0.125))  # the mean of ones, whoever is left
        np.testing.assert_array_equal(other[name], first[name])


@pytest.mark.parametrize("end", later_in_ci(["raise ValueError('bad input')", "raise SystemExit(3)", "import os; os._exit(9)"]))
def test_workers_go_on_without_one_whose_program_fails(end):
    program = f"""
import mxnet as mx
store = mx.kv.create("dist_sync")
store.init("a", mx.nd.zeros(2))
for step in range(3):
    if (store.rank, step) == (1, 1):
        {end}
    store.push("a", mx.nd.ones(2))
    store.pull("a", out=(found := mx.nd.zeros(2)))
print(f"{{found.asnumpy()[0]:g}} summed")
"""
    words = [sys.executable, "-m", "twofold", "launch", "-n", "3", "--ft", "-c", program]
    # long before the longest wait for a message is over
    done = subprocess.run(
        words, env=environment({"TWOFOLD_KV_TIMEOUT": "600"}), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 summed") == 2
    assert "worker 1 has died; 2 go on without it" in done.stderr


def test_a_program_that_fails_before_it_makes_a_store_ends_all():
    program = """
import os
if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    raise ValueError("no data")
import mxnet as mx
mx.kv.create("dist_sync")
"""
    words = [sys.executable, "-m", "twofold", "launch", "-n", "3", "--ft", "-c", program]
    long = environment({"TWOFOLD_KV_TIMEOUT": "600"})
    done = subprocess.run(words, env=long, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1, done.stderr
    assert "ValueError: no data" in done.stderr


@pytest.mark.parametrize("options", later_in_ci([[], ["--ft"], ["-s", "1"]]))
@pytest.mark.parametrize("end", later_in_ci(["sys.exit(3)", "sys.exit()", "raise ValueError('of the child')"]))
def test_a_forked_process_does_not_end_a_worker(options, end):
    program = f"""
import os, sys, mxnet as mx
store = mx.kv.create("dist_sync")
store.init("a", mx.nd.zeros(2))
if store.rank == 1:
    if os.fork() == 0:
        {end}
    print("child", os.waitstatus_to_exitcode(os.wait()[1]))
store.push("a", mx.nd.ones(2))
store.pull("a", out=(found := mx.nd.zeros(2)))
print(f"{{found.asnumpy()[0]:g}} summed")
"""
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", *options, "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 summed") == 2
    assert f"child {0 if end == 'sys.exit()' else 3 if '3' in end else 1}" in done.stdout


@pytest.mark.ci
def test_a_process_that_a_worker_starts_is_told_that_it_cannot_join():
    """Such as one of multiprocessing's way "spawn", which imports the script. In Open MPI it would crash, and the worker with it."""
    program = """
import subprocess, sys
import mxnet as mx
store = mx.kv.create("dist_sync")
words = [sys.executable, "-c", "import twofold as mx; mx.kv.create('local'); mx.kv.create('dist_sync')"]
done = subprocess.run(words, capture_output=True, text=True)
assert "ClusterError: a process of the cluster has started this one, which cannot join it" in done.stderr, done.stderr
store.init("a", mx.nd.zeros(2))
store.push("a", mx.nd.ones(2))
store.pull("a", out=(found := mx.nd.zeros(2)))
print(f"{found.asnumpy()[0]:g} summed")
"""
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 summed") == 2


@pytest.mark.ci
def test_the_deaths_of_all_workers_are_a_failure():
    program = "import os, mxnet as mx; mx.kv.create('dist_sync'); os.kill(os.getpid(), 9)"
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", "--ft", "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1, done.stderr
    assert "launch: no worker has finished (status 1)" in done.stderr


@pytest.mark.ci
def test_two_clusters_of_one_are_an_error(run):
    done = run(2, "values", TWOFOLD_WORKERS="3")
    assert done.returncode != 0
    assert "3 processes were started, 2 found each other by Open MPI" in done.stderr


def test_a_process_without_a_launcher_is_a_cluster_of_one():
    assert cluster.expected_processes({}) == 1
    assert cluster.expected_processes({"SLURM_NTASKS": "4"}) == 1  # an allocation, in which no step was started
    assert cluster.expected_processes({"SLURM_STEP_NUM_TASKS": "4"}) == 4
    assert cluster.expected_processes({"TWOFOLD_WORKERS": "4", "TWOFOLD_SERVERS": "1", "OMPI_COMM_WORLD_SIZE": "9"}) == 5
    with pytest.raises(ClusterError, match="twofold launch"):
        cluster.expected_processes({"DMLC_ROLE": "worker"})


@pytest.mark.parametrize("text", ["two", "", "-1", "1.5", "²"])
def test_a_variable_that_should_be_a_number_is_named(monkeypatch, text):
    wanted = rf"the environment variable (\w+) is no number: given {re.escape(repr(text))}; set it to an integer of 0 or more, or unset it"

    def name(environment):
        with pytest.raises(ParameterError, match=wanted) as caught:
            cluster.expected_processes(environment)
        return re.match(wanted, str(caught.value)).group(1)

    for variable in ("TWOFOLD_WORKERS", "TWOFOLD_SERVERS", "TWOFOLD_SPARES"):
        assert name({"TWOFOLD_WORKERS": "1", variable: text}) == variable
    for variable in cluster.SIZES:
        assert name({variable: text}) == variable
    monkeypatch.setenv("TWOFOLD_WORKERS", "2")
    monkeypatch.setenv("PMI_RANK", text)
    with pytest.raises(ParameterError, match=wanted.replace(r"(\w+)", "PMI_RANK")):
        launched()


@pytest.mark.parametrize("kind", ["dist", "dist_sync", "dist_async", "dist_device_sync", "dist_sync_device", "horovod", "Dist_Sync"])
def test_a_store_of_a_single_worker(kind):
    assert "OMPI_COMM_WORLD_SIZE" not in os.environ
    store = mx.kv.create(kind)
    assert (store.type, store.rank, store.num_workers, store.is_capable("optimizer")) == (kind.lower(), 0, 1, True)
    store.init("w", mx.nd.ones(2))
    store.push("w", [mx.nd.ones(2), mx.nd.ones(2)])
    store.pull("w", out=(out := mx.nd.zeros(2)))
    store.barrier()
    assert (out.asnumpy().tolist(), store.get_num_dead_node()) == ([2, 2], 0)


def test_rows_of_an_earlier_gradient_are_not_updated_again():
    """By a `Trainer` that updates the weights itself: the store gives it the rows of this step's gradient alone."""
    embedding = mx.gluon.nn.Embedding(4, 1, sparse_grad=True)
    embedding.initialize(mx.init.Zero())
    store = mx.kv.create("dist_sync")
    trainer = mx.gluon.Trainer(embedding.collect_params(), "sgd", {"learning_rate": 1}, kvstore=store, update_on_kvstore=False)
    for row in (0, 1, 3):
        with mx.autograd.record():
            total = embedding(mx.nd.array([row])).sum()
        total.backward()
        trainer.step(1)
        assert embedding.weight.grad().indices.asnumpy().tolist() == [row]
    assert embedding.weight.data().asnumpy().reshape(-1).tolist() == [-1, -1, 0, -1]

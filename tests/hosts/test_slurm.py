"""Jobs of two and three nodes by a real Slurm: they train to their ends, and a task that fails is named with its node."""

from __future__ import annotations

import sys
import time

import pytest

from tests.hosts.namespaces import ROOT, address
from tests.hosts.network import Link
from tests.hosts.slurm import Slurm, missing_slurm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing_slurm()), reason=missing_slurm() or "Slurm is there")]

LAUNCH = f"{sys.executable} -m twofold launch"
CHECKED = f"{ROOT}/tests/hosts/programs/checked_sums.py dist_sync"
TWO, THREE = ("-N2", "--ntasks-per-node=1"), ("-N3", "--ntasks-per-node=1")
#: Seconds in which a job on loaded cores ends.
SECONDS = 240.0
SUM_ONCE = f"{ROOT}/tests/hosts/programs/sum_once.py"
#: What it prints of a process's place.
PLACE = "SLURMD_NODENAME OMP_NUM_THREADS"


@pytest.fixture(scope="module")
def slurm():
    with Slurm(3) as made:
        yield made


def summed(slurm, *options, how="", action="pass", variables=""):
    """The state, the status and the log of a job that sums once."""
    job = slurm.submit(f'{variables} {LAUNCH} {how} {SUM_ONCE} "{action}" {PLACE}', *options)
    return slurm.wait(job, SECONDS)


def lines(log, text):
    return sorted(line for line in log.splitlines() if text in line)


def await_progress(slurm, job, folder):
    """Wait until worker 1 has made a step."""
    end = time.monotonic() + SECONDS
    while not (folder / "progress1").exists():
        assert time.monotonic() < end, slurm.log(job)
        time.sleep(0.2)


def test_a_training_of_two_nodes_ends_well(slurm):
    folder = slurm.folder / "training"
    folder.mkdir()
    state, status, log = slurm.wait(slurm.submit(f"{LAUNCH} {CHECKED} {folder} 10", *TWO), SECONDS)
    assert (state, status) == ("COMPLETED", "0:0"), log
    assert "launch: 2 workers on node1, node2, 1 thread each; Slurm" in log
    assert lines(log, "trained") == ["worker 0 | trained", "worker 1 | trained"]
    assert "wrong sum" not in log
    assert (folder / "run" / "step-0000002.json").exists()


def test_a_job_with_a_server_ends_well(slurm):
    folder = slurm.folder / "served"
    folder.mkdir()
    state, _, log = slurm.wait(slurm.submit(f"{LAUNCH} -s 1 {CHECKED} {folder} 10", *THREE), SECONDS)
    assert state == "COMPLETED", log
    assert "launch: 2 workers and 1 server on node1, node2, node3" in log
    assert lines(log, "trained") == ["worker 0 | trained", "worker 1 | trained"]
    assert "wrong sum" not in log


def test_processes_compute_with_the_cores_of_their_tasks(slurm):
    _, _, log = summed(slurm, "--ntasks=2", "--cpus-per-task=2")
    assert lines(log, "summed") == [f"worker {k} | summed {k} 2 [3.0, 3.0] node{k + 1} 2" for k in range(2)]


def test_variables_arrive_even_if_the_allocation_exports_none(slurm):
    state, _, log = summed(slurm, "--ntasks=4", "--export=NONE", how="--iface net0")
    assert state == "COMPLETED", log
    assert lines(log, "summed") == [f"worker {k} | summed {k} 4 [10.0, 10.0] node{1 + k // 2} 1" for k in range(4)]


@pytest.mark.parametrize(
    ("action", "status", "said"),
    [
        ("sys.exit(7)", 7, ""),
        ("os.kill(os.getpid(), 9)", 137, ""),
        ("raise ValueError(5)", 1, "worker 1 | ValueError: 5"),
        ("os.kill(os.getpid(), 19)", 137, "worker 1 | twofold: this process has been stopped for 5 s, and is ended"),
    ],
)
def test_the_task_that_fails_is_named_with_its_node(slurm, action, status, said):
    state, found, log = summed(slurm, *TWO, action=action)
    assert (state, found) == ("FAILED", f"{status}:0"), log
    last = f"launch: worker 1 (on node2) failed, and the others were ended (status {status}); no checkpoint was written"
    assert log.splitlines()[-1] == last
    assert said in log.splitlines() or not said


def test_a_worker_that_hangs_is_named_with_its_node(slurm):
    state, status, log = summed(slurm, *TWO, action="time.sleep(1000)", variables="TWOFOLD_KV_TIMEOUT=5")
    assert (state, status) == ("FAILED", "1:0"), log
    assert "worker 0 | twofold: worker 0: barrier" in log
    assert "worker 1 (on node2) has not begun it" in log
    assert log.splitlines()[-1].startswith("launch: worker 0 (on node1) failed, and the others were ended (status 1)")


def test_a_job_that_is_cancelled_ends_all_its_processes(slurm):
    job = slurm.submit(f'{LAUNCH} {SUM_ONCE} "time.sleep(1000)" {PLACE}', *TWO)
    end = time.monotonic() + SECONDS
    while len(lines(slurm.log(job), "summed")) < 2:
        assert time.monotonic() < end, slurm.log(job)
        time.sleep(0.2)
    slurm.run(["scancel", job])
    state, _, log = slurm.wait(job, SECONDS)
    assert state == "CANCELLED"
    assert "launch: the processes were ended (status 143)" in log
    left = [line for number in (1, 2) for line in slurm.run(["ps", "ax", "-o", "args"], number).splitlines() if "sum_once.py" in line]
    assert left == []


def test_with_ft_open_mpi_starts_the_processes_and_the_others_go_on(slurm):
    state, _, log = summed(slurm, *THREE, how="--ft", action="os.kill(os.getpid(), 9)")
    assert state == "COMPLETED", log
    assert "launch: 3 workers on node1, node2, node3, 1 thread each; Open MPI" in log
    assert lines(log, "summed") == [f"worker {k} | summed {k} 3 [6.0, 6.0] node{k + 1} 1" for k in range(3)]
    assert "worker 1 has died; 2 go on without it" in log


def test_a_spare_takes_the_place_of_a_worker_that_dies(slurm):
    folder = slurm.folder / "spares"
    folder.mkdir()
    job = slurm.submit(f"{LAUNCH} --ft --spares 1 {CHECKED} {folder} 40", *THREE)
    await_progress(slurm, job, folder)
    worker = slurm.run(["pgrep", "-f", "twofold run .*checked_sums"], 2).split()[0]
    slurm.run(["kill", "-9", worker], 2)
    state, _, log = slurm.wait(job, SECONDS)
    assert state == "COMPLETED", log
    assert "launch: 2 workers and 1 spare on node1, node2, node3" in log
    assert "spare 0  | twofold: this spare goes on as worker 1" in log
    assert lines(log, "trained") == ["spare 0  | trained", "worker 0 | trained"]
    assert "wrong sum" not in log


@pytest.mark.parametrize(("how", "state"), [("--ft", "COMPLETED"), ("", "FAILED")])
def test_a_node_vanishes(how, state):
    with Slurm(3) as slurm:
        job = slurm.submit(f"TWOFOLD_KV_TIMEOUT=30 {LAUNCH} {how} {CHECKED} {slurm.folder} 40", *THREE, "--no-kill")
        await_progress(slurm, job, slurm.folder)
        slurm.network.set([address(2)], [address(1), address(3)], Link(is_cut=True))
        slurm.vanish(2)
        found, _, log = slurm.wait(job, SECONDS)
    assert found == state, log
    assert "wrong sum" not in log
    if how:
        assert "worker 0 | twofold: worker 1 has died; 2 go on without it" in log
        assert lines(log, "trained") == ["worker 0 | trained", "worker 2 | trained"]
    else:
        assert "no answer from worker 1 (on node2)" in log
        assert log.splitlines()[-1].startswith("launch: worker ")
        assert "failed, and the others were ended (status 1)" in log.splitlines()[-1]


def test_processes_that_srun_starts_find_one_another(slurm):
    words = f'srun --mpi=pmix --label env OMP_NUM_THREADS=1 {sys.executable} -m twofold run {SUM_ONCE} "pass" {PLACE}'
    state, _, log = slurm.wait(slurm.submit(words, *TWO), SECONDS)
    assert state == "COMPLETED", log
    assert lines(log, "summed") == [f"{k}: summed {k} 2 [3.0, 3.0] node{k + 1} 1" for k in range(2)]


def test_nodes_without_the_library_of_pmix_are_told_what_to_install(slurm):
    hidden = f"unshare --mount sh -c 'mount -t tmpfs none {slurm.pmix_folder}; {LAUNCH} -c pass'"
    state, status, log = slurm.wait(slurm.submit(hidden, *TWO), SECONDS)
    assert (state, status) == ("FAILED", "2:0"), log
    assert "launch: Slurm cannot start processes by PMIx: given srun --mpi=pmix; install PMIx on all nodes" in log.splitlines()[-1]

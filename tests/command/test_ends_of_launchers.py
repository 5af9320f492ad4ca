"""How a job ended, where the launcher of MPI hangs, has a status of its own, or names tasks in another order than they failed in."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from twofold.command.hosts import Host
from twofold.command.merged_log import Ended, run_labelled
from twofold.command.mpi import Engine, Job
from twofold.command.slurm import allocated_hosts, check_pmix, cores_each, explained, numbers
from twofold.errors import LaunchError

OWN = "[0]twofold: worker 0: push of key 'w' has waited for 30 s: no answer from worker 2 (on node3)"
ABORT = ["MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", "  Proc: [[1,1],1]", "  Errorcode: {}"]


def run(folder: Path, lines: list[str], end: str) -> Ended:
    """How a job ended whose launcher prints some lines, and then ends."""
    (folder / "log").write_text("".join(f"{line}\n" for line in lines))
    label = re.compile(r"\[(?P<rank>\d)\]")
    return run_labelled(["sh", "-c", f'cat "{folder}/log"; {end}'], os.environ, label, lambda rank: f"worker {rank}")


@pytest.mark.parametrize("before", ["", "\0"], ids=["at once", "after the end of a message"])
@pytest.mark.parametrize(
    ("lines", "status", "rank"),
    [([OWN], 1, 0), (ABORT, 7, 1), (["[1]" + line for line in ABORT], 7, None)],
    ids=["own", "abort", "labelled"],
)
def test_a_launcher_that_hangs_when_a_process_has_ended_all_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], status: int, rank: int | None, before: str
) -> None:
    monkeypatch.setattr("twofold.command.merged_log.PATIENCE", 0.2)
    begun = time.monotonic()
    first = re.sub(r"^(\[\d\])?", lambda label: label[0] + before, lines[0])
    ended = run(tmp_path, [line.format(7) for line in [first, *lines[1:]]], "exec sleep 1000")
    assert (ended.status, ended.rank, ended.is_machine_lost) == (status, rank, False)
    assert time.monotonic() - begun < 500


@pytest.mark.parametrize(
    ("lines", "status", "rank", "is_lost"),
    [
        ([OWN], 1, 0, True),
        ([line.format(7) for line in ABORT], 7, 1, True),
        ([line.format(255) for line in ABORT], 255, 1, True),  # by sys.exit(255), or because a machine is lost: the status is the same
        (["[0]trained"], 1, None, True),
        (["  Process name: [prterun-a-1@1,1]", "  Exit code:    255"], 255, 1, False),
    ],
    ids=["it ended all", "it aborted", "it aborted with 255", "a machine", "a process"],
)
def test_the_status_of_a_lost_machine_is_not_taken_for_that_of_a_process(
    tmp_path: Path, lines: list[str], status: int, rank: int | None, is_lost: bool
) -> None:
    ended = run(tmp_path, lines, "exit 255")
    assert (ended.status, ended.rank, ended.is_machine_lost) == (status, rank, is_lost)


@pytest.mark.parametrize(
    ("said", "ends_all", "found"),
    [
        (["node2: task 1: Exited with exit code 7", "node1: task 0: Killed"], None, (7, 1, "node2")),
        (["node1: task 0: Killed", "node2: task 1: Exited with exit code 1"], None, (1, 1, "node2")),
        (["node1: task 0: Exited with exit code 14", "node2: task 1: Killed"], None, (137, 1, "node2")),
        (["node2: tasks 1-3,7: Segmentation fault (core dumped)"], None, (139, 1, "node2")),
        (["node2: task 1: Killed", "node1: task 0: Exited with exit code 1"], 0, (1, 0, "node1")),
        (["node1: tasks 0-1: Killed"], 1, (1, 1, "node1")),
        (["node2: task 1: Terminated"], None, (143, 1, "node2")),
        (["node2: task 1: something else"], None, (9, 1, "node2")),
    ],
)
def test_the_task_of_slurm_that_failed_first(said: list[str], ends_all: int | None, found: tuple[int, int, str]) -> None:
    lines = "".join(f"srun: error: {line}\n" for line in ["Job step aborted", *said])
    ended = explained(Ended(9, 5, lines, ends_all))
    assert (ended.status, ended.rank, ended.place) == found


def test_a_job_without_a_failed_task_is_left_as_it_is() -> None:
    cancelled = Ended(143, None, "srun: error: node2: task 1: Terminated\n")
    assert explained(cancelled) == cancelled
    assert explained(Ended(1, 3, "srun: error: other\n")) == Ended(1, 3, "srun: error: other\n")


def test_an_srun_without_pmix_is_an_error_that_says_what_to_install() -> None:
    check_pmix(Ended(1, None, "srun: error: node1: task 0: Killed\n"))
    with pytest.raises(LaunchError, match="Slurm cannot start processes by PMIx: given srun --mpi=pmix; install PMIx on all nodes"):
        check_pmix(Ended(1, None, "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types\n"))


@pytest.mark.parametrize(("text", "found"), [("2(x3),1", [2, 2, 2, 1]), ("4", [4]), ("1,2(x2)", [1, 2, 2]), ("", []), ("2(x3", [])])
def test_numbers_of_nodes(text: str, found: list[int]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("cores", "tasks", "each", "found"),
    [("8(x2)", "2(x2)", "", 4), ("8,4", "2,4", "", 1), ("8", "1", "3", 3), ("1", "4", "", 1), ("", "2", "", 0), ("8", "1(x2)", "", 0)],
)
def test_the_cores_of_a_task(cores: str, tasks: str, each: str, found: int) -> None:
    variables = {"SLURM_JOB_CPUS_PER_NODE": cores, "SLURM_TASKS_PER_NODE": tasks, "SLURM_CPUS_PER_TASK": each}
    assert cores_each(variables) == found


def test_the_nodes_of_an_allocation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\n[ \"$*\" = 'show hostnames node[1-2]' ] && printf 'node1\\nnode2\\n'\n")
    scontrol.chmod(0o755)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "3,1")
    assert allocated_hosts(must_be_known=True) == ()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert allocated_hosts() == (Host("node1", 3), Host("node2", 1))
    scontrol.write_text("#!/bin/sh\nexit 1\n")
    assert allocated_hosts() == ()
    with pytest.raises(LaunchError, match=r"the nodes of Slurm's allocation are not known: .*; name them: --hosts node1:2,node2:2"):
        allocated_hosts(must_be_known=True)


def test_a_job_ends_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    pipe, watched = tmp_path / "pipe", tmp_path / "watched"
    os.mkfifo(pipe)
    job = f"while [ ! -e {watched} ]; do sleep 0.02; done; exec sleep 100 > {pipe}"
    program = f"""
import os, pathlib, re
from twofold.command import merged_log
watching = merged_log._ending_with_this_process
class Telling:
    def __init__(self, pid): self._watching = watching(pid)
    def __enter__(self): self._watching.__enter__(); pathlib.Path({str(watched)!r}).touch()
    def __exit__(self, *error): return self._watching.__exit__(*error)
merged_log._ending_with_this_process = Telling
merged_log.run_labelled(["sh", "-c", {job!r}], os.environ, re.compile("(?P<rank>x)"), str)
"""
    launcher = subprocess.Popen([sys.executable, "-c", program])
    with pipe.open("rb") as held:  # once the job has started, and until it has ended
        launcher.kill()
        assert launcher.wait() == -signal.SIGKILL
        assert select.select([held], [], [], 60)[0] == [held]
        assert held.read() == b""


def test_the_command_line_of_srun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "4")
    job, srun = Job(3, 1, (Host("node1", 2), Host("node2", 2)), "eth1"), Engine("srun", "Slurm")
    words = srun.command(job, ["train"])
    assert words == ["srun", "--mpi=pmix", "--ntasks=4", "--label", "--kill-on-bad-exit=1", "--export=ALL", "--cpus-per-task=4", "train"]
    assert srun.variables(job, Path("run")) == {"OMPI_MCA_btl_tcp_if_include": "eth1"}
    assert srun.variables(Job(3), Path("run")) == Engine("mpiexec", "MPICH").variables(job, Path("run")) == {}


@pytest.mark.parametrize(
    ("opened", "said"),
    [("os.pipe()[1]", "Broken pipe"), ("os.open('/dev/full', os.O_WRONLY)", "No space left on device")],
    ids=["reader has ended", "full disk"],
)
def test_a_job_whose_output_cannot_be_written_ends(tmp_path: Path, opened: str, said: str) -> None:
    if "full" in opened and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    job = f"trap 'echo > {tmp_path}/told; exit 5' TERM; while :; do echo {'y' * 1000}; done"  # more than a pipe holds
    program = f"""
import os, re, sys
from twofold.command import merged_log
os.dup2({opened}, 1)
os.closerange(3, 10)
try:
    merged_log.run_labelled(["sh", "-c", {job!r}], os.environ, re.compile("(?P<rank>x)"), str)
except OSError as error:
    print(error.strerror, file=sys.stderr)
os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as launcher:
        try:
            assert launcher.communicate(timeout=100)[1].splitlines() == [said]
        finally:
            launcher.kill()
    assert (tmp_path / "told").exists()

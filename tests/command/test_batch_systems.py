"""``twofold launch`` under Slurm and Kubernetes, as far as that can be tried without them."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from twofold.command import main
from twofold.command.hosts import Host, check_names, hosts_of_file
from twofold.command.merged_log import FIRST_ENDED
from twofold.errors import LaunchError

if TYPE_CHECKING:
    import subprocess

from tests.cases import later_in_ci
from tests.command.test_launch import launched, needs_mpi

SRUN = Path(__file__).with_name("fake_srun.py")
SUM_ONCE = Path(__file__).parents[1] / "hosts" / "programs" / "sum_once.py"


def summed_under_slurm(folder: Path, action: str = "pass", **variables: str) -> subprocess.CompletedProcess[str]:
    """Sum once as a batch script in an allocation of two tasks would."""
    (folder / "bin").mkdir()
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SRUN}" "$@"\n')
    srun.chmod(0o755)
    path = f"{folder / 'bin'}:/usr/bin:/bin"
    return launched(
        folder, SUM_ONCE.read_text(), "program.py", action, "SLURM_PROCID", PATH=path, SLURM_JOB_ID="7", SLURM_NTASKS="2", **variables
    )


@pytest.mark.ci
@needs_mpi
def test_slurms_tasks_are_the_workers_and_find_one_another(tmp_path: Path) -> None:
    found = summed_under_slurm(tmp_path)
    assert found.returncode == 0, found.stderr
    assert sorted(found.stdout.splitlines()) == [f"worker {k} | summed {k} 2 [3.0, 3.0] {k}" for k in range(2)]


@needs_mpi
def test_the_local_launcher_stays_on_this_machine_inside_an_allocation(tmp_path: Path) -> None:
    words = "--launcher", "local", "-n", "2", "program.py", "pass", "OMPI_COMM_WORLD_RANK"
    found = launched(tmp_path, SUM_ONCE.read_text(), *words, SLURM_JOB_ID="7", SLURM_NTASKS="4")
    assert found.returncode == 0, found.stderr
    assert found.stderr.startswith("launch: 2 workers on localhost")
    assert sorted(found.stdout.splitlines()) == [f"worker {k} | summed {k} 2 [3.0, 3.0] {k}" for k in range(2)]


@pytest.mark.ci
@needs_mpi
@pytest.mark.parametrize(("failure", "status"), later_in_ci([("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", 137)]))
def test_the_task_that_fails_is_named(tmp_path: Path, failure: str, status: int) -> None:
    found = summed_under_slurm(tmp_path, failure)
    assert found.returncode == status
    last = f"launch: worker 1 (on node1) failed, and the others were ended (status {status}); no checkpoint was written"
    assert found.stderr.splitlines()[-1] == last


@pytest.mark.ci
@needs_mpi
def test_without_pmix_each_task_would_be_a_cluster_of_one_which_is_an_error(tmp_path: Path) -> None:
    found = summed_under_slurm(tmp_path, WITHOUT_PMIX="1")
    assert found.returncode != 0
    assert "2" not in found.stdout  # nobody trained alone
    for k in range(2):
        assert (
            f"worker {k} | twofold.errors.ClusterError: the processes are not one cluster: given 2 processes were started" in found.stderr
        )
    assert "srun --mpi=list must name pmix" in found.stderr


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: node1: task 3: Exited with exit code 7",
        "srun: error: node1: task 3: Killed",
        "srun: error: node1: tasks 3-5: Exited with exit code 1",
        "srun: error: node1: tasks 3,5: Segmentation fault (core dumped)",
    ],
)
def test_what_slurm_says_of_tasks_that_fail(line: str) -> None:
    assert [match["rank"] for pattern in FIRST_ENDED if (match := pattern.search(line))] == ["3"]


def job(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["launch", "--k8s", "--image", "registry/train:1", *words]) == 0
    return yaml.safe_load(capsys.readouterr().out)


def test_the_mpi_job_has_what_the_operator_requires(capsys: pytest.CaptureFixture[str]) -> None:
    """What version v2beta1 of the mpi-operator checks when a job comes, after it has filled in its defaults.

    It fills in mpiImplementation (OpenMPI) and sshAuthMountPath (the folder .ssh of root), so that these may be absent.
    """
    found = job(capsys, "-n", "3", "-s", "1", "train.py")
    assert found.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert (found["apiVersion"], found["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    # pods are called <name>-worker-<number>, and that must be a label of DNS
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", f"{found['metadata']['name']}-worker-3")
    spec = found["spec"]
    assert spec.keys() <= {"slotsPerWorker", "runPolicy", "sshAuthMountPath", "mpiImplementation", "mpiReplicaSpecs"}
    assert isinstance(spec["slotsPerWorker"], int)
    assert spec["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All")
    launcher, worker = spec["mpiReplicaSpecs"]["Launcher"], spec["mpiReplicaSpecs"]["Worker"]
    assert launcher["replicas"] == 1
    assert worker["replicas"] * spec["slotsPerWorker"] == 4
    for replica in (launcher, worker):
        assert replica.keys() == {"replicas", "restartPolicy", "template"}
        assert replica["restartPolicy"] in ("Never", "OnFailure")
        (container,) = replica["template"]["spec"]["containers"]
        assert container.keys() <= {"name", "image", "command", "env"}
        assert container["image"] == "registry/train:1"
        assert all(isinstance(word, str) for word in container["command"])
        assert all(one.keys() == {"name", "value"} and isinstance(one["value"], str) for one in container.get("env", []))


def test_words_that_yaml_would_read_otherwise_arrive_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--name", "yes", "--date", "2020-01-01", "--text", 'a "b": {c} #d\té', "--empty", ""]
    found = job(capsys, "-n", "2", "train.py", *words)
    assert found["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"][-8:] == words


@needs_mpi
def test_the_command_of_the_launchers_container_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand, as Kubernetes would, with a file of hosts like the operator's, on this machine."""
    found = job(capsys, "-n", "2", "program.py", "--epochs", "3")
    command = found["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("localhost slots=1\nlocalhost slots=1\n")
    words = [str(hostfile) if word == "/etc/mpi/hostfile" else word for word in command]
    assert words[:4] == ["python", "-m", "twofold", "launch"]
    ran = launched(
        tmp_path, "import sys\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, sys.argv[1:])", *words[4:]
    )
    assert sorted(ran.stdout.splitlines()) == ["worker 0 | 0 2 ['--epochs', '3']", "worker 1 | 1 2 ['--epochs', '3']"], ran.stderr


def test_the_operators_file_of_hosts_is_understood(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("twofold-worker-0.twofold.default.svc slots=1\ntwofold-worker-1.twofold.default.svc slots=1\n")
    assert hosts_of_file(str(tmp_path / "hostfile")) == tuple(Host(f"twofold-worker-{k}.twofold.default.svc", 1) for k in (0, 1))
    (tmp_path / "hostfile").write_text("twofold-worker-0.twofold.default.svc:1\n")  # MPICH's and Intel's
    assert hosts_of_file(str(tmp_path / "hostfile")) == (Host("twofold-worker-0.twofold.default.svc", 1),)


def test_names_of_pods_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def getaddrinfo(name: str, _: object) -> None:
        looks.append(name)
        if name == "absent" or len(looks) < 3:
            raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr("twofold.command.hosts.EVERY", 0.01)
    check_names([Host("a", 1)], 60)
    assert looks == ["a", "a", "a"]
    with pytest.raises(LaunchError, match="unknown host: given 'absent'"):
        check_names([Host("absent", 1)], 0.05)

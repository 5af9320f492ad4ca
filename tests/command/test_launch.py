"""``twofold launch``: what it starts, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from twofold.command import main
from twofold.command.hosts import Host, hosts_of, hosts_of_file
from twofold.command.launch import split
from twofold.command.merged_log import run_labelled
from twofold.command.mpi import Engine, Job, check_timeout, threads_each
from twofold.config import SETTINGS
from twofold.errors import LaunchError

from tests.cases import later_in_ci

HAS_MPI = find_spec("mpi4py") is not None and (
    Path(sysconfig.get_path("scripts"), "mpiexec").exists() or shutil.which("mpiexec") is not None
)
needs_mpi = pytest.mark.skipif(not HAS_MPI, reason="the extra dist is not installed")


def launched(folder: Path, text: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program given as text by ``twofold launch``."""
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "twofold", "launch", *words]
    return subprocess.run(command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=200, check=False)


@needs_mpi
def test_one_log_with_the_names_of_processes(tmp_path: Path) -> None:
    text = "import sys\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, sys.argv[1:])\nprint('x', file=sys.stderr)"
    found = launched(tmp_path, text, "-n", "2", "-s", "1", "program.py", "-n", "7")
    assert sorted(found.stdout.splitlines()) == [
        "server 0 | 2 3 ['-n', '7']",
        "worker 0 | 0 3 ['-n', '7']",
        "worker 1 | 1 3 ['-n', '7']",
    ]
    lines = found.stderr.splitlines()
    assert lines[0].startswith("launch: 2 workers and 1 server on this machine, ")
    assert sorted(lines[1:]) == ["server 0 | x", "worker 0 | x", "worker 1 | x"]
    assert found.returncode == 0


@needs_mpi
def test_mpi_keeps_its_files_in_the_folder_of_the_run(tmp_path: Path) -> None:
    # elsewhere, those of a killed run would keep a later one from starting that gets the same process number
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    text = "import os\nprint(os.environ['TMPDIR'], os.listdir(os.environ['TMPDIR']), os.listdir(os.environ['TWOFOLD_RUN_FOLDER']))"
    found = launched(tmp_path, text, "-n", "1", "program.py", TMPDIR=str(temporary))
    assert re.fullmatch(rf"worker 0 \| {temporary} \['twofold-launch-\w+'\] \['ompi\.\d+'\]\n", found.stdout), found
    assert not [*temporary.iterdir()]


@needs_mpi
@pytest.mark.parametrize(
    ("failure", "status"),
    later_in_ci([("sys.exit(7)", 7), ("raise ValueError('x')", 1), ("sys.exit('x')", 1), ("os.kill(os.getpid(), 9)", 137)]),
)
def test_a_failure_ends_all_and_gives_its_status(tmp_path: Path, failure: str, status: int) -> None:
    text = """
import os, sys, time
from mpi4py import MPI
with open(os.path.join(os.environ["TWOFOLD_RUN_FOLDER"], "last-checkpoint"), "w") as file:
    file.write("model-0003")
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 1:
    FAIL
time.sleep(60)
""".replace("FAIL", failure)
    found = launched(tmp_path, text, "-n", "2", "program.py")
    assert found.returncode == status
    last = f"launch: worker 1 failed, and the others were ended (status {status}); last checkpoint: model-0003"
    assert found.stderr.splitlines()[-1] == last
    assert ("worker 1 | ValueError: x" in found.stderr) == ("ValueError" in failure)


@needs_mpi
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at from beside on Linux only")
def test_a_process_without_a_store_ends_those_that_wait_for_it(tmp_path: Path) -> None:
    text = """
import os, subprocess, sys
import mxnet as mx
if os.environ["OMPI_COMM_WORLD_RANK"] == "0":  # a program that it runs itself is not waited for
    subprocess.run([sys.executable, "-m", "twofold", "run", "-c", "pass"], check=True)
    mx.kv.create("dist_sync")
"""
    found = launched(tmp_path, text, "-n", "2", "program.py")
    assert "mx.kv.create waits for process 1, which has finished without a store: create one in every process" in found.stderr
    assert "worker 0 failed, and the others were ended (status 137)" in found.stderr
    assert found.returncode == 137


@pytest.mark.ci
@needs_mpi
def test_a_trace_of_all_processes(tmp_path: Path) -> None:
    text = "import mxnet as mx\nfrom mpi4py import MPI\n(mx.nd.ones((300, 300)) * 2).asnumpy()"
    found = launched(tmp_path, text, "-n", "2", "--trace", "all.json", "program.py")
    assert found.stderr.splitlines()[-1] == "launch: trace of worker 0, worker 1: all.json, all.json.svg"
    events = json.loads((tmp_path / "all.json").read_text())["traceEvents"]
    assert {e["pid"] // 1000 for e in events if e.get("cat") == "operator"} == {0, 1}
    assert "worker 1" in (tmp_path / "all.json.svg").read_text()


def test_the_log_leaves_out_what_open_mpi_says_of_an_abort(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rule = "-" * 74
    abort = [rule, "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", "  Proc: [[1,1],1]", "  Errorcode: 1", "", rule]
    lines = ["Traceback", *abort, "ValueError: boom", "", rule, "of the program", rule, rule, *abort, rule]
    (tmp_path / "log").write_text("".join(f"[1]{line}\n" for line in lines))
    ended = run_labelled(["cat", str(tmp_path / "log")], os.environ, re.compile(r"\[(?P<rank>\d)\]"), lambda rank: f"worker {rank}")
    assert (ended.status, ended.rank) == (0, None)
    kept = ["Traceback", "ValueError: boom", "", rule, "of the program", rule, rule, rule]
    assert capfd.readouterr().out.splitlines() == [f"worker 1 | {line}" for line in kept]


@needs_mpi
@pytest.mark.parametrize("number", later_in_ci([signal.SIGINT, signal.SIGTERM]))
def test_an_interrupt_ends_all_processes(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "program.py").write_text("import os, time\nprint(os.getpid())\ntime.sleep(60)")
    command = [sys.executable, "-m", "twofold", "launch", "-n", "2", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        ids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    deadline = time.monotonic() + 10
    while any(map(is_running, ids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="the extra dist is not installed")
def test_slurm_starts_the_processes_inside_its_allocation(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text(f'#!/bin/sh\necho "0: $*" | sed \'s#{sys.executable}#python#\'\necho "1: $TWOFOLD_WORKERS $TWOFOLD_SERVERS"\n')
    srun.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    found = launched(tmp_path, "", "-s", "1", "program.py", PATH=path, SLURM_JOB_ID="3", SLURM_NTASKS="4")
    options = "--mpi=pmix --ntasks=4 --label --kill-on-bad-exit=1 --export=ALL"
    assert found.stdout.splitlines() == [f"worker 0 | {options} python -m twofold run program.py", "worker 1 | 3 1"]


#: What prints an MPIJob.
POD = ["-n", "2", "--k8s", "--image", "train:1"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-n", "2", "absent.py"], "there is no such script"),
        (["program.py"], "pass the number of workers: -n 2"),
        (["-n", "0", "program.py"], "must be a positive integer, not '0'"),
        (["-n", "2"], "pass a script, -m MODULE or -c CODE"),
        (["-n", "2", "--hosts", "no-such-host.invalid:2", "program.py"], "unknown host: given 'no-such-host.invalid'"),
        (["-n", "2", "--hosts", "a b", "program.py"], "not a host: given 'a b'"),
        (["-n", "2", "--hostfile", "absent", "program.py"], "the file of hosts cannot be read: given absent"),
        (["-n", "4", "--hosts", "localhost:2", "program.py"], "4 workers and 0 servers for 2 places"),
        (["-n", "2", "--allow", "optimizer", "program.py"], "--allow: not a class: given 'optimizer'"),
        (["-n", "2", "--k8s", "program.py"], "pass --image NAME"),
        (["-n", "2", "--image", "train:1", "program.py"], "--image needs --k8s"),
        (["-n", "2", "--step-ms", "3", "program.py"], "--network, --bytes, --model, --shape, --step-ms and --days need --plan"),
        (["-n", "2", "--network", "10GbE", "program.py"], "--network, --bytes, --model, --shape, --step-ms and --days need --plan"),
        ([*POD, "--trace", "all.json", "program.py"], "--k8s and --trace exclude each other"),
        ([*POD, "--hosts", "localhost:2", "program.py"], "--k8s and --hosts exclude each other"),
        ([*POD, "--hostfile", "hosts", "program.py"], "--k8s and --hostfile exclude each other"),
        ([*POD, "--launcher", "ssh", "program.py"], "--k8s and --launcher exclude each other"),
        ([*POD, "--plan", "--bytes", "8", "program.py"], "--k8s and --plan exclude each other"),
        ([*POD, "--allow", "optimizer", "program.py"], "--allow: not a class: given 'optimizer'"),
        (["-n", "2", "--launcher", "local", "--hosts", "a:2", "program.py"], "--launcher local and --hosts exclude each other"),
        (["-n", "2", "--launcher", "mpi", "--ray", "local", "program.py"], "--ray and --launcher exclude each other"),
        (["-n", "2", "--iface", "nosuch0", "program.py"], "no such network interface: given 'nosuch0'; use one of "),
        (["-n", "2", "--trace", "missing/x.json", "program.py"], "--trace: there is no such folder: given missing"),
        (["-n", "2", "--launcher", "yarn", "program.py"], "unsupported launcher: given yarn"),
        (["-n", "2", "--launcher", "slurm", "program.py"], "not inside an allocation of Slurm"),
        (["-n", "2", "--sync-dst-dir", "x", "program.py"], "copy them first"),
    ],
)
def test_what_cannot_start_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").touch()
    try:
        status: Any = main(["launch", *words])
    except SystemExit as exit:  # argparse's own
        status = exit.code
    assert status == 2
    assert error in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("missing", ["mpi4py", "mpiexec"])
def test_without_mpi_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").touch()
    monkeypatch.setattr("twofold.command.mpi.find_spec", lambda name: None if name == missing else object())
    monkeypatch.setattr("twofold.command.mpi.sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["launch", "-n", "2", "program.py"]) == 2
    assert missing in (line := capsys.readouterr().err)
    assert line.endswith("pip install 'twofold[dist]'\n")


@pytest.mark.parametrize("role", ["server", "scheduler"])
def test_a_process_of_ps_lite_gets_the_new_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], role: str
) -> None:
    monkeypatch.setenv("DMLC_ROLE", role)
    assert main(["launch", "-n", "2", "program.py"]) == 2
    assert "twofold launch -n WORKERS -s SERVERS SCRIPT" in capsys.readouterr().err


def test_the_arguments_of_mxnets_launcher() -> None:
    words = ["-n", "2", "-s", "2", "-H", "hosts", "--launcher", "ssh", "python", "train.py", "--kv-store", "dist_sync"]
    assert split(words) == ([*words[:8], "train.py"], ["--kv-store", "dist_sync"])
    assert split(["-n", "2", "python3", "-m", "package", "-n"]) == (["-n", "2", "-m", "package"], ["-n"])


def test_hosts_as_open_mpi_mpich_and_ps_lite_write_them(tmp_path: Path) -> None:
    assert hosts_of("a:2,b") == (Host("a", 2), Host("b", 1))
    (tmp_path / "hosts").write_text("# machines\n10.0.0.1\nb slots=4 max_slots=8\nc:2 # third\n\n")
    assert hosts_of_file(str(tmp_path / "hosts")) == (Host("10.0.0.1", 1), Host("b", 4), Host("c", 2))
    (tmp_path / "hosts").write_text("# none\n")
    with pytest.raises(LaunchError, match="names no host"):
        hosts_of_file(str(tmp_path / "hosts"))


JOB = Job(3, 1, (Host("node1", 2), Host("node2", 2)), "eth1", False, {"TWOFOLD_WORKERS": "3"})


def test_the_command_line_of_open_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "lib")
    words = Engine("mpiexec", "Open MPI").command(JOB, ["train"])
    assert words[:3] == ["mpiexec", "-n", "4"]
    line = " ".join(words)
    assert "--host node1:2,node2:2" in line
    assert "--mca btl_tcp_if_include eth1 --prtemca prte_if_include eth1" in line
    assert "-x PYTHONPATH=lib" in line  # another machine does not have this one's variables
    assert "-x TWOFOLD_WORKERS=3" in line
    assert words[-1] == "train"
    alone = " ".join(Engine("mpiexec", "Open MPI").command(Job(3, interface="lo", is_fault_tolerant=True), ["train"]))
    assert "--map-by :OVERSUBSCRIBE" in alone
    assert "--mca btl ^tcp" not in line + alone
    assert "--mca btl ^tcp" in " ".join(Engine("mpiexec", "Open MPI").command(Job(3), ["train"]))
    assert "prte_if_include" not in alone
    assert "--with-ft ulfm" in alone
    assert "PYTHONPATH" not in alone


@pytest.mark.parametrize(("limit", "noticed"), [(30.0, "22.5"), (36.0, "27"), (60.0, "30"), (1000.0, "30")])
def test_with_ft_a_lost_machine_is_noticed_by_all_before_they_give_up(monkeypatch: pytest.MonkeyPatch, limit: float, noticed: str) -> None:
    monkeypatch.setattr(SETTINGS, "kv_timeout", limit)
    job = replace(JOB, is_fault_tolerant=True)
    check_timeout(job)
    line = " ".join(Engine("mpiexec", "Open MPI").command(job, ["train"]))
    assert f"--mca mpi_ft_detector_timeout {noticed} " in line
    assert "--mca mpi_ft_propagator_with_rbcast 1" in line


def test_with_ft_on_several_machines_a_short_timeout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "kv_timeout", 29.0)
    check_timeout(JOB)
    check_timeout(Job(3, is_fault_tolerant=True))
    with pytest.raises(LaunchError, match=r"--ft on several machines: TWOFOLD_KV_TIMEOUT is too short: given 29 s; set it to 30 or more"):
        check_timeout(replace(JOB, is_fault_tolerant=True))


def test_the_command_line_of_mpich() -> None:
    line = " ".join(Engine("mpiexec", "MPICH").command(JOB, ["train"]))
    assert line.startswith("mpiexec -n 4 -prepend-rank -hosts node1:2,node2:2 -iface eth1 ")
    assert "-genv TWOFOLD_WORKERS 3" in line
    with pytest.raises(LaunchError, match="MPICH ends all processes when one dies"):
        Engine("mpiexec", "MPICH").command(Job(2, is_fault_tolerant=True), ["train"])


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("Open MPI", "[1,12]<stderr>: text"),
        ("Open MPI", "[prterun-a-3@1,12]<stdout>: text"),
        ("MPICH", "[12] text"),
        ("Slurm", " 12: text"),
    ],
)
def test_the_labels_of_lines(kind: str, line: str) -> None:
    match = Engine("", kind).label().match(line)
    assert match is not None
    assert (match["rank"], line[match.end() :]) == ("12", "text")


def test_each_core_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert threads_each(Job(2)) == 4
    assert threads_each(Job(2, 1)) == 2
    assert threads_each(Job(16)) == 1
    assert threads_each(Job(4, 0, (Host("a", 2), Host("b", 2)))) == 4


def test_an_mpi_job_for_kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["launch", "--k8s", "--image", "registry/train:1", "-n", "2", "-s", "1", "--ft", "train.py", "--epochs", "3"]) == 0
    text = capsys.readouterr().out
    assert "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n" in text
    assert "replicas: 3\n" in text
    command = json.loads(next(line.partition(":")[2] for line in text.splitlines() if "command" in line))
    hostfile = ["--hostfile", "/etc/mpi/hostfile"]
    assert command == ["python", "-m", "twofold", "launch", *hostfile, "-n", "2", "-s", "1", "--ft", "train.py", "--epochs", "3"]

"""A machine that is lost does not end a job with ``--ft``: what the launcher hears, and the relay that keeps Open MPI's connection."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from twofold.command import ssh_relay
from twofold.command.attendance import Attendance
from twofold.command.host_checks import relay_options
from twofold.command.hosts import Host
from twofold.command.merged_log import Ended, run_labelled
from twofold.launcher_notes import FINISHED

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = ["node1", "node2", "node3"]
LOST, CONNECTED = "twofold-machine: lost node2", [f"[0]twofold-process: {rank} connected" for rank in range(3)]
#: A daemon: it connects to the address in its command line, says something, waits for an answer, and then does what it is told.
DAEMON = """\
import re, socket, sys, time
host, port = re.search(r"tcp://([\\d.]+):(\\d+)", sys.argv[-1]).groups()
far = socket.create_connection((host, int(port)))
far.sendall(b"here")
assert far.recv(5) == b"hello"
exec(sys.argv[-2])
"""
SECONDS = 60


def heard(folder: Path, lines: list[str]) -> Attendance:
    """The attendance after some lines, which begin with the rank of a process or with no label."""
    found = Attendance(MACHINES, MACHINES[1:], 2, folder)
    for line in lines:
        label = re.match(r"\[(\d)\]", line)
        assert found.take(line[label.end() if label else 0 :], label is not None) is not None, line
    return found


def ended(*statuses: str) -> list[str]:
    """What the processes say that have ended with some statuses, by rank; None for one that has not ended."""
    return [f"[0]twofold-process: {rank} ended {status}".rstrip() for rank, status in enumerate(statuses) if status != "runs"]


@pytest.mark.parametrize(
    ("lines", "is_decided", "verdict"),
    [
        ([LOST, *ended("0", "runs", "0")], True, (0, None)),
        ([*ended("0", "runs", "0"), LOST], True, (0, None)),
        ([LOST, *ended("0")], False, None),
        ([LOST, *ended("0", "runs", "7")], True, (7, 2)),
        ([LOST, *ended("", "runs", "0")], True, (1, None)),  # rank 2 is a server, and worker 0 was killed
        ([*ended("0", "0", "0"), LOST], True, (0, None)),
        (ended("0", "0", "0"), False, None),
        ([LOST, "twofold-machine: lost node1", "twofold-machine: lost node3"], True, (1, None)),
        (["twofold-machine: lost "], True, (1, None)),
    ],
    ids=["all", "before", "one is left", "failed", "killed", "nothing was lost", "no loss", "all are lost", "an unknown machine"],
)
def test_a_job_is_over_when_what_is_left_has_ended(
    tmp_path: Path, lines: list[str], is_decided: bool, verdict: tuple[int, int | None] | None
) -> None:
    found = heard(tmp_path, [*CONNECTED, *lines])
    assert found.is_decided == is_decided
    assert (tmp_path / ssh_relay.OVER).exists() == (is_decided or len(lines) == 3)
    if verdict is not None:
        assert found.verdict() == verdict


def test_a_process_that_ends_unheard_is_not_waited_for_long_after_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twofold.command.attendance.REST", 0.0)
    found = heard(tmp_path, [*CONNECTED, LOST])
    found.look()
    assert not found.is_decided
    assert found.take("twofold-process: 0 ended 0", True) == ("", "")
    time.sleep(0.001)
    found.look()
    assert (found.is_decided, found.verdict()) == (True, (0, None))


def test_a_process_of_this_machine_leaves_a_file(tmp_path: Path) -> None:
    found = heard(tmp_path, [*CONNECTED, *ended("runs", "0", "0"), LOST])
    found.look()
    assert not found.is_decided
    (tmp_path / "ended-0").write_text("4")
    found.look()
    assert (found.is_decided, found.verdict()) == (True, (4, 0))


def test_a_worker_of_this_machine_leaves_a_note(tmp_path: Path) -> None:
    (tmp_path / FINISHED).touch()
    assert heard(tmp_path, [*CONNECTED, LOST, *ended("", "runs", "0")]).verdict() == (0, None)


@pytest.mark.parametrize("lines", [CONNECTED[:2], [], [*CONNECTED[:2], *ended("runs", "0")]])
def test_a_loss_before_all_have_connected_ends_all(tmp_path: Path, lines: list[str]) -> None:
    found = heard(tmp_path, lines)
    told = found.take(LOST, False)
    assert told == ("", "the connection to node2 has ended before all processes had connected, so that all end")
    assert found.is_decided
    assert found.verdict() == (1, None)
    assert found.take("twofold-machine: lost node3", False) == ("", "")


def test_a_failure_before_all_have_connected_speaks_for_itself(tmp_path: Path) -> None:
    found = heard(tmp_path, [*CONNECTED[:2], *ended("5")])
    assert found.take("twofold-machine: ended node2", False) == ("", "")
    assert found.verdict() == (5, 0)


def test_a_daemon_that_has_ended_is_no_loss_to_tell_of(tmp_path: Path) -> None:
    found = heard(tmp_path, [*CONNECTED, *ended("runs", "0")])
    assert found.take("twofold-machine: ended node2", False) == ("", "")
    assert not found.is_decided


def test_a_program_cannot_say_that_a_machine_is_lost(tmp_path: Path) -> None:
    found = Attendance(MACHINES, MACHINES[1:], 2, tmp_path)
    assert found.take(LOST, True) is None
    assert found.take("twofold-process: 0 ended 0", False) is None
    assert found.take("twofold-process: 0 ended 0, it says", True) is None


def run(folder: Path, lines: list[str], end: str) -> Ended:
    """How a job ended whose launcher prints some lines, and then ends."""
    (folder / "log").write_text("".join(f"{line}\n" for line in lines))
    label, attendance = re.compile(r"\[(?P<rank>\d)\]"), Attendance(MACHINES, MACHINES[1:], 3, folder)
    return run_labelled(["sh", "-c", f'cat "{folder}/log"; {end}'], os.environ, label, lambda rank: f"worker {rank}", attendance)


@pytest.mark.parametrize("end", ["exec sleep 1000", "sleep 1000", "exit 255", "exit 0"])
def test_a_launcher_that_waits_for_a_lost_machine_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], end: str
) -> None:
    monkeypatch.setattr("twofold.command.merged_log.PATIENCE", 0.2)
    begun = time.monotonic()
    after = ["PRTE has lost communication with a remote daemon.", "[2]last words"]
    found = run(tmp_path, [*CONNECTED, LOST, "[0]50 %twofold-process: 0 ended 0", *ended("runs", "runs", "0"), *after], end)
    assert (found.status, found.rank) == (0, None)
    assert time.monotonic() - begun < 500
    log = capfd.readouterr()
    assert log.out.splitlines() == ["worker 0 | 50 %", "worker 2 | last words"]
    assert log.err == "launch: node2 is lost; the processes on other machines go on\n"


def test_without_a_loss_the_launcher_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twofold.command.merged_log.PATIENCE", 0.0)
    assert run(tmp_path, [*CONNECTED, *ended("0", "0", "0")], "sleep 1; exit 9").status == 9


def test_a_process_that_has_ended_all_fails_the_job_whatever_the_launcher_says(tmp_path: Path) -> None:
    own = "[0]twofold: worker 0: push of key 'w' has waited for 30 s: no answer from worker 2 (on node3)"
    assert run(tmp_path, [*CONNECTED, own], "exit 0").status == 1
    assert (tmp_path / ssh_relay.OVER).exists()


class Launcher:
    """Open MPI's launcher, whose daemon is started through a relay."""

    def __init__(self, folder: Path, then: str, start: str = DAEMON) -> None:
        self.folder = folder
        self._listener = socket.create_server(("127.0.0.1", 0))
        uri = f'"prterun-node1-7@0.0;tcp://127.0.0.1:{self._listener.getsockname()[1]}:24;tcp6://[::1]:9:64"'
        words = [sys.executable, "-I", "-S", ssh_relay.__file__, sys.executable, "-c", start, "node2", "prted", then, uri]
        variables = {**os.environ, ssh_relay.MACHINES: "node1,node2", ssh_relay.FOLDER: str(folder)}
        self.relay = subprocess.Popen(words, env=variables, stderr=subprocess.PIPE, text=True)
        self._open = [self._listener]

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            each.close()
        self.relay.kill()
        self.relay.communicate()

    def connect(self) -> socket.socket:
        self._listener.settimeout(SECONDS)
        near, _ = self._listener.accept()
        self._open.append(near)
        near.settimeout(SECONDS)
        assert near.recv(4) == b"here"
        near.sendall(b"hello")
        return near

    def ended(self) -> tuple[int, str]:
        _, log = self.relay.communicate(timeout=SECONDS)
        return self.relay.returncode, log


def test_a_relay_passes_on_what_both_sides_say(tmp_path: Path) -> None:
    with Launcher(tmp_path, "far.sendall(b'x' * 300_000 + b'.'); far.recv(1); sys.exit(3)") as launcher:
        near, data = launcher.connect(), b""
        while not data.endswith(b"."):
            data += near.recv(1 << 16)
        assert len(data) == 300_001
        near.close()  # the job is over
        assert launcher.ended() == (0, "")


RESET = "far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0'); far.close()"


@pytest.mark.parametrize(
    ("then", "how"),
    [("sys.exit(255)", "ended"), ("far.close(); time.sleep(1000)", "ended"), (f"{RESET}; time.sleep(1000)", "lost")],
    ids=["ended", "closed", "lost"],
)
def test_a_relay_keeps_the_connection_of_a_lost_machine(tmp_path: Path, then: str, how: str) -> None:
    with Launcher(tmp_path, then) as launcher:
        near = launcher.connect()
        assert launcher.relay.stderr is not None
        assert launcher.relay.stderr.readline() == f"twofold-machine: {how} node2\n"
        near.settimeout(0.5)
        with pytest.raises(TimeoutError):
            near.recv(1)
        near.sendall(b"dropped")
        near.settimeout(SECONDS)
        (tmp_path / ssh_relay.OVER).touch()
        assert near.recv(1) == b""
        assert launcher.ended() == (0, "")


def test_a_daemon_that_ends_after_the_job_is_not_missed(tmp_path: Path) -> None:
    with Launcher(tmp_path, "pass") as launcher:
        (tmp_path / ssh_relay.OVER).touch()
        assert launcher.connect().recv(1) == b""
        assert launcher.ended() == (0, "")


def test_a_daemon_that_cannot_be_started_gives_the_status_of_ssh(tmp_path: Path) -> None:
    with Launcher(tmp_path, "", "import sys; sys.exit('no such machine')") as launcher:
        assert launcher.ended() == (1, "no such machine\n")


def test_a_daemon_without_the_address_of_the_launcher_is_started_as_by_ssh(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-S", ssh_relay.__file__, sys.executable, "-c", "print('started'); raise SystemExit(5)"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "started\n")
    assert "connections are not relayed, as Open MPI's daemons get no address: if a machine is lost, the job ends" in done.stderr


def test_a_relay_ends_with_its_launcher(tmp_path: Path) -> None:
    with Launcher(tmp_path, "time.sleep(1000)") as launcher:
        near = launcher.connect()
        launcher.relay.terminate()
        assert launcher.ended() == (0, "")
        assert near.recv(1) == b""


def test_the_machine_is_the_last_word_before_the_daemon() -> None:
    words = ["ssh", "-J", "node1", "node2", "PRTE_PREFIX=/x;/x/bin/prted", "--prtemca", "node3"]
    assert ssh_relay.machine_of(words, MACHINES) == "node2"
    assert ssh_relay.machine_of(["ssh", "10", "10.77.0.2", "prted"], ["10.77.0.2"]) == "10.77.0.2"
    assert ssh_relay.machine_of(["ssh", "other", "prted"], MACHINES) == ""


def test_how_open_mpi_starts_relays(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    hosts = [Host(f"node{k}", 1) for k in range(100)]
    monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", "ssh -p 23 : rsh")
    monkeypatch.setenv("PRTE_MCA_oob_tcp_keepalive_time", "60")
    found = relay_options(hosts)
    assert found["PRTE_MCA_plm_ssh_agent"] == f"{sys.executable} -I -S {ssh_relay.__file__} ssh -p 23 -x"
    assert found["PRTE_MCA_routed_radix"] == "100"
    assert "PRTE_MCA_oob_tcp_keepalive_time" not in found
    monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", "/etc/mpi/kubexec.sh")
    assert relay_options(hosts) == {}
    monkeypatch.delenv("PRTE_MCA_plm_ssh_agent")
    monkeypatch.setattr(sys, "executable", "/my programs/python")
    assert relay_options(hosts) == {}
    assert "a machine that is lost will end the job: Open MPI cannot run '/my programs/python'" in capfd.readouterr().err


def test_ports_that_a_firewall_admits(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("", 0)) as taken, socket.create_server(("", 0)) as free:
        first, other = taken.getsockname()[1], free.getsockname()[1]
        free.close()
        monkeypatch.setenv(ssh_relay.PORTS, f"{first},{other}-{other}")
        found = ssh_relay._listener(["127.0.0.1"])
        assert found is not None
        with found:
            assert found.getsockname() == ("127.0.0.1", other)
            assert ssh_relay._listener(["127.0.0.1"]) is None


def test_the_relay_listens_where_the_launcher_does() -> None:
    for addresses, own in ((["127.0.0.1"], "127.0.0.1"), (["127.0.0.1", "10.0.0.1"], "0.0.0.0")):
        found = ssh_relay._listener(addresses)
        assert found is not None
        with found:
            assert found.getsockname()[0] == own

"""`Slurm`: a cluster of Slurm on hosts of namespaces, with ``munged`` and ``slurmd`` on each, and ``slurmctld`` on the first."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.hosts.namespaces import ROOT, Hosts, name

if TYPE_CHECKING:
    import subprocess

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue")
#: Seconds in which daemons start on loaded cores.
START = 120.0
#: Each host has a ``/tmp`` of its own, so that the daemons' files there have the same names on all hosts.
SETTINGS = """\
ClusterName=twofold
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/tmp/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmctldPidFile=/tmp/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
StateSaveLocation=/tmp/slurmctld
SlurmdSpoolDir=/tmp/slurmd
KillWait=5
SlurmdTimeout=30
NodeName=node[1-{count}] CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""
MUNGE = """
    set -e
    mkdir -p /tmp/munge; chmod 755 /tmp/munge; cp {folder}/munge_key /tmp/munge/key; chmod 400 /tmp/munge/key
    cd /tmp/munge; set -- --socket=$PWD/socket --key-file=$PWD/key --pid-file=$PWD/pid
    munged "$@" --log-file=$PWD/log --seed-file=$PWD/seed
"""


def missing_slurm() -> str:
    """Why Slurm cannot be started here, on hosts that can be made; empty if it can."""
    absent = [program for program in PROGRAMS if not shutil.which(program, path="/usr/bin:/usr/sbin:/bin:/sbin")]
    absent += [] if _pmix() else ["libpmix.so"]
    return f"{', '.join(absent)} not found: apt-get install slurm-wlm munge libpmix-dev" if absent else ""


def _pmix() -> Path | None:
    """The library that Slurm's plugin for PMIx loads by this name."""
    return next(Path("/usr/lib").glob("*/pmix2/lib/libpmix.so"), None)


class Slurm(Hosts):
    """Some hosts with Slurm, of two cores each. The first host runs the controller, and is a node as the others are.

    Parameters
    ----------
    count
        How many.

    Attributes
    ----------
    pmix_folder
        The folder of PMIx's library.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        found = _pmix()
        self.pmix_folder = found.parent if found else Path()
        try:
            (self.folder / "slurm.conf").write_text(SETTINGS.format(count=count))
            (self.folder / "munge_key").write_bytes(secrets.token_bytes(128))
            for number in range(1, count + 1):
                self.run(["sh", "-c", MUNGE.format(folder=self.folder)], number)
            self.run(["sh", "-c", "mkdir -p /tmp/slurmctld; slurmctld"], 1)
            for number in range(1, count + 1):
                self.run(["slurmd", "-N", name(number)], number)
            self._wait_for_nodes(count)
        except BaseException:
            self.close()
            raise

    def run(self, words: Sequence[str], number: int = 1) -> str:
        """Run a program on a host to its end, and return its output. It must succeed."""
        started = self.start(words, number=number)
        said, _ = started.communicate(timeout=START)
        if started.returncode:
            raise RuntimeError(f"{name(number)}: {words}: {said}")
        return said

    def start(self, words: Sequence[str], variables: Mapping[str, str] = {}, number: int = 1) -> subprocess.Popen[str]:
        """Start a program on a host. Its output and errors are one text."""
        return super().start(words, {"SLURM_CONF": str(self.folder / "slurm.conf"), **variables}, number)

    def submit(self, script: str, *options: str) -> str:
        """Give Slurm a batch script, and return the number of the job."""
        file = self.folder / "job.sh"
        file.write_text(f"#!/bin/sh\n{script}\n")
        words = ["sbatch", "--parsable", f"--output={self.folder}/%j.log", f"--chdir={ROOT}", *options, str(file)]
        return self.run(words).strip()

    def wait(self, job: str, seconds: float) -> tuple[str, str, str]:
        """Wait until a job has ended: its state, its status as Slurm writes it, and its log."""
        end = time.monotonic() + seconds
        while (found := self.details(job))["JobState"] in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
            if time.monotonic() > end:
                raise TimeoutError(f"job {job}: {found['JobState']}: {self.log(job)}")
            time.sleep(0.2)
        return found["JobState"], found["ExitCode"], self.log(job)

    def details(self, job: str) -> dict[str, str]:
        """What Slurm knows of a job."""
        words = self.run(["scontrol", "--oneliner", "show", "job", job]).split()
        return {key: value for key, _, value in (word.partition("=") for word in words)}

    def log(self, job: str) -> str:
        """The output of a job's script so far."""
        file = self.folder / f"{job}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def _wait_for_nodes(self, count: int) -> None:
        end = time.monotonic() + START
        while True:
            states = self.run(["sinfo", "--noheader", "--Node", "--format=%T"]).split()
            if states == ["idle"] * count:
                return
            if time.monotonic() > end:
                raise TimeoutError(f"the nodes are {states}")
            time.sleep(0.2)

"""The command lines that start the processes of a cluster: ``mpiexec`` of Open MPI and MPICH, and Slurm's ``srun``."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..backend.workers import available
from ..config import SETTINGS
from ..errors import LaunchError
from .hosts import Host, is_local
from .slurm import is_allocation

INSTALL = "pip install 'twofold[dist]'"
#: Variables that say how many threads a process computes with.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TWOFOLD_THREADS")
#: Variables of this process that processes on other hosts need too.
FORWARDED = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
#: How the names of settings begin, which must be the same in all processes.
SETTING = ("TWOFOLD_", "MXNET_")
#: With these options Open MPI tells processes that another has died (ULFM).
TOLERANT = ("--with-ft", "ulfm")
#: With --ft on several machines: the most seconds in which a lost one is noticed, the share of `TWOFOLD_KV_TIMEOUT` that they may take, as
#: the others must be told before they give up, and the shortest that outlasts a failure of the network for ten seconds: TCP doubles its
#: pauses, and may go on only after twenty.
NOTICED, SHARE, OUTLASTS = 30.0, 0.75, 22.5


@dataclass(frozen=True)
class Job:
    """The processes of a job and where they run.

    Attributes
    ----------
    workers, servers, spares
        Number of processes in each role. Workers have the lowest ranks, then come the servers.
    hosts
        The machines; none for this one alone.
    interface
        The network interface that carries the data; None to leave the choice to MPI.
    is_fault_tolerant
        Whether the others go on after a process has died.
    variables
        Environment variables of the processes.
    """

    workers: int
    servers: int = 0
    hosts: tuple[Host, ...] = ()
    interface: str | None = None
    is_fault_tolerant: bool = False
    variables: Mapping[str, str] | None = None
    spares: int = 0

    @property
    def processes(self) -> int:
        """Number of processes."""
        return self.workers + self.servers + self.spares

    @property
    def is_remote(self) -> bool:
        """Whether a process runs on another machine."""
        return not all(map(is_local, self.hosts))

    @property
    def processes_here(self) -> int:
        """The largest number of processes on one machine."""
        return min(self.processes, max((host.slots for host in self.hosts), default=self.processes))


def threads_each(job: Job) -> int:
    """How many threads each process computes with, so that all of a machine's processes together use each core of this machine once."""
    return max(1, available() // job.processes_here)


@dataclass(frozen=True)
class Engine:
    """A program that starts processes.

    Attributes
    ----------
    path
        The program.
    kind
        ``"Open MPI"``, ``"MPICH"`` or ``"Slurm"``.
    version
        Its version; empty if it was not asked.
    """

    path: str
    kind: str
    version: str = ""

    def command(self, job: Job, words: Sequence[str]) -> list[str]:
        """The command line that runs words in every process of a job, with each line of output labelled by rank.

        Raises
        ------
        LaunchError
            If this program cannot do what the job needs.
        """
        if job.is_fault_tolerant and self.kind != "Open MPI":
            raise LaunchError(f"launch: --ft: {self.kind} ends all processes when one dies", None, f"use Open MPI: {INSTALL}")
        options = {"Open MPI": _open_mpi, "MPICH": _mpich, "Slurm": _slurm}[self.kind](job)
        return [self.path, *options, *words]

    def variables(self, job: Job, folder: Path) -> dict[str, str]:
        """The environment variables that tell MPI what no option of this program tells it, with the folder of this run."""
        if self.kind == "Open MPI":
            # it names its folder by its process, and does not start where one that was killed left a folder of that name
            return {"PRTE_MCA_prte_local_tmpdir_base": str(folder)}
        return {"OMPI_MCA_btl_tcp_if_include": job.interface} if job.interface and self.kind == "Slurm" else {}

    def label(self) -> re.Pattern[str]:
        """The beginning of a line of a process's output; the group ``rank`` is its rank."""
        patterns = {
            "Open MPI": r"\[[^]\s,]*,(?P<rank>\d+)\]<std(?:out|err)>: ?",
            "MPICH": r"\[(?P<rank>\d+)\] ?",
            "Slurm": r" *(?P<rank>\d+): ?",
        }
        return re.compile(patterns[self.kind])


def _open_mpi(job: Job) -> Iterator[str]:
    yield from ("-n", str(job.processes), "--tag-output")
    # processes are not bound: each has a communicating thread besides the computing one
    yield from ("--bind-to", "none")
    if job.hosts:
        yield from ("--host", _listed(job.hosts))
    else:
        # more processes than cores are allowed if no hosts were named: this is how clusters are tried on one machine
        yield from ("--map-by", ":OVERSUBSCRIBE")
    # with more processes than cores, a waiting process must let others run
    yield from ("--mca", "mpi_yield_when_idle", "1")
    if job.interface:
        yield from ("--mca", "btl_tcp_if_include", job.interface)
        if job.interface != "lo":  # Open MPI's daemons refuse the loopback interface when it is named
            yield from ("--prtemca", "prte_if_include", job.interface)
    elif not job.is_remote:
        # Processes of one machine share memory. The transport over TCP would listen on every network, whatever interface it uses.
        yield from ("--mca", "btl", "^tcp")
    if job.is_fault_tolerant:
        yield from TOLERANT
        yield from _heartbeats(SETTINGS.kv_timeout) if job.is_remote else ()
    for name, value in _variables(job).items():
        yield from ("-x", f"{name}={value}")


def check_timeout(job: Job) -> None:
    """Refuse a ``TWOFOLD_KV_TIMEOUT`` in which a lost machine cannot be told from a slow network.

    Raises
    ------
    LaunchError
        If the processes go on after a death, run on several machines, and wait for too few seconds.
    """
    least = OUTLASTS / SHARE
    if job.is_fault_tolerant and job.is_remote and SETTINGS.kv_timeout < least:
        given = f"{SETTINGS.kv_timeout:g} s"
        todo = f"set it to {least:g} or more: a machine counts as lost after {SHARE:g} of it"
        raise LaunchError("launch: --ft on several machines: TWOFOLD_KV_TIMEOUT is too short", given, todo)


def _heartbeats(timeout: float) -> Iterator[str]:
    """With these options Open MPI also notices a lost machine, which sends nothing for some seconds.

    Within a machine, Open MPI's daemon sees which process dies; heartbeats there would report a process as dead that holds the
    interpreter's lock for a long time.
    """
    seconds = min(NOTICED, SHARE * timeout)
    yield from ("--mca", "mpi_ft_detector", "1", "--mca", "mpi_ft_detector_timeout", f"{seconds:g}")
    yield from ("--mca", "mpi_ft_detector_period", f"{seconds / 15:g}")
    # Each process listens to one other: without this only that one learns of the loss, and the rest wait for both of them forever.
    yield from ("--mca", "mpi_ft_propagator_with_rbcast", "1")


def _mpich(job: Job) -> Iterator[str]:
    # MPICH's Hydra has one dash before long options
    yield from ("-n", str(job.processes), "-prepend-rank")
    if job.hosts:
        yield from ("-hosts", _listed(job.hosts))
    if job.interface:
        yield from ("-iface", job.interface)
    for name, value in _variables(job).items():
        yield from ("-genv", name, value)


def _slurm(job: Job) -> Iterator[str]:
    # the whole environment is passed to the processes, whatever `sbatch --export` says; without PMIx each would be a cluster of one
    yield from ("--mpi=pmix", f"--ntasks={job.processes}", "--label", "--kill-on-bad-exit=1", "--export=ALL")
    each = os.environ.get("SLURM_CPUS_PER_TASK")  # of `sbatch`, which srun does not read since Slurm 22.05
    if each:
        yield f"--cpus-per-task={each}"


def _listed(hosts: Sequence[Host]) -> str:
    return ",".join(f"{host.name}:{host.slots}" for host in hosts)


def _variables(job: Job) -> dict[str, str]:
    # processes on this machine inherit them
    return {**(forwarded() if job.is_remote else {}), **(job.variables or {})}


def forwarded() -> dict[str, str]:
    """The variables of this process that processes on other hosts get."""
    return {name: value for name, value in os.environ.items() if name in FORWARDED or name.startswith(SETTING)}


def engine(hosts: Sequence[Host]) -> Engine:
    """The program that starts the processes: Slurm's inside one of its allocations, otherwise ``mpiexec`` of the installed MPI.

    Raises
    ------
    LaunchError
        If there is none, or mpi4py is not installed.
    """
    # tested once here, instead of in every process that would fail
    if find_spec("mpi4py") is None:
        raise LaunchError("launch: the package 'mpi4py' is not installed", None, f"run: {INSTALL}")
    if is_allocation() and not hosts:
        path = shutil.which("srun")
        if path is None:
            raise LaunchError("launch: inside a Slurm allocation, but there is no srun", None, "add it to PATH, or pass --hosts")
        return Engine(path, "Slurm")
    path = _mpiexec()
    # the program is run to find out, because those of both libraries have the same name
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"\d+\.\d+[\w.]*", said)
    for kind, sign in (("Open MPI", r"Open MPI|OpenRTE"), ("MPICH", r"HYDRA|Intel\(R\) MPI")):
        if re.search(sign, said):
            return Engine(path, kind, version.group() if version else "")
    raise LaunchError("launch: neither Open MPI nor MPICH", path, f"run: {INSTALL}")


def _mpiexec() -> str:
    """The one beside this Python, which belongs to the MPI that mpi4py loads from there, or else the system's."""
    # processes that are started by another MPI than mpi4py loads do not find each other
    own = Path(sysconfig.get_path("scripts")) / "mpiexec"
    found = str(own) if own.is_file() else shutil.which("mpiexec")
    if found is None:
        raise LaunchError("launch: no MPI is installed (there is no mpiexec)", None, f"run: {INSTALL}")
    return found

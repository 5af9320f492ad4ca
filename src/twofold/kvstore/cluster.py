"""`Cluster`: the workers and servers that a launcher has started. They find each other by environment variables, and are checked first."""

import atexit
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from socket import gethostname
from types import TracebackType
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ..backend.workers import available
from ..config import SETTINGS
from ..errors import ClusterError
from ..launcher_notes import FINISHED, PLACE, last_checkpoint, notes_folder, number_in
from ..scheduler.queue import QUEUE
from ..stopped_process import end_if_stopped, note_connected, note_connecting
from .collectives import Collectives
from .process_hosts import note_hosts
from .spares import SparePool
from .training_state import TrainingState
from .transports import mpi
from .watch import Watch

#: Variables with the number of processes: of this library's launcher, Open MPI, MPICH and Slurm.
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
#: The variable with the job and number of a process that has connected. Processes that it starts inherit its place in MPI, in which Open
#: MPI crashes if they connect too.
CONNECTED = "TWOFOLD_CONNECTED"
#: Bytes that say what a process runs.
IDENTITY = 256


class Cluster(NamedTuple):
    """The processes of a training, seen from one of them.

    Attributes
    ----------
    rank, workers
        The number of this worker, and the number of workers.
    servers
        The number of servers.
    collectives
        The collective operations of the workers; None in a single worker and in a server.
    messages
        The communicator of messages between workers and servers; None without servers.
    pool
        The workers and spares; None without spares.
    inherited
        The state that a spare has got from the other workers; None in a process that was a worker from the start.
    """

    rank: int = 0
    workers: int = 1
    servers: int = 0
    collectives: Collectives | None = None
    messages: Any = None
    pool: SparePool | None = None
    inherited: TrainingState | None = None

    @property
    def is_server(self) -> bool:
        """Whether this process is a server."""
        return self.rank >= self.workers

    @property
    def is_tolerant(self) -> bool:
        """Whether the others go on after a process has died."""
        return os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1"

    @property
    def is_failed(self) -> bool:
        """Whether this process ends because of an error."""
        return bool(_failed)


#: The cluster of this process, once joined.
_joined: list[Cluster] = []


def join() -> Cluster:
    """The cluster of this process. The first call starts MPI if a launcher has started several processes.

    Raises
    ------
    ClusterError
        If the number of processes differs from the launcher's, they run different versions, or a process of the cluster has started this.
    ParameterError
        If an environment variable that should hold a number of processes does not.
    SystemExit
        In a spare process that was not needed, when the workers have finished.
    MissingDependency
        If there is no MPI.
    """
    if not _joined:
        count = expected_processes(os.environ)
        _joined.append(Cluster() if count == 1 else _connect(count, number_in(os.environ, "TWOFOLD_SERVERS")))
    return _joined[0]


def expected_processes(environment: Mapping[str, str]) -> int:
    """How many processes a launcher has started, by its environment variables; 1 outside a launcher.

    Raises
    ------
    ClusterError
        If the process was started for MXNet's parameter server.
    ParameterError
        If an environment variable is no number.
    """
    if "TWOFOLD_WORKERS" in environment:
        return sum(number_in(environment, name) for name in ("TWOFOLD_WORKERS", "TWOFOLD_SERVERS", "TWOFOLD_SPARES"))
    found = next((name for name in SIZES if name in environment), None)
    if found is None and "DMLC_ROLE" in environment:
        given = f"DMLC_ROLE={environment['DMLC_ROLE']}"
        raise ClusterError("started for MXNet's parameter server", given, "start it with: twofold launch -n WORKERS SCRIPT")
    return 1 if found is None else number_in(environment, found)


def _connect(count: int, servers: int) -> Cluster:
    job, _, starter = os.environ.get(CONNECTED, "").partition(" ")
    if starter and job == os.environ.get("TWOFOLD_JOB") and starter != str(os.getpid()):
        todo = "create stores only in processes that the launcher has started: put this below if __name__ == '__main__'"
        raise ClusterError("a process of the cluster has started this one, which cannot join it", f"process {starter} of this job", todo)
    # The watcher must run before MPI starts: a process that waits there for one that never comes cannot end itself.
    end_if_stopped(patience=10 * SETTINGS.kv_timeout)
    note_connecting()
    everyone = mpi.world()
    if "TWOFOLD_JOB" in os.environ:
        os.environ[CONNECTED] = f"{os.environ['TWOFOLD_JOB']} {os.getpid()}"
    if everyone.size != count:
        given = f"{count} processes were started, {everyone.size} found each other by {mpi.library_version()}"
        mpiexec, pmix = "start them with the mpiexec of that library: twofold launch", "srun --mpi=list must name pmix: or pass --hosts"
        raise ClusterError("the processes are not one cluster", given, pmix if "SLURM_PROCID" in os.environ else mpiexec)
    spares = number_in(os.environ, "TWOFOLD_SPARES")
    rank, workers = everyone.rank, count - servers - spares
    if workers < 1:
        raise ClusterError("a cluster needs a worker", f"{count} processes, {servers} servers", "start more processes: twofold launch -n 2")
    _check_identities(mpi.MpiGroup(everyone))
    note_hosts(_said_by_all(mpi.MpiGroup(everyone), gethostname()))
    note_connected()
    # a communicator for each purpose, so that a message of one is never received by another
    messages = everyone.Dup() if servers else None
    pool = SparePool(everyone.Dup(), workers) if spares else None
    # every process takes part in this, and with every communicator in the same order: it hangs if one process leaves a call out
    own = mpi.split(everyone, int(rank >= workers))  # the workers, or the servers, or the spares
    control = mpi.NoticeChannel(own.Dup())
    _end_together()
    if pool is not None and rank >= workers:
        return _newcomer(pool, control, workers)
    if rank >= workers:
        at_exit_of_this_process(_leave_failed, control, f"server {rank - workers}")
        return Cluster(rank, workers, servers, None, messages)
    watch = Watch(control, SETTINGS.kv_timeout, lambda text: _end(control, f"worker {rank}", text))
    is_tolerant = os.environ.get("TWOFOLD_FAULT_TOLERANT") == "1"
    collectives = None
    if workers > 1:
        group, machine = mpi.MpiGroup(own), crc32(gethostname().encode())
        here = int((group.gather(np.array([machine])) == machine).sum())
        collectives = Collectives(group, watch, is_tolerant, machine, has_core=_has_core(here))
    if collectives is not None and pool is not None:
        collectives.connect_spares(pool)
    cluster = Cluster(rank, workers, servers, collectives, messages, pool)
    at_exit_of_this_process(_leave, cluster, watch, control)
    return cluster


def _has_core(workers: int) -> bool:
    """Whether this machine has a second core for each of its workers, besides the one that computes."""
    return available() >= 2 * workers


def _newcomer(pool: SparePool, control: mpi.NoticeChannel, workers: int) -> Cluster:
    """Wait, in a spare, until it takes the place of a dead worker. If no worker dies, the process ends here."""
    joined = None
    while joined is None:
        if not pool.wait():
            raise SystemExit(0)
        joined = pool.regroup(0, 0)
    rank = joined.members[joined.comm.rank]
    print(f"twofold: this spare goes on as worker {rank}", file=sys.stderr, flush=True)
    control.replace(joined.notices, joined.members, workers)
    watch = Watch(control, SETTINGS.kv_timeout, lambda text: _end(control, f"worker {rank}", text))
    collectives = Collectives(mpi.MpiGroup(joined.comm), watch, True, workers=workers, has_core=_has_core(workers))
    collectives.regroup(joined)
    collectives.connect_spares(pool)
    # for `launched`: iterators divide the data by it
    os.environ[PLACE] = str(rank)
    inherited = TrainingState.of_bytes(collectives.handed_over(None))
    cluster = Cluster(rank, workers, 0, collectives, None, pool, inherited)
    at_exit_of_this_process(_leave, cluster, watch, control)
    return cluster


def _check_identities(group: mpi.MpiGroup) -> None:
    job = os.environ.get("TWOFOLD_JOB", "of no launcher")
    mine = f"twofold {version('twofold')}, {mpi.library_version()}, checksums each {SETTINGS.kv_checksum} steps, job {job}"
    said = _said_by_all(group, mine)
    if len(set(said)) > 1:
        given = "; ".join(f"process {rank}: {text}" for rank, text in enumerate(said))
        raise ClusterError("the processes differ", given, "install the same versions, and set the same variables, on all machines")


def _said_by_all(group: mpi.MpiGroup, text: str) -> list[str]:
    """The texts of all processes, each cut to `IDENTITY` bytes."""
    own = np.frombuffer(text.encode()[:IDENTITY].ljust(IDENTITY, b"\0"), np.uint8)
    return [bytes(row).decode(errors="replace").rstrip("\0") for row in group.gather(own)]


# the end

#: Whether this process ends because of an error.
_failed: list[str] = []


def _end_together() -> None:
    """Let all processes end after an error that the program does not catch: the others would wait for this process."""
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # first the traceback, then the end of all processes, which would cut it off
        before(kind, error, trace)
        _failed.append(f"{kind.__name__}: {error}")

    sys.excepthook = excepthook


def at_exit_of_this_process(function: Callable[..., None], *arguments: object) -> None:
    """`atexit.register`, but a process that the program forks does not call the function: it does not belong to the cluster."""
    process = os.getpid()

    def call() -> None:
        if os.getpid() == process:
            function(*arguments)

    atexit.register(call)


def _leave_failed(control: mpi.NoticeChannel, name: str) -> None:
    if _failed:
        _end(control, name, _failed[0])


def _leave(cluster: Cluster, watch: Watch, control: mpi.NoticeChannel) -> None:
    """At exit: wait until all workers have finished, and take part in the operations of the others until then."""
    _leave_failed(control, f"worker {cluster.rank}")
    folder = notes_folder()
    if cluster.inherited is not None and folder is not None:  # by its rank, the launcher takes it for a spare that was not needed
        (folder / FINISHED).touch()
    # sums that are still queued must run before this worker counts as finished, since others wait in them
    QUEUE.settle()
    if cluster.collectives is None:
        watch.stop()
    else:
        watch.finish(cluster.collectives.take_part, cluster.collectives.poll_recovery)
    if cluster.pool is not None:
        # only the first worker that lives waits for the answers: all would wait for the same ones
        cluster.pool.release(cluster.rank == min(set(range(cluster.workers)) - watch.lost))


def _end(control: mpi.NoticeChannel, name: str, reason: str) -> None:
    last = last_checkpoint(notes_folder())
    print(f"twofold: {name}: {reason}{f'; last checkpoint: {last}' if last else ''}", file=sys.stderr, flush=True)
    control.abort(1)

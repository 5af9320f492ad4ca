"""Slots of a Ray cluster: each is an actor without state that holds the CPUs and GPUs of one process for as long as it lives.

Ray neither carries nor stores data of the training: it lists the machines and starts Open MPI's daemons on them, so that they need no ssh.
An actor that has died is requested again; Ray starts it once a machine has room, or lets its autoscaler add one.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LaunchError, MissingDependency
from ..launcher_notes import LAST_CHECKPOINT
from .hosts import Host
from .mpi import THREADS

#: The address of a cluster that is started on this machine for the job.
LOCAL = "local"
#: Variables that Ray reads when it is imported: it reports no usage statistics, and prints nothing between the job's lines, such as a page
#: about each machine that dies.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "^"}
#: For a private cluster also: Ray kills no actor because other programs fill the memory, and only holders of the token may use it.
OWN = {"RAY_memory_monitor_refresh_ms": "0", "RAY_AUTH_MODE": "token"}
#: Bytes of its object store, which nothing is put into: the least that Ray accepts.
STORE = 80_000_000
#: Seconds in which an actor that lives answers.
ANSWER = 5.0
#: The program that Open MPI runs instead of ssh, with the machine's name and a command: it writes both to a file for `RaySlots.attend`.
STARTER = """\
#!/bin/sh
host=$1; shift
printf '%s\\n%s' "$host" "$*" > "$0.new.$$" && mv "$0.new.$$" "$0.ask.$$"
"""


class SlotRequest(NamedTuple):
    """The slots that a job asks Ray for.

    Attributes
    ----------
    slots
        The number of slots.
    cpus, gpus
        The CPUs and GPUs of each slot.
    """

    slots: int
    cpus: int = 1
    gpus: int = 0


class Holder:
    """The actor. Its methods run on the machine of the slot."""

    def __init__(self) -> None:
        self._daemons: list[subprocess.Popen[bytes]] = []

    def where(self) -> tuple[str, list[str]]:
        """The address of the machine, and the GPUs that this slot has there."""
        ray: Any = import_module("ray")
        return ray.util.get_node_ip_address(), [str(k) for k in ray.get_gpu_ids()]

    def hold(self) -> None:
        """Never returns, so its result appears only when this actor has died."""
        threading.Event().wait()

    def run(self, command: str, variables: Mapping[str, str], folder: str) -> None:
        """Start a daemon of Open MPI, which ends when it loses the connection with the launcher."""
        # workers on this machine write their notes there
        os.makedirs(folder, exist_ok=True)
        # `poll` also reaps daemons that have ended: an actor outlives many runs of a job
        self._daemons = [process for process in self._daemons if process.poll() is None]
        self._daemons.append(subprocess.Popen(["/bin/sh", "-c", command], env={**os.environ, **variables}, stdin=subprocess.DEVNULL))

    def read(self, path: str) -> str:
        """The text of a file; empty without the file."""
        return Path(path).read_text(encoding="utf-8") if os.path.isfile(path) else ""

    def remove(self, folder: str) -> None:
        """Remove the folder of notes."""
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def connected(address: str, request: SlotRequest) -> Iterator[Any]:
    """Connect with a Ray cluster while it is entered; the value is the module `ray`.

    Parameters
    ----------
    address
        ``"auto"`` for the cluster that this machine belongs to, ``"local"`` to start one here, or ``"host:port"``.
    request
        The resources of a cluster that is started here.

    Raises
    ------
    MissingDependency
        If Ray is not installed.
    LaunchError
        If there is no such cluster.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:  # short: Ray's sockets lie deep in it
        options: dict[str, object] = {"address": address, "log_to_driver": False, "logging_level": "ERROR", "namespace": "twofold"}
        if address == LOCAL:
            token = {"RAY_AUTH_TOKEN": secrets.token_hex(32)}  # in the environment alone: otherwise Ray writes one into the home
            os.environ.update({name: os.environ.get(name, value) for name, value in (OWN | token).items()})
            options |= {"num_cpus": request.slots * request.cpus, "num_gpus": request.slots * request.gpus}
            options |= {"include_dashboard": False, "object_store_memory": STORE, "_temp_dir": folder}
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise MissingDependency.of("ray", "launch --ray", "twofold[ray]") from error
        _check_reachable(address)
        try:
            ray.init(**options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            todo = "start one with: ray start --head, or pass --ray local"
            raise LaunchError(f"launch: --ray: no Ray cluster: {error}", address, todo) from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Fail early if nothing listens at ``host:port``: Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), ANSWER).close()
        except (OSError, OverflowError) as error:
            todo = "check the address that ray start has printed"
            raise LaunchError(f"launch: --ray: nobody listens there: {error}", address, todo) from error


@dataclass(eq=False)
class _Slot:
    """A slot that is asked for.

    Attributes
    ----------
    actor
        Its handle.
    answer, death
        The promised results of ``where`` and of ``hold``. The second can only be an error: the actor has died.
    address, gpus
        Where it is; an empty address until it is known.
    is_used
        Whether the job has it.
    """

    actor: Any
    answer: Any
    death: Any
    address: str = ""
    gpus: list[str] = field(default_factory=list)
    is_used: bool = False


class RaySlots:
    """The slots of a job.

    Parameters
    ----------
    ray
        The module, connected.
    request
        The number of slots to ask for, and the CPUs and GPUs of each.
    folder
        The folder of notes to the launcher, which is made on each machine. Worker 0's note of the last checkpoint is brought here.
    """

    def __init__(self, ray: Any, request: SlotRequest, folder: Path) -> None:
        self._ray, self._request, self._folder = ray, request, folder
        self._here: str = ray.util.get_node_ip_address()
        self._actor = ray.remote(Holder).options(
            # never restarted by Ray, which would put the actor on another machine unnoticed; two calls at once, as `hold` never returns
            num_cpus=request.cpus,
            num_gpus=request.gpus,
            max_restarts=0,
            max_concurrency=2,
            scheduling_strategy="DEFAULT",
        )
        self._slots = [self._asked() for _ in range(request.slots)]
        #: The promised text of worker 0's note, and its first text since the job was started, which an earlier run has left there.
        self._reading: Any = None
        self._left_note: str | None = None
        self._is_lost = False
        self._starter = folder / "starter"
        self._starter.write_text(STARTER, encoding="utf-8")
        self._starter.chmod(0o700)

    def _asked(self) -> _Slot:
        actor = self._actor.remote()
        return _Slot(actor, actor.where.remote(), actor.hold.remote())

    def hosts(self) -> list[Host]:
        """The machines with the numbers of their slots, this one first."""
        self._look()
        counts: dict[str, int] = {}
        for slot in self._slots:
            if slot.address:
                counts[slot.address] = counts.get(slot.address, 0) + 1
        return [Host(name, counts[name]) for name in sorted(counts, key=lambda name: name != self._here)]

    def use(self, count: int) -> tuple[list[Host], Mapping[str, str]]:
        """Take ``count`` slots for a job. Returns their machines, and the variables of the job's launcher."""
        order = [host.name for host in self.hosts()]
        there = sorted((slot for slot in self._slots if slot.address), key=lambda slot: order.index(slot.address))
        for k, slot in enumerate(there):
            # slots on the first machines are used first, so that a job spreads over as few machines as it can
            slot.is_used = k < count
        used = [slot.address for slot in there[:count]]
        # fewer, if a slot has gone since the decision to start: the job cannot start then, and this is no failure of the program
        self._is_lost = len(used) < count
        hosts = [Host(name, used.count(name)) for name in order if name in used]
        # Open MPI then starts the processes itself, and asks for no daemon
        if [host.name for host in hosts] == [self._here]:
            hosts = [Host("localhost", count)]
        self._begin_note()
        # `STARTER` stands in for ssh. Without a tree this process, which knows the actors, starts every daemon.
        starter = {"PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": str(self._starter), "PRTE_MCA_plm_ssh_no_tree_spawn": "1"}
        threads = {name: os.environ.get(name, str(self._request.cpus)) for name in THREADS}
        return hosts, {**os.environ, **threads, **starter, **self._gpus(self._here)}

    def is_lost(self) -> bool:
        """Whether a slot in use is gone."""
        return self._is_lost

    def check(self) -> None:
        """Ask all actors, and replace the ones that do not answer: Ray itself takes up to a minute to notice that a machine is gone."""
        # any call will do: an actor that answers lives
        there = {slot.actor.read.remote(""): slot for slot in self._slots if slot.address}
        if there:
            _, silent = self._ray.wait(list(there), num_returns=len(there), timeout=ANSWER)
            for answer in silent:
                self._replace(there[answer])
        self._look()

    def attend(self) -> None:
        """Start the daemons that Open MPI has asked for, and bring the note of the last checkpoint here."""
        for asked in sorted(self._folder.glob(f"{self._starter.name}.ask.*")):
            address, command = asked.read_text(encoding="utf-8").split("\n", 1)
            # before the daemon is started: a request is carried out once, whatever fails
            asked.unlink()
            first = next((slot for slot in self._slots if slot.address == address), None)
            if first is None:
                self._is_lost = True  # its machine has gone meanwhile
            else:
                first.actor.run.remote(command, self._gpus(address), str(self._folder))
        self._bring_note()

    def close(self) -> None:
        """Give all slots back, and remove the folder of notes from other machines."""
        for address in {slot.address for slot in self._slots} - {"", self._here}:
            slot = next(slot for slot in self._slots if slot.address == address)
            self._ray.wait([slot.actor.remove.remote(str(self._folder))], timeout=ANSWER)
        for slot in self._slots:
            self._ray.kill(slot.actor)

    def _gpus(self, address: str) -> dict[str, str]:
        """The variable that shows the processes on a machine its GPUs: those of all slots in use there."""
        if not self._request.gpus:
            return {}
        return {"CUDA_VISIBLE_DEVICES": ",".join(k for slot in self._slots if slot.address == address and slot.is_used for k in slot.gpus)}

    def _begin_note(self) -> None:
        """Read what an earlier run has left on the machine where worker 0 will be started."""
        self._reading = self._left_note = None
        self._bring_note()
        if self._reading is not None:
            # before the job is started: what the machine answers later may be the job's own note
            self._ray.wait([self._reading], timeout=ANSWER)
            self._bring_note()

    def _bring_note(self) -> None:
        first = next((slot for slot in self._slots if slot.is_used), None)
        if first is None or any(slot.is_used and slot.address == self._here for slot in self._slots):
            return  # worker 0 runs here
        if self._reading is None:
            self._reading = first.actor.read.remote(str(self._folder / LAST_CHECKPOINT))
        text = self._result(self._reading, "")
        if text is None:
            return
        self._reading = None
        if self._left_note is None:
            self._left_note = text
        elif text not in ("", self._left_note):  # the note that was left there is older than the one that is here
            (self._folder / LAST_CHECKPOINT).write_text(text, encoding="utf-8")

    def _look(self) -> None:
        """Learn the machines of slots that Ray has started, and request a new slot for each that has died."""
        for slot in list(self._slots):
            if self._ray.wait([slot.death], timeout=0)[0]:
                self._replace(slot)
            elif not slot.address:
                found = self._result(slot.answer, None)
                if found is not None:
                    slot.address, slot.gpus = found

    def _replace(self, slot: _Slot) -> None:
        # the policy learns of it even if a new slot comes at once: the process in this slot is gone
        self._is_lost |= slot.is_used
        self._ray.kill(slot.actor)
        self._slots[self._slots.index(slot)] = self._asked()

    def _result(self, promised: Any, after_death: Any) -> Any:
        """An actor's answer; None if it has not answered yet."""
        if not self._ray.wait([promised], timeout=0)[0]:
            return None
        try:
            return self._ray.get(promised)
        except self._ray.exceptions.RayActorError:
            return after_death

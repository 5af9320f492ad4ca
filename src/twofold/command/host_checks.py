"""`check_machines`: whether a job can run on other machines, asked by ssh before MPI, whose own messages name neither machine nor cause."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LaunchError
from .hosts import Host, is_local
from .merged_log import say
from .mpi import INSTALL, forwarded
from .slurm import is_allocation
from .ssh_relay import MACHINES, PORTS

#: Seconds for ssh to connect, for a machine's answer, and for both on Kubernetes, where ssh servers start with the launcher.
CONNECT, ANSWER, PODS = 7, 11.0, 90.0
#: Seconds by which a clock may differ without a remark, and the largest number of machines that are asked at the same time.
CLOCK, AT_ONCE = 60.0, 32
#: Seconds between ssh's questions whether a machine is there; three without an answer mean that it is lost.
ALIVE = 10
#: Variables by which Open MPI is told how to start its daemons: by which means, the program and its arguments.
MEANS, STARTER, ARGUMENTS = "PRTE_MCA_plm", "PRTE_MCA_plm_ssh_agent", "PRTE_MCA_plm_ssh_args"
#: By how many daemons Open MPI's launcher starts at once by default, and how many it connects with itself.
STARTED, CHILDREN = 128, 64
#: After how many seconds a daemon whose machine is cut off from the launcher ends its processes; eight minutes by default.
CUT_OFF = {
    "PRTE_MCA_oob_tcp_keepalive_time": "20",
    "PRTE_MCA_oob_tcp_keepalive_intvl": "5",
    "PRTE_MCA_oob_tcp_keepalive_probes": "6",
}


class Machine(NamedTuple):
    """What a machine has.

    Attributes
    ----------
    host
        Its name and number of processes.
    cores
        Cores on which processes may run.
    ahead
        Seconds by which its clock is ahead of this machine's.
    """

    host: Host
    cores: int
    ahead: float

    @property
    def remark(self) -> str:
        """What does not keep the job from running, but should be known; empty if there is nothing."""
        if abs(self.ahead) < CLOCK:
            return ""
        how = "ahead of" if self.ahead > 0 else "behind"
        return f"the clock of {self.host.name} is {abs(self.ahead):.0f} s {how} this machine's: times in logs and of files differ"


def check_machines(hosts: Sequence[Host]) -> list[Machine]:
    """Ask the other machines whether they can run processes of a job.

    Nothing is asked if something else than ssh starts the processes there.

    Raises
    ------
    LaunchError
        Naming the machines that cannot be reached, lack Python or a package, have other versions, or cannot reach this one.
    """
    words, remote = _ssh(), [host for host in hosts if not is_local(host)]
    if not words or not remote:
        return []
    if shutil.which(words[0]) is None:
        raise LaunchError(
            "launch: there is no ssh to reach other machines with", words[0], "install it, such as: apt install openssh-client"
        )
    with _listener() as listener, ThreadPoolExecutor(AT_ONCE) as pool:
        port = listener.getsockname()[1]
        found = list(pool.map(lambda host: _asked(words, host, port), remote))
    faults = [one for one in found if isinstance(one, LaunchError)]
    if faults:
        raise _joined(faults)
    return [one for one in found if isinstance(one, Machine)]


def _ssh() -> list[str]:
    """The command line of ssh as Open MPI runs it; empty if it starts processes in another way."""
    starter = shlex.split(os.environ.get(STARTER, "ssh").partition(":")[0])
    is_other = os.environ.get(MEANS, "ssh") != "ssh" or is_allocation()
    if is_other or not starter or os.path.basename(starter[0]) != "ssh":
        return []
    options = ["-x", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}"]
    return [*starter, *options, *shlex.split(os.environ.get(ARGUMENTS, ""))]


def alive_options() -> dict[str, str]:
    """The variable by which Open MPI's ssh notices a lost machine, which would otherwise take the quarter of an hour that TCP tries."""
    if not _ssh():
        return {}
    return {ARGUMENTS: f"-o ServerAliveInterval={ALIVE} -o ServerAliveCountMax=3 {os.environ.get(ARGUMENTS, '')}".strip()}


def relay_options(hosts: Sequence[Host]) -> dict[str, str]:
    """The variables by which Open MPI starts `ssh_relay` in place of ssh, so that a lost machine does not end the whole job."""
    words, several = _ssh(), len(hosts)
    if not words:
        return {}
    own = shlex.split(os.environ.get(STARTER, "ssh").partition(":")[0])
    relay = [sys.executable, "-I", "-S", str(Path(__file__).with_name("ssh_relay.py")), *own, "-x"]
    apart = next((word for word in relay if re.search(r"[\s:]", word)), None)
    if apart is not None:  # it splits the command line at spaces, and alternatives at colons
        say(f"a machine that is lost will end the job: Open MPI cannot run {apart!r}, as the name has a space or a colon")
        return {}
    return {
        STARTER: " ".join(relay),
        MACHINES: ",".join(host.name for host in hosts),
        # every daemon connects with this machine, without another in between that may be lost
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_routed_radix": str(max(CHILDREN, several)),
        "PRTE_MCA_plm_ssh_num_concurrent": str(max(STARTED, several)),
        **{name: value for name, value in CUT_OFF.items() if name not in os.environ},
    }


def _listener() -> socket.socket:
    """A socket that other machines try to connect to."""
    chosen = os.environ.get(PORTS, "").partition(",")[0].partition("-")[0]
    port, both = int(chosen) if chosen.isdecimal() else 0, socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    return socket.create_server(("", port), family=family, backlog=2 * AT_ONCE, dualstack_ipv6=both)


def _asked(ssh: Sequence[str], host: Host, port: int) -> Machine | LaunchError:
    """What a machine answers, or the error to raise."""
    words = ["env", *(f"{name}={value}" for name, value in forwarded().items()), sys.executable, "-", str(port)]
    probe, begun = Path(__file__).with_name("host_probe.py").read_bytes(), time.time()
    seconds = PODS if "KUBERNETES_SERVICE_HOST" in os.environ else ANSWER
    try:
        done = subprocess.run([*ssh, host.name, shlex.join(words)], input=probe, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return LaunchError(f"launch: {host.name} does not answer", f"{seconds:g} s by ssh", f"try: ssh {host.name} true")
    said = (done.stderr.decode(errors="replace").strip().splitlines() or ["ssh said nothing"])[-1]
    if done.returncode == 255:  # ssh's own errors
        return LaunchError(f"launch: {host.name} cannot be reached by ssh", said, f"ssh {host.name} must work without a password")
    if done.returncode in (126, 127):
        todo = "install the same environment in the same place on all machines"
        return LaunchError(f"launch: {host.name} has no Python of this name", sys.executable, todo)
    with suppress(ValueError, IndexError, KeyError, TypeError):
        answer = json.loads(done.stdout.splitlines()[-1])
        fault = _fault(host.name, answer)
        return fault or Machine(host, int(answer["cores"]), float(answer["time"]) - (begun + time.time()) / 2)
    return LaunchError(f"launch: {host.name}: Python fails there", said, f"try: ssh {host.name} {sys.executable} --version")


def _fault(name: str, answer: Mapping[str, Any]) -> LaunchError | None:
    """The error of a machine on which the job could not run."""
    own = {"python": "{}.{}".format(*sys.version_info), "twofold": version("twofold"), "mpi4py": version("mpi4py")}
    for package in ("twofold", "mpi4py"):
        if answer[package] is None:
            return LaunchError(f"launch: {name}: the package '{package}' is not installed", sys.executable, f"run there: {INSTALL}")
    for what, here in own.items():
        if answer[what] != here:
            return LaunchError(
                f"launch: {name} has another version of {what}", f"{answer[what]}; this machine: {here}", "install the same one"
            )
    if answer["refusal"]:
        given = f"from {name} to {socket.gethostname()}: {answer['refusal']}"
        return LaunchError(f"launch: {name} cannot connect to this machine", given, "open the route and the firewall between the machines")
    return None


def _joined(faults: Sequence[LaunchError]) -> LaunchError:
    """One error for all machines with a fault: the first in full, the others in short."""
    if len(faults) == 1:
        return faults[0]
    texts = [str(fault).removeprefix("launch: ").partition(": given ")[0] for fault in faults[1:5]]
    more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
    return LaunchError(f"{faults[0]}. Also: {'; '.join(texts)}{more}")


def fewest_threads(machines: Iterable[Machine], most: int) -> int:
    """How many threads a process computes with, so that no machine has more threads than cores: ``most``, or fewer."""
    return min([most, *(max(1, machine.cores // machine.host.slots) for machine in machines)])

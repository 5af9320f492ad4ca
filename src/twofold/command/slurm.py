"""What Slurm tells of an allocation by environment variables, and of tasks that fail by ``srun``'s messages."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping

from ..errors import LaunchError
from .hosts import Host
from .merged_log import Ended

#: A number of tasks or cores of nodes, as Slurm writes it: ``2`` or, for three nodes, ``2(x3)``.
COUNT = re.compile(r"(?P<number>\d+)(?:\(x(?P<times>\d+)\))?")
#: What ``srun`` says of a task that has failed.
FAILED = re.compile(r"srun: error: (?P<node>[\w.-]+): tasks? (?P<ranks>\d[-,\d]*): (?P<how>.*)")
STATUS = re.compile(r"Exited with exit code (\d+)")
#: The status of a process that Open MPI ends because another has died: `MPI_ERR_UNKNOWN`.
CONSEQUENCE = 14
#: What ``srun`` says where the nodes lack the library that its plugin loads.
WITHOUT_PMIX = re.compile(r"can not load PMIx library|Invalid MPI type 'pmix'")
#: How the texts of signals begin, such as ``Killed``, by their numbers.
SIGNALS = {number: text for number in signal.valid_signals() if (text := signal.strsignal(number))}


def is_allocation() -> bool:
    """Whether this process runs in an allocation of Slurm."""
    return "SLURM_JOB_ID" in os.environ


def allocated_hosts(*, must_be_known: bool = False) -> tuple[Host, ...]:
    """The nodes of the allocation, with their numbers of tasks; none outside an allocation.

    Parameters
    ----------
    must_be_known
        Whether it is an error if they cannot be found out.

    Raises
    ------
    LaunchError
        If they must be known, and Slurm does not tell them.
    """
    nodes, path = os.environ.get("SLURM_JOB_NODELIST", ""), shutil.which("scontrol")
    said = ""
    if is_allocation() and nodes and path:
        said = subprocess.run([path, "show", "hostnames", nodes], capture_output=True, text=True, check=False).stdout
    names, tasks = said.split(), numbers(os.environ.get("SLURM_TASKS_PER_NODE", ""))
    if must_be_known and is_allocation() and (not names or len(names) != len(tasks)):
        given = f"SLURM_JOB_NODELIST={nodes!r}, scontrol {path or 'not found'}"
        raise LaunchError("launch: the nodes of Slurm's allocation are not known", given, "name them: --hosts node1:2,node2:2")
    return tuple(Host(*pair) for pair in zip(names, tasks, strict=False))


def numbers(text: str) -> list[int]:
    """The numbers that Slurm writes as ``2(x3),1``; none if the text is not of this form.

    >>> numbers("2(x3),1")
    [2, 2, 2, 1]
    """
    found = [COUNT.fullmatch(part) for part in text.split(",")]
    return [int(one["number"]) for one in found if one for _ in range(int(one["times"] or 1))] if all(found) else []


def cores_each(environment: Mapping[str, str]) -> int:
    """How many cores the allocation has for each task: the fewest of all nodes; 0 if Slurm does not say."""
    each = environment.get("SLURM_CPUS_PER_TASK", "")
    if each.isdecimal():
        return int(each)
    cores, tasks = (numbers(environment.get(name, "")) for name in ("SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"))
    if not cores or len(cores) != len(tasks):
        return 0
    return min(max(1, own // count) for own, count in zip(cores, tasks, strict=True))


def explained(ended: Ended) -> Ended:
    """How the processes ended, with the status and the node of the task that failed first.

    ``srun`` has another status where several tasks fail, and may hear first of a task that was killed because another had failed.
    """
    failed = [(rank, found["node"], _status(found["how"])) for found in FAILED.finditer(ended.said) for rank in _ranks(found["ranks"])]
    if ended.rank is None or not failed:
        return ended
    if ended.ends_all is None:  # the first that chose its status, or else the first that was killed
        rank, node, status = min(failed, key=lambda one: 2 if one[2] in (None, CONSEQUENCE) else int(one[2] > 128))
    else:
        rank, node, _ = next((one for one in failed if one[0] == ended.ends_all), failed[0])
        status = 1
    return ended._replace(rank=rank, status=status or ended.status, place=node)


def _ranks(text: str) -> list[int]:
    """The tasks that Slurm writes as ``0-2,5``."""
    spans = [[int(end) for end in part.split("-")] for part in text.split(",") if part]
    return [rank for span in spans for rank in range(span[0], span[-1] + 1)]


def _status(how: str) -> int | None:
    """A task's exit status, 128 plus the number of a signal that ended it; None if Slurm says neither."""
    exited = STATUS.match(how)
    return int(exited[1]) if exited else next((128 + number for number, text in SIGNALS.items() if how.startswith(text)), None)


def check_pmix(ended: Ended) -> None:
    """Raise an error if ``srun`` could not start the processes by PMIx.

    Raises
    ------
    LaunchError
        Saying what the nodes need.
    """
    if WITHOUT_PMIX.search(ended.said):
        todo = "install PMIx on all nodes (on Debian: libpmix-dev, which has the name that Slurm loads), or pass --hosts"
        raise LaunchError("launch: Slurm cannot start processes by PMIx", "srun --mpi=pmix", todo)

"""Machines and their numbers of processes, as `launch` is given them: ``a:2,b:2``, or a file of hosts."""

import re
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import LaunchError

#: Seconds between looks for a name.
EVERY = 0.5
#: A host's line of a file: MPICH's ``name:2``, Open MPI's ``name slots=2``, ps-lite's ``name``.
LINE = re.compile(r"(?P<name>[\w.-]+)(?::(?P<count>\d+)|\s+slots\s*=\s*(?P<slots>\d+))?(?:\s+max[_-]slots\s*=\s*\d+)?")


class Host(NamedTuple):
    """A machine.

    Attributes
    ----------
    name
        Its name or address.
    slots
        How many processes run there.
    """

    name: str
    slots: int


def hosts_of(text: str) -> tuple[Host, ...]:
    """The hosts of ``a:2,b:2``; a name without a number has one process.

    Raises
    ------
    LaunchError
        If a part is not a host.
    """
    return tuple(_host(part.strip(), "--hosts") for part in text.split(","))


def hosts_of_file(path: str) -> tuple[Host, ...]:
    """The hosts of a file, one a line: ``name``, ``name:2`` or ``name slots=2``; ``#`` begins a comment.

    Raises
    ------
    LaunchError
        If the file cannot be read, names no host, or has a line that is not one.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LaunchError("launch: the file of hosts cannot be read", path, str(getattr(error, "strerror", error))) from error
    hosts = [_host(line, path) for line in (line.partition("#")[0].strip() for line in lines) if line]
    if not hosts:
        raise LaunchError("launch: the file of hosts names no host", path, "write one name a line, such as node1:2")
    return tuple(hosts)


def _host(text: str, where: str) -> Host:
    # "max_slots" is read over: the number of slots alone decides
    found = LINE.fullmatch(text)
    slots = int((found["count"] or found["slots"] or 1) if found else 0)
    if found is None or slots < 1:
        raise LaunchError(f"launch: {where}: not a host", repr(text), "write its name and number of processes, such as node1:2")
    return Host(found["name"], slots)


def check_names(hosts: Iterable[Host], seconds: float = 0) -> None:
    """Look every name up, so that a wrong name is reported before anything starts.

    Parameters
    ----------
    hosts
        The machines.
    seconds
        How long to wait for names that are not known yet.

    Raises
    ------
    LaunchError
        If there is no such host.
    """
    deadline = time.monotonic() + seconds
    for host in hosts:
        while (error := _unknown(host)) and time.monotonic() < deadline:
            time.sleep(EVERY)
        if error:
            raise LaunchError("launch: unknown host", repr(host.name), "check its name with: getent hosts NAME") from error


def _unknown(host: Host) -> OSError | None:
    try:
        socket.getaddrinfo(host.name, None)
    except OSError as error:
        return error
    return None


def is_local(host: Host) -> bool:
    """Whether it is this machine."""
    return host.name in ("localhost", "127.0.0.1", "::1", socket.gethostname(), socket.getfqdn())

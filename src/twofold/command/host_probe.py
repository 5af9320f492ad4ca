"""Runs on another machine before a job starts there, from standard input, and prints in JSON what the machine has.

It imports nothing of Twofold, which may be missing there.
"""

import json
import os
import socket
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

#: Seconds for a connection to the launcher.
BACK = 4.0


def installed(package: str) -> str | None:
    """The version of a package that can be imported; None if there is none."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:  # an empty folder of that name is no package
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def refusal(port: int) -> str:
    """Why the launcher, at the address from which ssh came, cannot be reached from here; empty if it can."""
    address = os.environ.get("SSH_CONNECTION", "").split()[:1]
    try:
        if address:
            socket.create_connection((address[0], port), BACK).close()
    except OSError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    found = {"python": "{}.{}".format(*sys.version_info), "time": time.time(), "cores": cores}
    found |= {name: installed(name) for name in ("twofold", "mpi4py")} | {"refusal": refusal(int(sys.argv[1]))}
    print("\n" + json.dumps(found), flush=True)

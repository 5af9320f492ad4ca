"""`Hosts`: machines made of Linux namespaces, with names, addresses, ssh servers and file systems of their own.

Each host is a process tree in namespaces of network, names, mounts and processes. Their only network is the one that the test makes
(10.77.0.0/24, without a way out), and all of it ends with the first process of each host, which the kernel kills with the test.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.hosts.network import MTU, Network

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Path(sys.prefix)
#: The most hosts, and the seconds after which a host ends by itself, whatever becomes of the test.
MOST, LIFE = 8, 3600
CLONE_NEWNET, TUNSETIFF, TUN_NO_INFO = 0x40000000, 0x400454CA, 0x1001
SSHD = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
"""
SSH = """\
Host *
  IdentityFile {folder}/user_key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


def missing() -> str:
    """Why hosts cannot be made here; empty if they can."""
    if not sys.platform.startswith("linux") or os.geteuid():
        return "hosts of namespaces need Linux and root"
    absent = [name for name in ("ip", "ssh", "sshd", "ssh-keygen", "unshare", "nsenter", "setpriv") if not shutil.which(name, path=_path())]
    if absent:
        return f"{', '.join(absent)} not found: apt-get install openssh-server iproute2 util-linux"
    if not (ENVIRONMENT / "bin" / "prterun").exists():
        return "no Open MPI: pip install 'twofold[dist]'"
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False)
    if tried.returncode or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "no namespaces or TUN devices may be made here"
    return ""


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


class Hosts:
    """Some hosts, ``node1`` to ``node8``, which share the checkout and one folder.

    Parameters
    ----------
    count
        How many.
    setups
        Shell commands by number of the host, from 1, that run on it before its ssh server, which ``$SSHD`` starts.

    Attributes
    ----------
    folder
        The folder that all hosts share. Each has a ``/tmp`` of its own.
    network
        The network between them.
    """

    def __init__(self, count: int, setups: Mapping[int, str] = {}, seed: int = 0) -> None:
        if not 2 <= count <= MOST:
            raise ValueError(f"2 to {MOST} hosts, got {count}")
        self.folder = Path(tempfile.mkdtemp(prefix="twofold-hosts-", dir="/var/tmp"))
        self._inner: list[int] = []
        self._outer: list[subprocess.Popen[bytes]] = []
        self.network: Network | None = None
        try:
            self._write_keys(count)
            devices = {}
            for number in range(1, count + 1):
                self._start(number, setups.get(number, ""))
                devices[address(number)] = self._connect(number)
            self.network = Network(devices, seed)
            self._wait_for_servers(count)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """End all processes of all hosts."""
        for process in self._outer:
            process.kill()  # the kernel kills the host's first process with it, and all others with that
        for process in self._outer:
            process.wait()

    def close(self) -> None:
        """End all processes of all hosts, and remove the folder."""
        self.end()
        if self.network is not None:
            self.network.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def vanish(self, number: int) -> None:
        """End a host at once, without a word to the others: its network must be cut before."""
        self._outer[number - 1].kill()

    def _write_keys(self, count: int) -> None:
        for file in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / file)], check=True)
        (self.folder / "sshd").write_text(SSHD.format(folder=self.folder))
        (self.folder / "ssh").write_text(SSH.format(folder=self.folder))
        names = "".join(f"{address(k)} {name(k)}\n" for k in range(1, count + 1))
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")

    def _start(self, number: int, setup: str) -> None:
        sshd = f"/usr/sbin/sshd -f {self.folder}/sshd -o ListenAddress={address(number)}"
        script = f"""
            set -e
            hostname {name(number)}
            mount -t tmpfs none /tmp; mkdir -p /run/sshd
            mount --bind {self.folder}/hosts /etc/hosts; mount --bind {self.folder}/ssh /etc/ssh/ssh_config
            ip link set lo up
            SSHD='{sshd}'; : > {self.folder}/ready{number}
            while [ ! -e {self.folder}/go{number} ]; do sleep 0.02; done
            {setup or "$SSHD"}
            exec sleep {LIFE}
        """
        mortal = ["setpriv", "--pdeathsig", "KILL"]  # however the test ends, its hosts end with it
        kinds = ["--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"]
        with (self.folder / f"log{number}").open("wb") as log:
            self._outer.append(
                subprocess.Popen([*mortal, "unshare", *kinds, "sh", "-c", script], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            )
        _wait(lambda: (self.folder / f"ready{number}").exists(), f"{name(number)} does not start")
        children = Path(f"/proc/{self._outer[-1].pid}/task/{self._outer[-1].pid}/children").read_text().split()
        self._inner.append(int(children[0]))

    def _connect(self, number: int) -> int:
        """Make the host's network device; the result is its other end."""
        found: list[int] = []

        def make() -> None:  # a namespace belongs to a thread
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/proc/{self._inner[number - 1]}/ns/net", "rb") as space:
                if libc.setns(space.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"net0", TUN_NO_INFO))
            found.append(device)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        script = f"ip addr add {address(number)}/24 dev net0 && ip link set net0 mtu {MTU} up"
        subprocess.run(self.command(number, ["sh", "-c", script]), check=True)
        (self.folder / f"go{number}").touch()
        return found[0]

    def _wait_for_servers(self, count: int) -> None:
        for number in range(1, count + 1):
            listening = ["sh", "-c", "ss -ltn | grep -q ':22 ' || pgrep -x sleep"]
            words = self.command(number, listening)
            _wait(lambda words=words: subprocess.run(words, capture_output=True, check=False).returncode == 0, name(number))

    def command(self, number: int, words: Sequence[str]) -> list[str]:
        """The command line that runs words on a host."""
        return ["nsenter", "--target", str(self._inner[number - 1]), "--net", "--uts", "--mount", "--pid", *words]

    def start(self, words: Sequence[str], variables: Mapping[str, str] = {}, number: int = 1) -> subprocess.Popen[str]:
        """Start a program on a host. Its output and errors are one text."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PRTE_", "PMIX_", "TWOFOLD_", "SLURM_"))}
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HOME": str(self.folder), "PATH": _path()}
        more: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
        return subprocess.Popen(self.command(number, words), env={**kept, **allowed, **variables}, cwd=ROOT, start_new_session=True, **more)


def address(number: int) -> str:
    """The address of a host."""
    return f"10.77.0.{number}"


def name(number: int) -> str:
    """The name of a host."""
    return f"node{number}"


def _wait(is_there: Any, what: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)

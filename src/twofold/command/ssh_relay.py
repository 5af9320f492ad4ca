"""Starts a daemon of Open MPI on another machine by ssh, and stands between that daemon and Open MPI's launcher.

Open MPI's launcher ends the whole job as soon as the connection to one of its daemons fails. With ``--ft`` it is therefore given this
program in place of ssh. The daemon connects to this program, which passes on what both say. If the machine is lost, this program says so to
`twofold launch`, and keeps the launcher's side of the connection open until the job is over. If ssh cannot start the daemon, this program
ends with the status of ssh.

One such program runs for each other machine, so it imports little.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic, sleep

#: The environment variable with the names of the machines, and the one with the folder in which the file `OVER` ends all relays.
MACHINES, FOLDER, OVER = "TWOFOLD_MACHINES", "TWOFOLD_RUN_FOLDER", "over"
#: The ports at which Open MPI waits for connections, where a firewall admits certain ones only.
PORTS = "PRTE_MCA_oob_tcp_dynamic_ipv4_ports"
#: How a line to `twofold launch` begins; ``lost`` or ``ended`` and the name of the machine follow.
SAYS = "twofold-machine: "
#: Seconds without an answer after which a machine is lost. The processes notice it after 30 s at most, so they have gone on by then.
SILENCE = 36
#: Seconds between looks at the job, seconds in which a job is over after its daemons have ended, and seconds for ssh to end after it.
EVERY, LAST, LEAVE = 0.05, 1.0, 2.0
#: The addresses of Open MPI's launcher in the command line of a daemon. Those of IPv6 that may follow are left out.
ADDRESS = re.compile(r"(?P<name>@0\.0;tcp://)(?P<hosts>[\d.,]+):(?P<port>\d+)(?P<masks>(?::[\d,]+)?)(?:;tcp6://[^\s'\";]*)?")
#: The most bytes that are passed on at once.
SIZE = 1 << 16


class Relay:
    """Passes on what a daemon and Open MPI's launcher send to each other.

    Parameters
    ----------
    listener
        A socket that waits for the daemon.
    launcher
        Addresses of the launcher, on this machine.
    machine
        The name of the daemon's machine.
    folder
        The folder in which a file says that the job is over.
    """

    def __init__(self, listener: socket.socket, launcher: Sequence[tuple[str, int]], machine: str, folder: str) -> None:
        self._listener, self._launcher, self._machine, self._folder = listener, launcher, machine, folder
        #: Whether the launcher has answered a daemon; whether it has closed that connection; whether the machine is lost.
        self.is_up, self.has_ended, self.is_lost = False, Event(), Event()
        self._lock = Lock()
        self._connections: list[_Connection] = []
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            far, _ = self._listener.accept()
            near = self._connected()
            if near is None:
                far.close()
                continue
            _end_if_silent(far)
            own = _Connection(near, far)
            self._connections.append(own)
            Thread(target=self._to_machine, args=(own,), daemon=True).start()
            Thread(target=self._to_launcher, args=(own,), daemon=True).start()

    def _connected(self) -> socket.socket | None:
        for address in self._launcher:
            with suppress(OSError):
                return socket.create_connection(address)
        return None

    def _to_machine(self, own: "_Connection") -> None:
        with suppress(OSError):
            while data := own.near.recv(SIZE):
                own.is_up = self.is_up = True
                with suppress(OSError):  # what is sent to a lost machine is dropped
                    own.far.sendall(data)
        if own.is_up:
            self.has_ended.set()
        own.close()

    def _to_launcher(self, own: "_Connection") -> None:
        has_ended = False
        with suppress(OSError):
            while data := own.far.recv(SIZE):
                own.near.sendall(data)
            has_ended = not own.is_cut
        if own.is_up:
            # a daemon ends at the end of a job, too, of which this program may not know yet
            self._wait(LAST if has_ended else 0)
            self._lose("ended" if has_ended else "lost")
            self._wait()
        own.close()

    def cut_silent(self) -> None:
        """End the connection to a machine that does not answer."""
        for own in self._connections:
            if not own.is_cut and own.is_silent:
                own.is_cut = True
                _end(own.far)

    def _wait(self, seconds: float = float("inf")) -> None:
        """Wait until the job is over."""
        end = monotonic() + seconds
        while not self._is_over() and monotonic() < end:
            sleep(EVERY)

    def _is_over(self) -> bool:
        """Whether no connection is to be kept: the job is over, its launcher has ended, or the launcher has removed its folder."""
        return self.has_ended.is_set() or not os.path.isdir(self._folder) or os.path.exists(os.path.join(self._folder, OVER))

    def _lose(self, how: str) -> None:
        with self._lock:
            if not self.is_lost.is_set() and not self._is_over():
                os.write(2, f"{SAYS}{how} {self._machine}\n".encode())
                self.is_lost.set()


class _Connection:
    """The two sides of a connection: that to the launcher, and that to the daemon."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near, self.far = near, far
        #: Whether the launcher has answered, and whether this program has ended the connection to a silent daemon.
        self.is_up = self.is_cut = False

    @property
    def is_silent(self) -> bool:
        """Whether the machine has acknowledged nothing for `SILENCE` seconds; on Linux, else TCP's own limits count.

        TCP counts the time from what it has sent first without an answer, which may be long after the loss.
        """
        option = getattr(socket, "TCP_INFO", None)
        if option is None or sys.platform != "linux":
            return False
        # milliseconds since the last acknowledgment: a field of the kernel's `tcp_info`
        return int.from_bytes(self.far.getsockopt(socket.IPPROTO_TCP, option, 60)[56:60], sys.byteorder) > 1000 * SILENCE

    def close(self) -> None:
        """End both sides. A thread that waits for one of them goes on."""
        _end(self.near)
        _end(self.far)


def _end(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)


def _end_if_silent(far: socket.socket) -> None:
    """Let a connection fail if the machine does not answer while nothing is sent to it; see `_Connection.is_silent` for the rest."""
    far.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    choices = {"TCP_KEEPIDLE": SILENCE // 3, "TCP_KEEPINTVL": SILENCE // 6, "TCP_KEEPCNT": 4}
    for name, value in choices.items():
        option = getattr(socket, name, None)
        if option is not None:
            far.setsockopt(socket.IPPROTO_TCP, option, value)


def ports(text: str) -> Iterator[int]:
    """The ports of ``2000-2010,3000``; 0, which stands for any, if the text is empty.

    Examples
    --------
    >>> list(ports("2000-2002,3000")), list(ports(""))
    ([2000, 2001, 2002, 3000], [0])
    """
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first or 0), int(last or first or 0) + 1)


def _listener(addresses: Sequence[str]) -> socket.socket | None:
    # one of several addresses may be the only one that the machine can reach
    own = addresses[0] if len(addresses) == 1 else ""
    for port in ports(os.environ.get(PORTS, "")):
        with suppress(OSError):
            return socket.create_server((own, port), backlog=8)
    return None


def machine_of(words: Sequence[str], machines: Sequence[str]) -> str:
    """The machine for which a command line of ssh is; empty if it is none of those.

    Parameters
    ----------
    words
        The command line: options, the machine as Open MPI spells it, which leaves domains out, and the daemon's command.
    machines
        The names of the machines.

    Examples
    --------
    >>> machine_of(["ssh", "-x", "node2", "/bin/prted", "--daemonize"], ["node1.lan", "node2.lan"])
    'node2.lan'
    """
    known = {spelling: name for name in machines for spelling in ({name} if name[:1].isdigit() else {name, name.partition(".")[0]})}
    daemon = next((k for k, word in enumerate(words) if "prted" in word), len(words))
    return next((known[word] for word in reversed(words[:daemon]) if word in known), "")


def main(words: Sequence[str]) -> int:
    """Start a daemon, and relay until the job is over. The status is that of ssh if no daemon has connected, else 0.

    Parameters
    ----------
    words
        The command line of ssh.
    """
    found = next(filter(None, map(ADDRESS.search, words)), None)
    addresses = [] if found is None else found["hosts"].split(",")
    listener = _listener(addresses) if addresses else None
    if found is None or listener is None:
        why = "no port is free" if found else "Open MPI's daemons get no address"
        print(f"twofold: connections are not relayed, as {why}: if a machine is lost, the job ends", file=sys.stderr, flush=True)
        os.execvp(words[0], [*words])
    own, port = listener.getsockname()[1], int(found["port"])
    launcher = [(address, port) for address in [*addresses, "127.0.0.1"]]
    relay = Relay(listener, launcher, machine_of(words, os.environ[MACHINES].split(",")), os.environ[FOLDER])
    parent, ssh = os.getppid(), subprocess.Popen([ADDRESS.sub(rf"\g<name>\g<hosts>:{own}\g<masks>", word) for word in words])
    signal.signal(signal.SIGTERM, lambda *_: relay.has_ended.set())
    while not relay.has_ended.wait(4 * EVERY) and os.getppid() == parent:
        status = ssh.poll()
        if status and not relay.is_up:
            return status if status > 0 else 128 - status
        relay.cut_silent()
        if relay.is_lost.is_set():
            ssh.terminate()
    with suppress(subprocess.TimeoutExpired):
        ssh.wait(0 if relay.is_lost.is_set() else LEAVE)
    ssh.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

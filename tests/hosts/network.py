"""`Network`: carries IP packets between the TUN devices of hosts, and delays, loses, reorders or drops them by rules."""

from __future__ import annotations

import heapq
import os
import random
import select
import socket
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

#: Largest packet, and the bytes that wait for a slow link before it drops packets.
MTU, QUEUE = 9000, 1 << 20


class Link(NamedTuple):
    """How packets go from one host to another.

    Attributes
    ----------
    delay
        Seconds that a packet takes.
    loss, reordered
        The share of packets that are lost, and the share that is delayed by another 5 ms, so that later ones overtake them.
    rate
        Bytes per second; 0 for no limit.
    is_cut
        Whether all packets are lost.
    ports
        If not empty, TCP packets from or to other ports are lost: a firewall.
    """

    delay: float = 0.0
    loss: float = 0.0
    reordered: float = 0.0
    rate: float = 0.0
    is_cut: bool = False
    ports: tuple[int, ...] = ()

    def admits(self, packet: bytes) -> bool:
        """Whether the link's firewall lets a packet through."""
        if not self.ports or packet[9] != socket.IPPROTO_TCP:
            return not self.is_cut
        start = (packet[0] & 15) * 4
        both = (int.from_bytes(packet[start + k : start + k + 2], "big") for k in (0, 2))
        return not self.is_cut and any(port in self.ports for port in both)


class Network:
    """A network of hosts.

    Parameters
    ----------
    devices
        The file descriptor of each host's TUN device, by its address.
    seed
        Of the losses.
    """

    def __init__(self, devices: dict[str, int], seed: int = 0) -> None:
        self._devices = {socket.inet_aton(address): device for address, device in devices.items()}
        self._links: dict[tuple[bytes, bytes], Link] = {}
        #: When each slow link has sent what it was given.
        self._free: dict[tuple[bytes, bytes], float] = {}
        self._random = random.Random(seed)
        #: Packets on their way: when they arrive, their number, the device and the packet.
        self._flying: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._carry, name="network", daemon=True)
        self._thread.start()

    def set(self, sources: Iterable[str], targets: Iterable[str], link: Link, *, both_ways: bool = True) -> None:
        """Let packets between hosts go by a link from now on."""
        for a in sources:
            for b in targets:
                source, target = socket.inet_aton(a), socket.inet_aton(b)
                self._links[source, target] = link
                if both_ways:
                    self._links[target, source] = link

    def close(self) -> None:
        """Stop, and close the devices."""
        self._stopped.set()
        self._thread.join()
        for device in self._devices.values():
            os.close(device)

    def _carry(self) -> None:
        poll = select.epoll()
        for device in self._devices.values():
            os.set_blocking(device, False)
            poll.register(device, select.EPOLLIN)
        while not self._stopped.is_set():
            wait = 0.2 if not self._flying else min(0.2, max(0.0, self._flying[0][0] - time.monotonic()))
            for device, _ in poll.poll(wait):
                self._take(device)
            now = time.monotonic()
            while self._flying and self._flying[0][0] <= now:
                _, _, device, packet = heapq.heappop(self._flying)
                _put(device, packet)
        poll.close()

    def _take(self, device: int) -> None:
        for _ in range(64):
            try:
                packet = os.read(device, MTU + 64)
            except BlockingIOError:
                return
            if packet[0] >> 4 == 4:
                self._send(packet)

    def _send(self, packet: bytes) -> None:
        place = packet[12:16], packet[16:20]
        target = self._devices.get(place[1])
        link = self._links.get(place, Link())
        if target is None or not link.admits(packet) or self._random.random() < link.loss:
            return
        now = when = time.monotonic()
        if link.rate:
            start = max(now, self._free.get(place, 0.0))
            if (start - now) * link.rate > QUEUE:
                return
            when = self._free[place] = start + len(packet) / link.rate
        when += link.delay + (0.005 if self._random.random() < link.reordered else 0.0)
        if when == now and not self._flying:
            _put(target, packet)
            return
        self._count += 1
        heapq.heappush(self._flying, (when, self._count, target, packet))


def _put(device: int, packet: bytes) -> None:
    try:
        os.write(device, packet)
    except OSError:  # the host is gone, or its queue is full: the packet is lost
        return

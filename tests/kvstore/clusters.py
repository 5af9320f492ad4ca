"""A cluster whose workers and servers are threads of the test's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twofold.kvstore.client import ServerClient
from twofold.kvstore.server_core import ServerCore
from twofold.kvstore.server_loop import serve
from twofold.kvstore.transports.inprocess import connected, run_threads


def cluster(
    program: Callable[[ServerClient], Any],
    workers: int = 2,
    servers: int = 1,
    staleness: float = 0,
    *,
    timeout: float = 20.0,
    bound: int = 8,
    **core: Any,
) -> list[Any]:
    """The results of ``program(client)`` on each worker."""
    transports = connected(workers + servers)

    def work(rank: int) -> Any:
        client = ServerClient(transports[rank], workers, timeout=timeout, bound=bound)
        try:
            return program(client)
        finally:
            client.stop()

    def run_server(rank: int) -> None:
        serve(ServerCore(workers, staleness, timeout=timeout, rank=rank, **core), transports[rank], every=0.05)

    works = [lambda rank=rank: work(rank) for rank in range(workers)]
    return run_threads(works + [lambda rank=rank: run_server(rank) for rank in range(workers, workers + servers)])[:workers]

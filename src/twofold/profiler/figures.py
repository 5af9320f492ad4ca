"""Memory usage and work counters: ``mx.profiler.memory()`` and ``mx.profiler.counters()``."""

from typing import NamedTuple

from ..backend.ledger import HAND_OFFS
from ..device import CPU, Device
from ..graph.tables import NODE_BYTES, TABLES
from ..imperative.counters import COUNTERS
from .accounts import live_arrays, nbytes_of, owner_of
from .recorder import RECORDER


class DeviceMemory(NamedTuple):
    """The memory of one device, in bytes.

    Attributes
    ----------
    live
        Live arrays, whether held by the user, gradients, recorded graphs or pending windows.
    scratch
        Scratch memory that compiled programs keep from run to run.
    peak, allocations, allocated
        Since the profiler was last started with ``profile_memory``, and only while it runs: the peak of live memory (including
        temporaries and new scratch memory of programs), the number of arrays allocated, and their bytes. None if the device was not
        tracked.
    """

    live: int
    scratch: int
    peak: int | None
    allocations: int | None
    allocated: int | None


def memory() -> dict[Device, DeviceMemory]:
    """Memory by device: live memory, and the profiler's records.

    It scans all Python objects, which takes some milliseconds.

    Returns
    -------
    dict
        Device to `DeviceMemory`; always includes the CPU.

    Examples
    --------
    >>> import twofold as mx
    >>> before = mx.profiler.memory()[mx.cpu()].live
    >>> x = mx.nd.zeros((1000,))
    >>> mx.profiler.memory()[mx.cpu()].live - before
    4000
    """
    held = list(live_arrays())  # keeps the arrays alive, so that their ids stay unique while counting
    totals: dict[tuple[Device, bool], int] = {(CPU, False): 0}
    seen = set()
    for array, device, is_scratch in held:
        owner = owner_of(array)
        if owner is not None and id(owner) not in seen:
            seen.add(id(owner))
            totals[device, is_scratch] = totals.get((device, is_scratch), 0) + nbytes_of(owner, device)
    accounts = RECORDER.accounts
    accounts.settle()
    devices = {device for device, _ in totals} | {*accounts.ledgers}
    found = {}
    for device in sorted(devices, key=lambda d: (d.device_typeid, d.device_id)):
        ledger = accounts.ledgers.get(device)
        seen_there = (None, None, None) if ledger is None else (ledger.peak, ledger.allocations, ledger.allocated)
        found[device] = DeviceMemory(totals.get((device, False), 0), totals.get((device, True), 0), *seen_there)
    return found


def counters(reset: bool = False) -> dict[str, int]:
    """Work counters.

    Always counted: operations by execution path (``inline``, ``recorded``, ``deferred``); ``windows``, and how many were ``compiled``;
    their ``kernels``, ``fused`` operations and ``donated`` buffers; writes ``in_place``, ``rebound`` or ``copied``; gradients
    ``bridged`` between tapes; ``copies`` between devices and their ``copied_bytes``; ``hand_offs`` of work to another thread; and
    ``forgotten``, how often graphs and programs that were not in use were, because they took more than the setting ``graph_memory``.
    ``graph_bytes`` is an estimate of what they take now.

    Counted while the profiler runs: ``programs``, ``operators`` and ``fused_kernels`` executed, and the bytes that the last two read
    and write (``moved_bytes``).

    Parameters
    ----------
    reset
        Whether to reset the counters.

    Returns
    -------
    dict
        Name to count.
    """
    RECORDER.fold()
    graphs = {"forgotten": TABLES.forgotten, "graph_bytes": TABLES.count * NODE_BYTES}
    found = COUNTERS.as_dict() | {"hand_offs": HAND_OFFS.count} | graphs | RECORDER.totals
    if reset:
        COUNTERS.reset()
        HAND_OFFS.count = TABLES.forgotten = 0
        RECORDER.reset_totals()
    return found

"""The tables of interned nodes, and the memory that graphs and programs take.

The intern tables are bounded: above the setting ``graph_memory``, nodes are forgotten that nothing else refers to, and if that is not
enough, programs that have not run lately. `drop_generation` empties the tables, and the program caches with them: nodes in use stay
alive, but a structure built again is then a new node, and is compiled again. So code must not rebuild a node from its parts and expect to
get an earlier one.
"""

import gc
import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

from ..assembly import fragment
from ..collector import RESTING
from ..config import SETTINGS
from ..opdef import BoundOp


class Weight:
    """The memory that a program takes, as a number of nodes; it counts while the program exists."""

    __slots__ = ("__weakref__", "nodes")

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        with TABLES.lock:  # another thread may be adding them up
            TABLES.weights.add(self)
        TABLES.count += nodes


class _Tables:
    """The intern tables, except those in bound operators, and the caches that are emptied with them."""

    def __init__(self) -> None:
        #: Inputs and constants by what they consist of.
        self.leaves: dict[object, Any] = {}
        self.constants: dict[object, Any] = {}
        #: The bound operators whose own tables (``typed``, ``inline``) have entries, so that dropping a generation finds these. Weak: the
        #: operator of a network's graph goes with the network, and takes its nodes along.
        self.bound_ops: WeakKeyDictionary[BoundOp, None] = WeakKeyDictionary()
        #: Called when the tables are emptied: they clear tables with nodes as keys.
        self.dependents: list[Callable[[], None]] = []
        #: Called then, too: they drop programs. The argument is true if all fall, false if only those that have not been used lately.
        self.programs: list[Callable[[bool], None]] = []
        #: The memory of programs that exist.
        self.weights: WeakSet[Weight] = WeakSet()
        #: Nodes in the tables, and as many for each program as take its memory. Threads count without a lock, so it may be a few too low;
        #: it only bounds the tables.
        self.count = 0
        #: How many of them were in use when the others were forgotten the last time.
        self.used = 0
        #: How often that was done.
        self.forgotten = 0
        self.generation = 0
        #: Held while a generation is dropped, and by code whose nodes must all be of one generation. Look-ups and single insertions do not
        #: take it: they rely on `dict.setdefault`, which lets one thread win.
        self.lock = threading.RLock()


TABLES = _Tables()
# a child forked while another thread holds the lock would wait for it forever
os.register_at_fork(before=TABLES.lock.acquire, after_in_parent=TABLES.lock.release, after_in_child=TABLES.lock.release)


#: Bytes of a typical node, with what upper layers keep in its cache: measured with networks and graphs of many kinds.
NODE_BYTES = 700
#: How far the tables grow above what was in use, before what is not used is forgotten. What was made since the last time counts as used,
#: so with a factor of 2 or more the tables would never shrink again.
GROWTH = 1.5


def _bound_ops() -> list[BoundOp]:
    # `keyrefs` copies the keys in one step, during which no other thread adds one
    return [bound_op for each in TABLES.bound_ops.keyrefs() if (bound_op := each()) is not None]


def _empty() -> None:
    for bound_op in _bound_ops():
        bound_op.is_listed = False
        bound_op.typed.clear()
        bound_op.inline.clear()
        bound_op.largest.clear()
    TABLES.bound_ops.clear()
    TABLES.leaves.clear()
    TABLES.constants.clear()
    for clear in TABLES.dependents:
        clear()


def list_tables_of(bound_op: BoundOp) -> None:
    """Note that a bound operator's own tables have entries."""
    TABLES.bound_ops[bound_op] = None
    bound_op.is_listed = True


def _alive(applied: list[tuple[BoundOp, ref[Any]]]) -> list[tuple[BoundOp, Any]]:
    return [(b, n) for b, r in applied if (n := r()) is not None]


def drop_generation() -> None:
    """Empty the intern tables, and the caches keyed by nodes."""
    with TABLES.lock:
        _empty()
        for drop in TABLES.programs:
            drop(True)
        TABLES.count = TABLES.used = 0
        TABLES.generation += 1


def forget_unused() -> None:
    """Forget programs that have not run lately, and the nodes that nothing refers to but the tables."""
    with TABLES.lock, RESTING:
        for drop in TABLES.programs:
            drop(False)
        _forget_nodes()
        TABLES.forgotten += 1


def _make_room() -> None:
    """Forget nodes that nothing refers to but the tables, which most are that passes made; if what is left is too much, programs too.

    A loop over many lengths of texts needs all their programs again, though each of them only after all others.
    """
    with TABLES.lock, RESTING:
        _forget_nodes()
    if TABLES.used * NODE_BYTES > SETTINGS.graph_memory:
        # What has cycles, such as a network that was dropped, may hold the rest. Not under the lock: finalizers may wait for threads.
        gc.collect()
        forget_unused()
    else:
        TABLES.forgotten += 1


def _forget_nodes() -> None:
    """Empty the tables of nodes that nothing else refers to; the caller holds the lock."""
    applied = [(b, ref(n)) for b in _bound_ops() for key, n in list(b.typed.items()) if key == n.inputs]
    leaves = [(key, ref(n)) for key, n in list(TABLES.leaves.items())]
    constants = [(key, ref(n)) for key, n in list(TABLES.constants.items())]
    _empty()  # which frees what is not used: graphs and programs have no reference cycles
    # what is left is used: by an array, a symbol, a block or a program
    used = _alive(applied)
    for bound_op in {id(b): b for b, _ in used}.values():
        list_tables_of(bound_op)
    tables = [(b.typed, n.inputs, n) for b, n in used]
    tables += [(TABLES.leaves, key, n) for key, r in leaves if (n := r()) is not None]
    tables += [(TABLES.constants, key, n) for key, r in constants if (n := r()) is not None]
    # another thread may have interned an equal node meanwhile: then there are two, as after a generation is dropped
    kept = [table.setdefault(key, n) is n for table, key, n in tables]
    if not all(kept):
        TABLES.generation += 1
    TABLES.count = TABLES.used = len(tables) + sum(weight.nodes for weight in TABLES.weights)


@fragment
def bound_tables() -> None:
    """Forget what is not used if the tables have grown past the limit. Called where a tape or window begins, or an operation runs first."""
    if TABLES.count * NODE_BYTES > SETTINGS.graph_memory and TABLES.count > GROWTH * TABLES.used:
        _make_room()

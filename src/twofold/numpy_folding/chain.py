"""Pending operations, and how they are computed: one alone by NumPy, a chain block by block (`blocks`) or as one program (`compiled`).

A chain is a graph of `ChainNode` objects over memory. A node refers to the nodes that it reads, and only weakly to the folding array that
will get its content. When a chain is computed, the nodes that still have an array are its results, and the others are never stored.

A thread that computes a chain has claimed its nodes, in `_claimed`; other threads wait for these nodes only. A thread holds `LOCK` while it
claims nodes and while it stores results, never in between.
"""

import atexit
import os
import warnings
from collections.abc import Sequence
from operator import attrgetter
from threading import Condition, get_ident
from typing import final
from weakref import ref

import numpy as np

from . import error_state
from .blocks import Texts, computed, pays_alone
from .error_state import State
from .memory import LOCK, ArrayOperand, Memory, Operand, View, array_of, nobody
from .rules import ArrayKind, Rule
from .sites import PATHS, Site

#: A chain is computed when this many operations have been issued since its first one.
LONGEST = 64
#: The number of the last operation that waited.
issued = 0
#: The nodes that are being computed, with the computing thread. `LOCK` protects it.
_claimed: dict["ChainNode", int] = {}
_changed = Condition(LOCK)
#: Operations that may warn, by number, until they are computed. The strong references keep them alive after the program has dropped
#: their results, so that their warnings still come.
_watched: dict[int, "ChainNode"] = {}
MOST_WATCHED = 64
by_number = attrgetter("number")


@final
class ChainNode:
    """An operation that waits.

    Attributes
    ----------
    rule, operands
        The function and its operands. The operands are empty once the result is computed, so that the node does not keep their memory.
    kind
        Shape and dtype of the result.
    site, state
        Where it was issued, and under which error state.
    number
        The order in which operations were issued.
    owner
        A weak reference to the folding array with this content. A node without an owner is computed only if something else needs it.
    first
        The lowest number in its chain.
    result
        The result, once it is computed and stored.
    users
        Weak references to the pending operations that have it as an operand.
    has_warned
        Whether its floating-point errors were reported. A node that is not stored may be computed twice, but warns once, as in NumPy.
    """

    __slots__ = (
        "__weakref__", "first", "has_warned", "kind", "number", "operands", "owner", "result", "rule", "site", "state", "users",
    )  # fmt: skip

    def __init__(self, rule: Rule, operands: tuple[Operand, ...], kind: ArrayKind, where: Site, state: State) -> None:
        """`LOCK` is held."""
        self.rule, self.operands, self.kind, self.site, self.state = rule, operands, kind, where, state
        global issued
        self.number = first = issued = issued + 1
        self.owner: ref[View] = nobody
        self.result: ArrayOperand | None = None
        self.users: list[ref[ChainNode]] = []
        self.has_warned = False
        reference: ref[ChainNode] = ref(self)
        for x in operands:
            if type(x) is ChainNode:
                first = min(first, x.first)
                x.users.append(reference)
            # The memory computes its readers before it is written or handed out, so this node must be among them.
            elif type(x) is ArrayOperand and x.memory is not None:
                pending = x.memory.pending
                if len(pending) >= x.memory.limit:
                    pending = x.memory.forget_what_has_read()
                pending.append(reference)
        self.first = first

    def live_consumer(self) -> "ChainNode | None":
        """The newest result that needs this operation, or nearly the newest; None if no result needs it. `LOCK` is held."""
        for reference in reversed(self.users):
            user = reference()
            if user is not None and user.result is None:
                found = user.live_consumer()
                if found is not None:
                    return found
        return None if self.owner() is None else self

    def compute(self) -> None:
        """Compute it, with all other results of its chain that folding arrays wait for."""
        if _watched:
            compute_unread()
        _compute([self], True)

    def give(self, found: np.ndarray) -> None:
        """Take the result. `LOCK` is held."""
        assert (found.shape, found.dtype) == self.kind, (found.shape, found.dtype, self.kind)
        memory = Memory(found)
        memory.pending = [*self.users]  # the operations that were to read the node now read this memory
        self.result = ArrayOperand(found, memory, self.site)
        self.operands, self.users = (), []
        owner = self.owner()
        if owner is not None:
            _give_to(owner, self.result, memory)

    def hand_over(self, array: View) -> None:
        """Give the result to the folding array if it has none: the cycle collector clears `owner` before it calls finalizers."""
        with LOCK:
            result = self.result
            if array.pending is self and result is not None and result.memory is not None:
                _give_to(array, result, result.memory)


def _give_to(array: View, result: ArrayOperand, memory: Memory) -> None:
    array.memory = memory
    memory.add(array)
    array.operand = result
    array.array = result.array
    array.pending = None  # last: another thread reads `array` first; if it finds neither, it knows that the array is changing


def _compute(roots: Sequence[ChainNode], stored: bool) -> None:
    """Compute operations of one shape. If not ``stored``, no code can read the results: the operations run for their warnings alone."""
    while (chain := _claim(roots, stored)) is not None:
        if isinstance(chain, ChainNode):  # an operand of another shape, which is a separate chain
            _compute([chain], True)
            continue
        results: list[np.ndarray] = []
        try:
            results = chain.compute()
        finally:
            # Even after an error the claims end, or other threads would wait for these nodes forever.
            with LOCK:
                for node in chain.order:
                    _claimed.pop(node, None)
                    _watched.pop(node.number, None)
                for node, array in zip(chain.results, results, strict=False):
                    if node.result is None:
                        node.give(array)
                _changed.notify_all()
        chain.report()  # last and without the lock: it may raise, or call the program's handler
        return


def _claim(roots: Sequence[ChainNode], stored: bool) -> "Chain | ChainNode | None":
    """Claim the nodes of some results. Returns their chain, or a node that must be computed first, or None if all results exist."""
    me = get_ident()
    with LOCK:
        (root, *others) = roots
        # A single operation that reads and feeds no other, which is the usual case, needs no search.
        if not others and root.first == root.number and not root.users and root.result is None and root not in _claimed:
            _claimed[root] = me
            return Chain([root], [root] if stored or root.owner() is not None else [])
        while True:
            order = _order(roots)
            if not order:
                return None
            shape = roots[0].kind[0]
            taken = False
            for node in order:
                if node.kind[0] != shape:
                    return node
                # A signal handler may compute what its own thread has claimed; waiting for itself would be a deadlock.
                taken = taken or _claimed.get(node, me) != me
            if not taken:
                _claimed.update(dict.fromkeys(order, me))
                return Chain(order, [p for p in order if p.owner() is not None or (stored and p in roots)])
            _changed.wait()  # then look again: the other thread may have computed some of these nodes


def _order(roots: Sequence[ChainNode]) -> list[ChainNode]:
    """The nodes to compute, operands first."""
    waiting = [p for p in roots if p.result is None]
    found = set(waiting)
    asked = found.copy()
    while waiting:
        node = waiting.pop()
        near = list(node.operands)
        # The value exists only within this chain, block by block, so its other users are computed in this chain too.
        if node.owner() is None and node not in asked:
            for reference in node.users:
                user = reference()
                if user is not None and user.result is None and user not in found:
                    result = user.live_consumer()
                    # A user of another shape is not part of this chain. It computes the value again.
                    if result is not None and result.kind[0] == node.kind[0]:
                        near.append(result)
        for x in near:
            if type(x) is ChainNode and x.result is None and x not in found:
                found.add(x)
                waiting.append(x)
    return sorted(found, key=by_number)  # operands are issued before the operations that read them


class Chain:
    """Operations that are computed together.

    Attributes
    ----------
    order
        All operations, each after its operands; all of one shape.
    results
        The operations whose results are stored, in the same order.
    texts
        Floating-point errors as NumPy logs them, by position in ``order``.
    """

    __slots__ = ("order", "results", "texts")

    def __init__(self, order: list[ChainNode], results: list[ChainNode]) -> None:
        self.order, self.results = order, results
        self.texts: Texts = {}

    def compute(self) -> list[np.ndarray]:
        """The results."""
        order = self.order
        if len(order) == 1:
            PATHS["single"] += 1
            (node,) = order
            node.site.alone += 1
            if not pays_alone(node.rule, node.kind[0]):
                found, texts = error_state.logged_call(node.rule.numpys, [value_of(x) for x in node.operands], {})
                if texts:
                    self.texts[0] = set(texts)
                return [found] if self.results else []
        else:
            for node in order:
                node.site.joined += 1
                for x in node.operands:
                    if type(x) is ArrayOperand and x.site is not None:
                        x.site.joined += 1
            # A chain without results runs for its warnings alone, and a program without outputs would compute nothing.
            if order[-1].site.is_hot and self.results:
                from . import compiled  # loads the graph, the compiler and LLVM

                if all(compiled.has_program(p.rule.numpys, p.operands, p.state.is_quiet) for p in order):
                    PATHS["program"] += 1
                    return compiled.computed(order, self.results)
            PATHS["blocks"] += 1
        found, self.texts = computed(order, self.results)
        return found

    def report(self) -> None:
        """Warn as NumPy would have done, in the order of the program."""
        for k in sorted(self.texts):
            node = self.order[k]
            if not node.has_warned:
                node.has_warned = True
                error_state.report_late(self.texts[k], node.site, node.state)


def watch(node: ChainNode) -> None:
    """Note an operation that may warn."""
    _watched[node.number] = node
    if len(_watched) > MOST_WATCHED:
        compute_unread()
        # The remaining results can still be read. The oldest are computed early, so that the table cannot grow without bound.
        while len(_watched) > MOST_WATCHED:
            next(iter(_watched.values())).compute()


def compute_unread() -> None:
    """Compute the watched operations whose results no code can read any more, for their warnings alone.

    A loop that drops a result in each iteration leaves many such operations. Successive operations of one shape are computed in one pass
    that stores no result. Computed one by one, each would take a claim, a pass over its operands and an array for a result that is never
    read.
    """
    groups: list[list[ChainNode]] = []
    with LOCK:
        for node in list(_watched.values()):
            if node.result is None and (node.live_consumer() if node.users else node.owner()) is None:
                del _watched[node.number]
                if not groups or groups[-1][0].kind[0] != node.kind[0]:
                    groups.append([])
                groups[-1].append(node)
    for k, nodes in enumerate(groups):
        try:
            _compute(nodes, False)
        except BaseException:
            # Memory may not suffice, for example. The next read reports the rest.
            _watched.update((node.number, node) for rest in groups[k:] for node in rest if not node.has_warned)
            raise


@atexit.register
def compute_watched() -> None:
    """Compute the operations that may warn, at the end of the program."""
    for node in list(_watched.values()):
        node.compute()
    is_usual = error_state.warnings_may_come_late()
    with warnings.catch_warnings():
        if not is_usual:  # a warning that would end the program is one of an operation that came before
            warnings.simplefilter("default")
        error_state.report_postponed()


def value_of(x: Operand) -> np.ndarray | float:
    """An operand that is already computed, for NumPy."""
    return x if isinstance(x, (float, int)) else array_of(x)


def _before_fork() -> None:
    """Wait until no other thread computes: a thread that has claimed nodes does not exist in the child, which would wait forever."""
    LOCK.acquire()
    me = get_ident()
    while any(thread != me for thread in _claimed.values()):
        _changed.wait()


# The lock is held over the fork, so that the child starts with tables that no thread was changing.
os.register_at_fork(before=_before_fork, after_in_parent=LOCK.release, after_in_child=LOCK.release)

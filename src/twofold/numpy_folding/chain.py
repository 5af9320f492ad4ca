"""ChainNode operations, and how they are computed: one alone by NumPy, a chain block by block (`blocks`) or as one program (`compiled`).

A chain is a graph of `ChainNode` nodes over memory. Its nodes refer to those that they read, and only weakly to the folding arrays whose
contents they are: when a chain is computed, the nodes that still have an array are its results, and the others are never stored.

A thread that computes a chain has claimed its nodes, in `_claimed`; other threads wait for these only. `LOCK` is held while nodes are
claimed and results given, never in between.
"""

import atexit
import os
from threading import Condition, get_ident
from typing import Any, final
from weakref import ref

import numpy as np

from . import error_state
from .blocks import ChainStep, computed, pays_alone
from .error_state import State
from .memory import LOCK, Memory, nobody
from .rules import Rule
from .sites import PATHS, Site

#: Operations issued since the first of a chain from which it is computed before another joins.
LONGEST = 64
Kind = tuple[tuple[int, ...], np.dtype[Any]]
_issued = 0
#: The nodes that are being computed, and by which thread.
_claimed: dict["ChainNode", int] = {}
_changed = Condition(LOCK)
#: Operations that may warn, by number, until they are computed: so their warnings come even if nobody reads the results.
_watched: dict[int, "ChainNode"] = {}
MOST_WATCHED = 64


def issued() -> int:
    """The number of the last operation that waited."""
    return _issued


class ArrayOperand:
    """An operand that is there: an array, who looks at its memory (None for a copy that the operation holds), and where it was made."""

    __slots__ = ("array", "memory", "site")

    def __init__(self, array: np.ndarray, memory: Memory | None = None, where: Site | None = None) -> None:
        self.array, self.memory, self.site = array, memory, where


@final
class ChainNode:
    """An operation that waits.

    Attributes
    ----------
    rule, operands
        What is computed: of `ArrayOperand`, `ChainNode` and numbers. The operands are empty once it is computed.
    kind
        Shape and dtype of the result.
    site, state
        Where it was issued, and under which error state.
    number
        The larger, the later it was issued.
    owner
        A weak reference to the folding array with this content.
    first
        The lowest number in its chain.
    source
        The result, once it is computed.
    users
        Weak references to the pending operations that have it as an operand.
    """

    __slots__ = ("__weakref__", "first", "kind", "number", "operands", "owner", "rule", "site", "source", "state", "users")

    def __init__(self, rule: Rule, operands: tuple[Any, ...], kind: Kind, where: Site, state: State) -> None:
        """`LOCK` is held."""
        self.rule, self.operands, self.kind, self.site, self.state = rule, operands, kind, where, state
        global _issued
        self.number = _issued = _issued + 1
        self.owner: Any = nobody
        self.source: ArrayOperand | None = None
        self.users: list[Any] = []
        first = self.number
        reference = ref(self)
        for x in operands:
            if type(x) is ChainNode:
                first = min(first, x.first)
                x.users.append(reference)
            elif type(x) is ArrayOperand and x.memory is not None:
                x.memory.read_by(reference)
        self.first = first

    def live_consumer(self) -> "ChainNode | None":
        """The result that needs this operation and was issued last, or nearly; None if nobody needs it. `LOCK` is held."""
        for reference in reversed(self.users):
            user = reference()
            if user is not None and user.source is None:
                found = user.live_consumer()
                if found is not None:
                    return found
        return None if self.owner() is None else self

    def compute(self) -> None:
        """Compute it, with whatever else its chain makes that a folding array waits for."""
        if _watched:
            compute_unread()
        self._compute()

    def _compute(self) -> None:
        while (chain := self._claim()) is not None:
            if isinstance(chain, ChainNode):  # of another shape
                chain._compute()
                continue
            results: list[np.ndarray] = []
            try:
                results = chain.compute()
            finally:
                with LOCK:
                    for pending in chain.order:
                        _claimed.pop(pending, None)
                        _watched.pop(pending.number, None)
                    for pending, array in zip(chain.results, results, strict=False):
                        if pending.source is None:
                            pending.give(array)
                    _changed.notify_all()
            chain.report()

    def _claim(self) -> "Chain | ChainNode | None":
        """Claim what is to be computed for this result; or what must be computed before; None if it is there."""
        me = get_ident()
        with LOCK:
            while self.source is None:
                order = self._order()
                for pending in order:
                    if pending.kind[0] != self.kind[0]:
                        return pending
                if _claimed and any(_claimed.get(pending, me) != me for pending in order):
                    _changed.wait()
                    continue
                _claimed.update(dict.fromkeys(order, me))
                return Chain(order, [p for p in order if p is self or p.owner() is not None])
        return None

    def _order(self) -> "list[ChainNode]":
        """What is to be computed, operands first: also what else needs an operation that is not a result, lest it be computed twice."""
        found: set[ChainNode] = {self}
        waiting: list[ChainNode] = [self]
        while waiting:
            pending = waiting.pop()
            near = [x for x in pending.operands if type(x) is ChainNode and x.source is None]
            if pending is not self and pending.owner() is None:
                users = [u for r in pending.users if (u := r()) is not None and u.source is None and u not in found]
                results = [u.live_consumer() for u in users]
                near += [r for r in results if r is not None and r.kind[0] == self.kind[0]]
            for x in near:
                if x not in found:
                    found.add(x)
                    waiting.append(x)
        return sorted(found, key=lambda p: p.number)

    def give(self, found: np.ndarray) -> None:
        """Take the result. `LOCK` is held."""
        assert (found.shape, found.dtype) == self.kind, (found.shape, found.dtype, self.kind)
        memory = Memory(found)
        memory.pending = self.users
        self.source = ArrayOperand(found, memory, self.site)
        self.operands, self.users = (), []
        owner = self.owner()
        if owner is not None:
            self._give_to(owner, self.source)

    def hand_over(self, array: Any) -> None:
        """Give the result to the folding array, if that has not got it: the cycle collector clears `owner` before it calls finalizers."""
        with LOCK:
            if array.pending is self and self.source is not None:
                self._give_to(array, self.source)

    def _give_to(self, array: Any, source: ArrayOperand) -> None:
        assert source.memory is not None
        array.memory = source.memory
        source.memory.add(array)
        array.source = source
        array.array = source.array
        array.pending = None


class Chain:
    """What is computed at once.

    Attributes
    ----------
    order
        All operations, each after its operands; all of one shape.
    results
        Those whose results are stored.
    texts
        Floating-point errors, as NumPy logs them, by positions in the order.
    """

    __slots__ = ("order", "results", "texts")

    def __init__(self, order: list[ChainNode], results: list[ChainNode]) -> None:
        self.order, self.results = order, results
        self.texts: dict[int, set[str]] = {}

    def compute(self) -> list[np.ndarray]:
        """The results."""
        order = self.order
        if len(order) == 1:
            PATHS["single"] += 1
            (pending,) = order
            pending.site.alone += 1
            if not pays_alone(pending.rule, pending.kind[0]):
                found, texts = error_state.logged_call(pending.rule.numpys, [array_of(x) for x in pending.operands], {})
                if texts:
                    self.texts[0] = set(texts)
                return [found]
        else:
            for pending in order:
                pending.site.joined += 1
                for x in pending.operands:
                    if type(x) is ArrayOperand and x.site is not None:
                        x.site.joined += 1
            if order[-1].site.is_hot:
                from . import compiled  # loads the graph, the compiler and LLVM

                if all(compiled.has_program(p.rule.numpys, p.operands, p.state.is_quiet) for p in order):
                    PATHS["program"] += 1
                    return compiled.computed(self._steps(), self._dead())
            PATHS["blocks"] += 1
        found, self.texts = computed(self._steps())
        return found

    def _steps(self) -> list[ChainStep]:
        steps: dict[ChainNode, ChainStep] = {}
        for p in self.order:
            operands = [steps[x] if type(x) is ChainNode and x in steps else array_of(x) for x in p.operands]
            steps[p] = ChainStep(p.rule, operands, p.kind, p in self.results)
        return list(steps.values())

    def _dead(self) -> list[np.ndarray]:
        """The arrays whose memory a result may take: nobody looks at it, and nothing else reads it."""
        sources = {id(x): x for p in self.order for y in p.operands if (x := array_operand_of(y)) is not None}
        memories = [x.memory for x in sources.values()]
        return [
            x.array
            for x in sources.values()
            if x.memory is not None
            and x.array is x.memory.owner
            and not x.memory.is_seen()
            and memories.count(x.memory) == 1
            and all(self._is_over(reader) for reader in x.memory.readers())
            and x.array.flags.writeable
        ]

    def _is_over(self, reader: ChainNode) -> bool:
        """Whether nobody has to compute an operation again after this chain."""
        if reader not in self.order:
            return False
        return reader in self.results or all(user in self.order for r in reader.users if (user := r()) is not None)

    def report(self) -> None:
        """Warn as NumPy would have done, in the order of the program."""
        for k in sorted(self.texts):
            error_state.report(self.texts[k], self.order[k].site, self.order[k].state)


def watch(pending: ChainNode) -> None:
    """Note an operation that may warn."""
    _watched[pending.number] = pending
    if len(_watched) > MOST_WATCHED:
        compute_unread()
        while len(_watched) > MOST_WATCHED:
            next(iter(_watched.values())).compute()


def compute_unread() -> None:
    """Compute what may warn and nobody can read any more."""
    for pending in list(_watched.values()):
        with LOCK:
            is_unread = pending.source is None and pending.live_consumer() is None
            if is_unread:
                _watched.pop(pending.number, None)
        if is_unread:
            pending._compute()


@atexit.register
def compute_watched() -> None:
    """Compute what may warn, at the end of the program."""
    for pending in list(_watched.values()):
        pending.compute()


def array_operand_of(x: Any) -> ArrayOperand | None:
    """The array that an operand is, if it is there."""
    return x if type(x) is ArrayOperand else x.source if type(x) is ChainNode else None


def array_of(x: Any) -> Any:
    """An operand that is there, for NumPy."""
    source = array_operand_of(x)
    return x if source is None else source.array


def _before_fork() -> None:
    """No other thread may be computing: it would not exist in the child, which would wait for it."""
    LOCK.acquire()
    me = get_ident()
    while any(thread != me for thread in _claimed.values()):
        _changed.wait()


os.register_at_fork(before=_before_fork, after_in_parent=LOCK.release, after_in_child=LOCK.release)

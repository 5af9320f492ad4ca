"""Pending operations and how they are computed: one alone by NumPy, a chain as one program.

A chain is a graph of `Pending` nodes over memory. Its nodes refer to those that they read, and only weakly to the folding arrays whose
contents they are: when a chain runs, the nodes that still have an array are its results, and the others are never made. `LOCK` is held
by every function here.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from ..device import CPU
from ..dtype import NAME_OF
from ..graph.build import apply
from ..graph.ir import Leaf, Node, bound_tables, leaf, post_order
from ..imperative.cell import HOST
from ..imperative.scalars import FLOAT_LEAVES, scalar_node
from ..program.cache import PROGRAMS, Entry
from ..program.compile import Program
from . import error_state
from .memory import Memory, new_memory, nobody
from .rules import Rule
from .sites import PATHS, Site

#: Operations of a chain from which it is computed before another joins.
LONGEST = 48
Kind = tuple[tuple[int, ...], np.dtype[Any]]


class Source:
    """An operand that is there: an array, who looks at its memory (None for a copy that the operation holds), and where it was made."""

    __slots__ = ("array", "memory", "site")

    def __init__(self, array: np.ndarray, memory: Memory | None = None, where: Site | None = None) -> None:
        self.array, self.memory, self.site = array, memory, where


class Pending:
    """An operation that waits.

    Attributes
    ----------
    rule, operands
        What is computed: of `Source`, `Pending` and numbers. The operands are empty once it is computed.
    kind
        Shape and dtype of the result.
    owner
        A weak reference to the folding array with this content.
    memories
        Those that the chain reads.
    length
        The number of operations in the chain.
    source
        The result, once it is computed.
    users
        Weak references to the pending operations that have it as an operand.
    """

    __slots__ = ("__weakref__", "kind", "length", "memories", "operands", "owner", "rule", "site", "source", "users")

    def __init__(self, rule: Rule, operands: tuple[Any, ...], kind: Kind, where: Site) -> None:
        self.rule, self.operands, self.kind, self.site = rule, operands, kind, where
        self.owner: Any = nobody
        self.source: Source | None = None
        self.users: list[Any] = []
        memories: tuple[Memory, ...] = ()
        length = 1
        reference = ref(self)
        for x in operands:
            if type(x) is Pending:
                length += x.length
                x.users.append(reference)
                memories = x.memories if not memories else memories + tuple([m for m in x.memories if m not in memories])
            elif type(x) is Source and x.memory is not None and x.memory not in memories:
                memories = (*memories, x.memory)
        self.memories, self.length = memories, length
        for memory in memories:
            memory.read_by(reference)

    @property
    def is_single(self) -> bool:
        """Whether nothing that it reads is pending."""
        return all(type(x) is not Pending or x.source is not None for x in self.operands)

    def compute(self) -> None:
        """Compute it, with whatever else its chain makes that a folding array waits for."""
        if self.source is not None:
            return
        if self.is_single:
            PATHS["single"] += 1
            self.site.alone += 1
            self.give(self.by_numpy([array_of(x) for x in self.operands]))
        elif self.site.is_hot:
            PATHS["chain"] += 1
            _Run(self).results()
        else:
            PATHS["steps"] += 1
            self._by_steps()

    def by_numpy(self, operands: list[Any], out: np.ndarray | None = None) -> np.ndarray:
        """NumPy's result, written to an array if one is given."""
        fn = self.rule.numpys
        if out is None and type(fn) is np.ufunc:
            out = new_memory(*self.kind)
        return error_state.call(fn, operands, {} if out is None else {"out": out}, self.site)

    def _by_steps(self) -> None:
        """Compute the chain as NumPy would: a result takes the memory of a temporary operand."""
        order: dict[Pending, int] = {}  # with how often each is an operand
        self._list(order)
        temporary: dict[Pending, np.ndarray] = {}
        for pending in order:
            pending.site.joined += 1
            out, operands = None, []
            for x in pending.operands:
                if type(x) is Pending and x.source is None:
                    array = temporary[x]
                    if order[x] == 1 and x.kind == pending.kind and type(pending.rule.numpys) is np.ufunc:
                        out = array
                    operands.append(array)
                else:
                    operands.append(array_of(x))
            found = pending.by_numpy(operands, out)
            if pending is self or pending.owner() is not None:
                pending.give(found)
            else:
                temporary[pending] = found

    def _list(self, order: "dict[Pending, int]") -> None:
        """Add what is to be computed, operands first."""
        for x in self.operands:
            if type(x) is Pending and x.source is None:
                if x not in order:
                    x._list(order)
                order[x] += 1
        order[self] = 0

    def give(self, found: np.ndarray) -> None:
        """Take the result."""
        assert (found.shape, found.dtype) == self.kind, (found.shape, found.dtype, self.kind)
        memory = Memory(found)
        self.source = Source(found, memory, self.site)
        self.operands = self.memories = ()
        owner = self.owner()
        if owner is not None:
            owner.memory = memory
            memory.add(owner)
            owner.source = self.source
            owner.array = found
            owner.pending = None
        self._tell(memory)

    def _tell(self, memory: Memory) -> None:
        """Note that what depends on this operation reads its result from now on."""
        waiting = self.users
        told = set()
        while waiting:
            reference = waiting.pop()
            user = reference()
            if user is not None and user.source is None and user not in told:
                told.add(user)
                user.memories += (memory,)
                memory.read_by(reference)
                waiting.extend(user.users)


def array_of(x: Any) -> Any:
    """An operand that is there, for NumPy."""
    t = type(x)
    return x.source.array if t is Pending else x.array if t is Source else x


class _Known(Entry):
    """The program of a chain's structure, and the inputs that it reads."""

    def __init__(self, outputs: Sequence[Node], leaves: Sequence[Leaf], dead: Sequence[Node]) -> None:
        unique = list(dict.fromkeys(outputs))
        held = [n for n in post_order(unique, lambda n: n.inputs) if not isinstance(n, Leaf)]
        used = set(post_order(unique, lambda n: n.inputs))
        self.reads = [n for n in leaves if n in used]
        self.program = Program(unique, self.reads, HOST, donated=list(dead), boundaries=held, device=CPU)
        self.where = [unique.index(n) for n in outputs]


class _Run:
    """One computation of a chain: its nodes as nodes of a graph, whose leaves are numbered in the order in which they are met."""

    def __init__(self, target: Pending) -> None:
        bound_tables()
        self.nodes: dict[Pending, Node] = {}
        self.data: dict[Any, Any] = {}
        self.sources: dict[int, tuple[Source, Node]] = {}
        self._enter(target)
        self.wanted = [p for p in self.nodes if p is target or p.owner() is not None]

    def _enter(self, pending: Pending) -> Node:
        nodes: list[Any] = []
        for x in pending.operands:
            t = type(x)
            if t is float:
                node = FLOAT_LEAVES[~len(self.data)]
                self.data[node] = x
            elif t is Pending and x.source is None:
                node = self.nodes.get(x) or self._enter(x)
            elif t is int:
                node = scalar_node(x, ~len(self.data))
                if isinstance(node, Leaf):
                    self.data[node] = x
            else:
                node = self._source(x if t is Source else x.source)
            nodes.append(node)
        sig, inputs = pending.rule.sig, tuple(nodes)
        pending.site.joined += 1
        self.nodes[pending] = found = sig.typed.get(inputs) or apply(sig, inputs)
        return found

    def _source(self, source: Source) -> Node:
        array = source.array
        found = self.sources.get(id(array))
        if found is not None:
            return found[1]
        if source.site is not None:
            source.site.joined += 1
        node = leaf(~len(self.data), array.shape, NAME_OF[array.dtype])
        self.data[node] = array
        self.sources[id(array)] = source, node
        return node

    def _dead(self) -> tuple[Node, ...]:
        """The leaves whose memory a result may take: nobody looks at it, and nothing else reads it."""
        found = []
        memories = [source.memory for source, _ in self.sources.values()]
        for source, node in self.sources.values():
            memory = source.memory
            if (
                memory is not None
                and source.array is memory.owner
                and not memory.is_seen()
                and memories.count(memory) == 1
                and all(p in self.nodes or p.source is not None for p in memory.readers())
                and source.array.flags.writeable
            ):
                found.append(node)
        return tuple(found)

    def results(self) -> None:
        """Run the program and hand out its results."""
        outputs, dead = tuple([self.nodes[p] for p in self.wanted]), self._dead()
        known = PROGRAMS.get_or(("chain", outputs, dead), partial(_Known, outputs, list(self.data), dead))
        arrays = [self.data[n] for n in known.reads]
        found = known.program.run(arrays)
        taken = {id(self.data[n]) for n in dead}
        kept = [a for a in arrays if type(a) is np.ndarray and id(a) not in taken]
        for place, pending in zip(known.where, self.wanted, strict=True):
            array = found[place]
            # what is simplified to an operand is the operand's own, and two results of one structure are one array
            if any(array is a for a in kept) or not array.flags.c_contiguous:
                array = array.copy()
            kept.append(array)
            pending.give(array)

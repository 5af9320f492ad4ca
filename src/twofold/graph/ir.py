"""The one program representation: typed nodes, interned.

Two applications of the same operator, parameters and input nodes are the same object, so a node *is* its structural key:
equality is identity, common sub-expressions are merged on construction, types are inferred once per structure, and
``cache[node]`` finds a program. A node has no data and no run; upper layers keep what they derive in its one ``cache`` slot.

Intern tables are bounded: when they hold more than `INTERN_LIMIT` nodes, `drop_generation` forgets them all (the caches of
programs with them). Nodes in use live on; a structure met again is compiled again. Nothing may look a node up by its parts
in order to find one that was made earlier.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from ..dtype import ITEMSIZE
from ..opdef.spec import Sig

INTERN_LIMIT = 200_000
AnyNode = TypeVar("AnyNode")


class Node:
    """A typed application of an operator, a leaf (an input of the program) or a constant (a Python scalar). Never changed.

    Attributes
    ----------
    sig, inputs
        What is applied to which nodes (None for an optional input left out); ``sig`` is None for leaves and constants.
    shape, dtype
        Of the result; of an application with several results see ``parts``.
    parts
        One node per result; ``(self,)`` if there is one.
    body
        For an operator that is not a primitive: the nodes that its rule gives for these inputs, one per result.
    value
        ``("leaf", name)`` or ``("const", number)``; None for applications.
    tracked
        Whether the result depends, through floating-point values, on a leaf that wants a gradient.
    cache
        One opaque slot for upper layers.
    """

    __slots__ = ("body", "cache", "dtype", "inputs", "parts", "shape", "sig", "size", "tracked", "value")

    def __init__(self, sig: Sig | None, inputs: tuple["Node | None", ...], shape: tuple[int, ...], dtype: str, tracked: bool) -> None:
        self.sig, self.inputs, self.shape, self.dtype, self.tracked = sig, inputs, shape, dtype, tracked
        self.size = math.prod(shape)
        self.parts: tuple[Node, ...] = (self,)
        self.body: tuple[Node, ...] = ()
        self.value: tuple[str, Any] | None = None
        self.cache: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the result; 0 for several results, each of which counts its own."""
        return self.size * ITEMSIZE[self.dtype] if len(self.parts) == 1 else 0

    @property
    def is_primitive(self) -> bool:
        """Whether a backend implements it as it stands."""
        return self.sig is not None and not self.body

    if TYPE_CHECKING:  # `graph.build` attaches what makes further nodes

        def __add__(self, other: Any) -> "Node": ...
        def __radd__(self, other: Any) -> "Node": ...
        def __sub__(self, other: Any) -> "Node": ...
        def __mul__(self, other: Any) -> "Node": ...
        def __truediv__(self, other: Any) -> "Node": ...
        def __neg__(self) -> "Node": ...

    def __repr__(self) -> str:
        if self.sig is None:
            return f"%{self.value[1]}" if self.value and self.value[0] == "leaf" else repr(self.value and self.value[1])
        return f"{self.sig.op.name}:{self.dtype}{list(self.shape)}"


class _Tables:
    """The intern tables beside those in the Sigs, and the caches that fall with them."""

    def __init__(self) -> None:
        self.leaves: dict[Any, Node] = {}
        self.constants: dict[Any, Node] = {}
        self.sigs: set[Sig] = set()
        self.dependents: list[Callable[[], None]] = []
        self.count = 0
        self.generation = 0
        self.lock = threading.RLock()  # held while a generation falls, and where nodes made one after another must be of one


TABLES = _Tables()
os.register_at_fork(before=TABLES.lock.acquire, after_in_parent=TABLES.lock.release, after_in_child=TABLES.lock.release)


def drop_generation() -> None:
    """Forget every interned node, and have the caches that are keyed by nodes forgotten too."""
    with TABLES.lock:
        for sig in list(TABLES.sigs):
            sig.typed.clear()
            sig.inline.clear()
        TABLES.sigs.clear()
        TABLES.leaves.clear()
        TABLES.constants.clear()
        TABLES.count = 0
        TABLES.generation += 1
        for clear in TABLES.dependents:
            clear()


def bound_tables() -> None:
    """Drop the generation if it has grown past the limit. Called where a tape or window begins."""
    if TABLES.count > INTERN_LIMIT:
        drop_generation()


def leaf(name: Any, shape: tuple[int, ...], dtype: str, tracked: bool = False) -> Node:
    """The interned input of that name and type."""
    key = name, shape, dtype, tracked
    found = TABLES.leaves.get(key)
    if found is None:
        found = Node(None, (), shape, dtype, tracked)
        found.value = ("leaf", name)
        found = TABLES.leaves.setdefault(key, found)
        TABLES.count += 1
    return found


def const(number: float | int | bool) -> Node:
    """The interned constant: a Python scalar of weak type. Told apart by type and bits (0.0 is not -0.0)."""
    key = number.__class__, number.hex() if isinstance(number, float) else number
    found = TABLES.constants.get(key)
    if found is None:
        dtype = "bool" if isinstance(number, bool) else "weakf" if isinstance(number, float) else "weaki"
        found = Node(None, (), (), dtype, False)
        found.value = ("const", number)
        found = TABLES.constants.setdefault(key, found)
        TABLES.count += 1
    return found


def intern(sig: Sig, inputs: tuple[Node | None, ...], node: Node) -> Node:
    """Enter a new node; another thread's equal node wins if it came first."""
    TABLES.sigs.add(sig)
    TABLES.count += 1
    return sig.typed.setdefault(inputs, node)


def is_leaf(node: Node) -> bool:
    """Whether the node is an input of the program."""
    return node.value is not None and node.value[0] == "leaf"


def is_const(node: Node | None, number: float | None = None) -> bool:
    """Whether the node is a constant (of that value): a Python scalar or an array of one value."""
    if node is None:
        return False
    if node.value is not None:
        return node.value[0] == "const" and (number is None or node.value[1] == number)
    return node.sig is not None and node.sig.op.name == "full" and (number is None or node.sig.params["value"] == number)


def topological(outputs: Iterable[Node], until: Iterable[Node] = ()) -> list[Node]:
    """The nodes below outputs, inputs before users, each once. Nodes in ``until`` are not entered."""
    return post_order(outputs, _INPUTS, until)


def post_order(
    roots: Iterable[AnyNode], inputs_of: Callable[[AnyNode], Sequence[AnyNode | None]], until: Iterable[AnyNode] = ()
) -> list[AnyNode]:
    """The nodes of any graph below roots, inputs before users, each once; iterative and linear.

    An input may be None. On the stack a node before None is done: all below it have been met.
    """
    order: list[AnyNode] = []
    seen = set(until)
    stack: list[Any] = [*roots][::-1]
    while stack:
        node = stack.pop()
        if node is None:
            order.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            below = inputs_of(node)
            if not below:
                order.append(node)
                continue
            stack += (node, None)
            for i in below[::-1]:
                if i is not None and i not in seen:
                    stack.append(i)
    return order


_INPUTS = attrgetter("inputs")


def names_of(outputs: Iterable[Node]) -> set[str]:
    """Which operators a graph has."""
    return {n.sig.op.name for n in topological(outputs) if n.sig is not None}


def leaves_of(outputs: Iterable[Node]) -> list[Node]:
    """The leaves below outputs, in order of first use."""
    return [n for n in topological(outputs) if is_leaf(n)]


def applications(outputs: Iterable[Node]) -> Iterator[Node]:
    """The applications below outputs, inputs before users."""
    return (n for n in topological(outputs) if n.sig is not None)


def depends_on(outputs: Sequence[Node], nodes: Iterable[Node]) -> bool:
    """Whether some output is computed from some of the nodes."""
    return not set(nodes).isdisjoint(topological(outputs))

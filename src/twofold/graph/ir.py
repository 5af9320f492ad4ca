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
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, final

from ..dtype import ITEMSIZE
from ..opdef.spec import Op, Sig
from ..ops.primitive_shape import full, reshape

INTERN_LIMIT = 200_000
AnyNode = TypeVar("AnyNode")


class Node:
    """A typed value of a graph: a `Leaf`, a `Constant` or an `Application`. Never changed.

    Attributes
    ----------
    shape, dtype, size
        Of the value; of an application with several results see ``parts``.
    tracked
        Whether the value depends, through floating-point values, on a leaf that wants a gradient.
    inputs
        What an application reads (None for an optional input left out); empty for the others.
    cache
        One opaque slot for upper layers.
    """

    __slots__ = ("cache", "dtype", "shape", "size", "tracked")

    shape: tuple[int, ...]
    dtype: str
    size: int
    tracked: bool
    inputs: tuple["Node | None", ...]
    cache: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the result; 0 for several results, each of which counts its own."""
        return self.size * ITEMSIZE[self.dtype] if len(self.parts) == 1 else 0

    if TYPE_CHECKING:
        parts: tuple["Node", ...]  # of leaves and constants no slot: the tuple would be a reference cycle in each

        # `graph.build` attaches what makes further nodes
        def __add__(self, other: Any) -> "Node": ...
        def __radd__(self, other: Any) -> "Node": ...
        def __sub__(self, other: Any) -> "Node": ...
        def __mul__(self, other: Any) -> "Node": ...
        def __truediv__(self, other: Any) -> "Node": ...
        def __neg__(self) -> "Node": ...
    else:
        parts = property(lambda self: (self,))


@final
class Leaf(Node):
    """An input of a program, by name."""

    __slots__ = ("name",)
    inputs = ()

    def __init__(self, name: Any, shape: tuple[int, ...], dtype: str, tracked: bool) -> None:
        self.name, self.shape, self.dtype, self.tracked = name, shape, dtype, tracked
        self.size = math.prod(shape)
        self.cache = None

    def __repr__(self) -> str:
        return f"%{self.name}"


@final
class Constant(Node):
    """A Python scalar that is part of the structure."""

    __slots__ = ("number",)
    inputs = ()

    def __init__(self, number: float | int | bool, dtype: str) -> None:
        self.number, self.shape, self.dtype, self.tracked = number, (), dtype, False
        self.size = 1
        self.cache = None

    def __repr__(self) -> str:
        return repr(self.number)


@final
class Application(Node):
    """An operator applied to nodes.

    Attributes
    ----------
    sig
        The operator with its parameters.
    parts
        One node per result; ``(self,)`` if there is one.
    body
        For an operator that is not a primitive: the nodes that its rule gives for these inputs, one per result.
    operands
        The inputs again, for primitives, all of whose inputs are there.
    """

    __slots__ = ("body", "inputs", "parts", "sig")

    if TYPE_CHECKING:
        operands: tuple[Node, ...]

    def __init__(
        self, sig: Sig, inputs: tuple[Node | None, ...], shape: tuple[int, ...], dtype: str, tracked: bool, body: tuple[Node, ...] = ()
    ) -> None:
        self.sig, self.inputs, self.shape, self.dtype, self.tracked, self.body = sig, inputs, shape, dtype, tracked, body
        self.size = math.prod(shape)
        self.parts: tuple[Node, ...] = (self,)
        self.cache = None

    @property
    def is_primitive(self) -> bool:
        """Whether a backend implements it as it stands."""
        return not self.body

    def __repr__(self) -> str:
        return f"{self.sig.op.name}:{self.dtype}{list(self.shape)}"


if not TYPE_CHECKING:
    Application.operands = Application.__dict__["inputs"]  # one slot by two names: it costs no memory and no call


class _Tables:
    """The intern tables beside those in the Sigs, and the caches that fall with them."""

    def __init__(self) -> None:
        self.leaves: dict[Any, Leaf] = {}
        self.constants: dict[Any, Constant] = {}
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


def leaf(name: Any, shape: tuple[int, ...], dtype: str, tracked: bool = False) -> Leaf:
    """The interned input of that name and type."""
    key = name, shape, dtype, tracked
    found = TABLES.leaves.get(key)
    if found is None:
        found = TABLES.leaves.setdefault(key, Leaf(name, shape, dtype, tracked))
        TABLES.count += 1
    return found


def const(number: float | int | bool) -> Constant:
    """The interned constant: a Python scalar of weak type. Told apart by type and bits (0.0 is not -0.0)."""
    key = number.__class__, number.hex() if isinstance(number, float) else number
    found = TABLES.constants.get(key)
    if found is None:
        dtype = "bool" if isinstance(number, bool) else "weakf" if isinstance(number, float) else "weaki"
        found = TABLES.constants.setdefault(key, Constant(number, dtype))
        TABLES.count += 1
    return found


def intern(sig: Sig, inputs: tuple[Node | None, ...], node: Application) -> Application:
    """Enter a new node; another thread's equal node wins if it came first."""
    TABLES.sigs.add(sig)
    TABLES.count += 1
    return sig.typed.setdefault(inputs, node)


def applies(node: Node | None, op: Op) -> TypeGuard[Application]:
    """Whether a node is the application of an operator."""
    return isinstance(node, Application) and node.sig.op is op


def number_of(node: Node | None) -> float | None:
    """The number that a node is, or that every element of it is; None if it is no constant."""
    if isinstance(node, Constant):
        return node.number
    return node.sig.params["value"] if isinstance(node, Application) and node.sig.op is full else None


def is_const(node: Node | None, number: float | None = None) -> bool:
    """Whether the node is a constant (of that value): a Python scalar or an array of one value."""
    if isinstance(node, Application):
        return node.sig.op is full and (number is None or node.sig.params["value"] == number)
    return isinstance(node, Constant) and (number is None or node.number == number)


def unshaped(node: Node) -> Node:
    """The value of which a node is another shape; the node itself if it is no reshape."""
    while isinstance(node, Application) and node.sig.op is reshape:
        node = node.operands[0]
    return node


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


def operators_of(outputs: Iterable[Node]) -> set[Op]:
    """Which operators a graph has."""
    return {n.sig.op for n in topological(outputs) if isinstance(n, Application)}


def leaves_of(outputs: Iterable[Node]) -> list[Leaf]:
    """The leaves below outputs, in order of first use."""
    return [n for n in topological(outputs) if isinstance(n, Leaf)]


def applications(outputs: Iterable[Node]) -> Iterator[Application]:
    """The applications below outputs, inputs before users."""
    return (n for n in topological(outputs) if isinstance(n, Application))

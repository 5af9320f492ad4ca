"""The one program representation: typed nodes, interned.

Two applications of the same operator, parameters and input nodes are the same object. So a node *is* its structural key: equality is
identity, common sub-expressions are merged on construction, types are inferred once per structure, and ``cache[node]`` finds a
program. A node holds no data and no state of a run; upper layers keep derived facts in its one ``cache`` slot.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, final
from weakref import ref

from ..dtype import ITEMSIZE, scalar_dtype
from ..errors import DTypeError
from ..opdef import BoundOp, Op
from ..opdef.params import exact
from ..ops.primitive_shape import full, reshape
from ..origin import is_inside
from .tables import TABLES, list_tables_of

AnyNode = TypeVar("AnyNode")


class Node:
    """A typed value of a graph: a `Leaf`, a `Constant` or an `Application`. Immutable.

    Attributes
    ----------
    shape, dtype, size
        Type of the value. For an application with several results, see ``parts``.
    tracked
        Whether the value depends, through floating-point values, on a leaf that wants a gradient.
    inputs
        Operands of an application, None for an omitted optional one; empty for leaves and constants.
    cache
        An opaque slot for upper layers.
    """

    __slots__ = ("__weakref__", "cache", "dtype", "shape", "size", "tracked")

    shape: tuple[int, ...]
    dtype: str
    size: int
    tracked: bool
    inputs: tuple["Node | None", ...]
    cache: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the result; 0 for an application with several results, each of which counts its own."""
        return self.size * ITEMSIZE[self.dtype] if len(self.parts) == 1 else 0

    def __bool__(self) -> bool:
        # if every node were true, a user's rule that branches on elements would silently take one branch
        if not is_inside(sys._getframe(1)):
            what = "a rule cannot branch on an array: it builds a graph, whose values are not known yet"
            raise DTypeError(what, repr(self), "select elements by xp.where(condition, a, b); test an optional input by `is None`")
        return True

    @property
    def parts(self) -> tuple["Node", ...]:
        """The node itself: a leaf or constant has one value. Not an attribute, since the tuple would be a reference cycle."""
        return (self,)

    if TYPE_CHECKING:
        # `graph.build` attaches these operators
        def __add__(self, other: object) -> "Node": ...
        def __radd__(self, other: object) -> "Node": ...
        def __sub__(self, other: object) -> "Node": ...
        def __mul__(self, other: object) -> "Node": ...
        def __truediv__(self, other: object) -> "Node": ...
        def __neg__(self) -> "Node": ...


@final
class Leaf(Node):
    """An input of a program, by name."""

    __slots__ = ("name",)
    inputs = ()

    def __init__(self, name: object, shape: tuple[int, ...], dtype: str, tracked: bool) -> None:
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
    bound_op
        The operator and its parameters.
    results
        For an operator with several results, or none: where their nodes are found. None if there is one result, this node.
    body
        For a composite: the nodes that its rule returns for these inputs, one per result. Empty for a primitive.
    operands
        The same as ``inputs``, typed for primitives, which have no optional inputs.
    """

    __slots__ = ("body", "bound_op", "inputs", "results")

    if TYPE_CHECKING:
        operands: tuple[Node, ...]

    def __init__(
        self,
        bound_op: BoundOp,
        inputs: tuple[Node | None, ...],
        shape: tuple[int, ...],
        dtype: str,
        tracked: bool,
        body: tuple[Node, ...] = (),
    ) -> None:
        self.bound_op, self.inputs, self.shape, self.dtype, self.tracked, self.body = bound_op, inputs, shape, dtype, tracked, body
        self.size = math.prod(shape)
        self.results: tuple[Part, ...] | None = None
        self.cache = None

    @property
    def parts(self) -> tuple[Node, ...]:
        """One node per result; ``(self,)`` if there is one."""
        return (self,) if self.results is None else tuple([part.node_of(self) for part in self.results])

    @property
    def is_primitive(self) -> bool:
        """Whether it is an application of a primitive, not of a composite."""
        return not self.body

    def __repr__(self) -> str:
        return f"{self.bound_op.op.name}:{self.dtype}{list(self.shape)}"


class Part:
    """One of several results of an application: the operator that selects it, and its type.

    It refers to its node weakly, as that has the application as input: a graph without reference cycles is freed when nothing uses it.
    """

    __slots__ = ("_node", "_select", "_type")

    def __init__(self, select: BoundOp, owner: Application, shape: tuple[int, ...], dtype: str, tracked: bool) -> None:
        self._select, self._type = select, (shape, dtype, tracked)
        self._node = ref(self._made(owner))

    def node_of(self, owner: Application) -> Node:
        """The node of the result, made again if nothing referred to it any more."""
        node = self._node()
        if node is None:
            with TABLES.lock:  # two threads must not make two
                node = self._node()
                if node is None:
                    node = self._made(owner)
                    self._node = ref(node)
        return node

    def _made(self, owner: Application) -> Application:
        return intern(self._select, (owner,), Application(self._select, (owner,), *self._type))


if not TYPE_CHECKING:
    Application.operands = Application.__dict__["inputs"]  # two names for one slot: no extra memory, no call


def leaf(name: object, shape: tuple[int, ...], dtype: str, tracked: bool = False) -> Leaf:
    """The interned input of that name and type."""
    key = name, shape, dtype, tracked
    found = TABLES.leaves.get(key)
    if found is None:
        # another thread may have been first: `setdefault` gives all of them one object
        found = TABLES.leaves.setdefault(key, Leaf(name, shape, dtype, tracked))
        TABLES.count += 1
    return found


def const(number: float | int | bool) -> Constant:
    """The interned constant: a Python scalar of weak type. Constants differ by type and bits: 0.0 is not -0.0."""
    key = exact(number)
    found = TABLES.constants.get(key)
    if found is None:
        found = TABLES.constants.setdefault(key, Constant(number, scalar_dtype(number)))
        TABLES.count += 1
    return found


def intern(bound_op: BoundOp, inputs: tuple[Node | None, ...], node: Application) -> Application:
    """Intern a new node, or return the equal node that another thread interned first."""
    if not bound_op.is_listed:
        list_tables_of(bound_op)
    TABLES.count += 1
    return bound_op.typed.setdefault(inputs, node)


def applies(node: Node | None, op: Op) -> TypeGuard[Application]:
    """Whether a node is an application of the operator."""
    return isinstance(node, Application) and node.bound_op.op is op


def scalar_of(node: Node | None) -> float | None:
    """The value of a Python scalar; None for other nodes."""
    return node.number if isinstance(node, Constant) else None


def fill_of(node: Node | None) -> float | None:
    """The value of every element of a constant array; None for other nodes."""
    return node.bound_op.params["value"] if applies(node, full) else None


def number_of(node: Node | None) -> float | None:
    """The value of a constant, a Python scalar or a constant array; None for other nodes."""
    return node.number if isinstance(node, Constant) else fill_of(node)


def is_const(node: Node | None, number: float | None = None) -> bool:
    """Whether the node is a constant (with that value): a Python scalar or a constant array."""
    if isinstance(node, Constant):
        return number is None or node.number == number
    return applies(node, full) and (number is None or node.bound_op.params["value"] == number)


def unshaped(node: Node) -> Node:
    """The node before any reshapes."""
    while applies(node, reshape):
        node = node.operands[0]
    return node


def topological(outputs: Iterable[Node], until: Iterable[Node] = ()) -> list[Node]:
    """The nodes below outputs, each once, inputs before users. The walk stops at the nodes in ``until``."""
    return post_order(outputs, _INPUTS, until)


def post_order(
    roots: Iterable[AnyNode], inputs_of: Callable[[AnyNode], Sequence[AnyNode | None]], until: Iterable[AnyNode] = ()
) -> list[AnyNode]:
    """The nodes of any graph below roots, each once, inputs before users; in linear time, without recursion.

    Inputs may be None. On the stack, a None above a node marks that all nodes below it have been visited.
    """
    order: list[AnyNode] = []
    seen = set(until)
    stack: list[Any] = [*roots][::-1]
    while stack:
        node = stack.pop()
        # all inputs of the node below have been appended
        if node is None:
            order.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            below = inputs_of(node)
            if not below:
                order.append(node)
                continue
            # the mark is popped when what is pushed above it has been visited
            stack += (node, None)
            for i in below[::-1]:
                if i is not None and i not in seen:
                    stack.append(i)
    return order


_INPUTS = attrgetter("inputs")


def operators_of(outputs: Iterable[Node]) -> set[Op]:
    """The operators in a graph."""
    return {n.bound_op.op for n in topological(outputs) if isinstance(n, Application)}


def leaves_of(outputs: Iterable[Node]) -> list[Leaf]:
    """The leaves below outputs, in order of first use."""
    return [n for n in topological(outputs) if isinstance(n, Leaf)]


def depending_on(node: Node, outputs: Iterable[Node]) -> set[Node]:
    """The nodes below outputs that are computed from a node, and the node itself."""
    found = {node}
    for n in topological(outputs):
        if not found.isdisjoint(n.inputs):
            found.add(n)
    return found


def applications(outputs: Iterable[Node]) -> Iterator[Application]:
    """The applications below outputs, inputs before users."""
    return (n for n in topological(outputs) if isinstance(n, Application))

"""Calls of functions on traced arrays, and the graphs that transforms make of them, run as one operation.

Whatever a transform computes is an operator over the trace's inputs. Applied to arrays it runs at once as a program, waits in a window,
is recorded on a tape, or joins the trace of a transform outside, like any other operator: so transforms nest in any order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..device import current_device
from ..errors import DTypeError, ParameterError, WrongArgument
from ..executor.function import StateUpdate, TypedGraph
from ..executor.operation import Operation
from ..graph.build import G
from ..graph.gradient import backward_order
from ..graph.ir import Leaf, Node, leaf
from ..graph.rewrite import substitute
from ..graph.tables import TABLES
from ..imperative.array import Array
from ..imperative.cell import Cell, Content, Operand, Value, is_view, wrap
from ..imperative.invoke import device_of, invoke
from ..imperative.tape import tls
from ..imperative.trace import StateChange, Trace
from ..ndarray.array import NDArray
from ..numpy import array as numpy_array
from ..opdef import BoundOp
from ..program.cache import Cache, CacheEntry
from ..symbol.symbol import Symbol
from .pytree import Structure, Tree, count_of, flatten, unflatten

#: A function of the user's: any arguments, and a result that is a pytree of arrays.
Function = Callable[..., Tree]
#: Number of graphs of transforms that are kept with their operators.
HELD = 1024
NUMBERS = (int, float, complex, np.ndarray, np.generic)


class Arguments(NamedTuple):
    """The arguments that a transform follows.

    Attributes
    ----------
    cells
        Their arrays, of all arguments.
    structures
        The structure of each argument.
    """

    cells: list[Array]
    structures: list[Structure]

    def trees(self, leaves: Sequence[object]) -> list[Tree]:
        """One tree for each argument, of these leaves in place of the arrays."""
        found: list[Tree] = []
        at = 0
        for structure in self.structures:
            count = count_of(structure)
            found.append(unflatten(structure, leaves[at : at + count]))
            at += count
        return found


def positions(what: str, argnums: int | Sequence[int], args: Sequence[object]) -> list[int]:
    """The positions of arguments that ``argnums`` names.

    Raises
    ------
    ParameterError
        If there is no such argument.
    """
    given = [argnums] if isinstance(argnums, int) else list(argnums)
    found = [k + len(args) if k < 0 else k for k in given]
    if not found or any(not 0 <= k < len(args) for k in found) or len(set(found)) < len(found):
        raise ParameterError(
            f"{what}: argnums names no argument", f"{argnums} of {len(args)}", "pass arguments to differentiate by position"
        )
    return found


def arguments(what: str, trees: Sequence[object]) -> Arguments:
    """Arguments as arrays; numbers and NumPy's arrays become arrays of ``twofold.np``, or of ``mx.nd`` beside such arrays.

    Raises
    ------
    WrongArgument
        If a leaf is neither.
    """
    given: list[object] = []
    structures = []
    for tree in trees:
        leaves, structure = flatten(tree)
        given += leaves
        structures.append(structure)
    cells = [as_array(what, value) for value in given]
    # the two kinds cannot be combined
    if any(value is not c for value, c in zip(given, cells, strict=True)) and any(c._legacy for c in cells):
        cells = [c if value is c else _legacy(value, c) for value, c in zip(given, cells, strict=True)]
    return Arguments(cells, structures)


def _legacy(value: object, cell: Array) -> Array:
    """A number as an array of ``mx.nd``, in which Python's are float32."""
    return wrap(NDArray, cell_value(cell.astype("float32") if type(value) is float else cell))


def as_array(what: str, value: object) -> Array:
    """An array, or a number as an array."""
    if isinstance(value, Array):
        if value._is_sparse:
            raise WrongArgument(f"{what}: an argument is sparse", type(value).__name__, "convert it with tostype('default')")
        return value
    if isinstance(value, Symbol):
        todo = "hybridize the layers instead of the block around them; loops, choices and checkpoint take symbols"
        raise WrongArgument(f"{what}: an argument is a symbol, as a hybridized block gets", str(value), todo)
    if not isinstance(value, NUMBERS):
        raise WrongArgument(f"{what}: an argument is no array", type(value).__name__, "pass arrays, or tuples, lists and dicts of them")
    return numpy_array(value)


class Result(NamedTuple):
    """What a traced function returned.

    Attributes
    ----------
    structure
        Its structure.
    nodes, classes
        For each leaf its node and the class of the array; None and the value itself for a leaf that is no array.
    """

    structure: Structure
    nodes: list[Node | None]
    classes: list[Tree]

    @property
    def arrays(self) -> list[Node]:
        """The nodes of all arrays."""
        return [n for n in self.nodes if n is not None]

    def tree(self, contents: Sequence[Content]) -> Tree:
        """The result with the contents of the arrays."""
        own = iter(contents)
        return unflatten(
            self.structure, [cls if n is None else wrap(cls, next(own)) for n, cls in zip(self.nodes, self.classes, strict=True)]
        )


def with_numbers(found: Result, cls: type[Array], like: Sequence[Node | None] = ()) -> Result:
    """A result with arrays in place of numbers, which have the dtype of the node at their place if that holds such numbers."""
    if not any(n is None and isinstance(c, (int, float, np.generic)) for n, c in zip(found.nodes, found.classes, strict=True)):
        return found
    nodes, classes = list(found.nodes), list(found.classes)
    for k, value in enumerate(classes):
        if nodes[k] is None and isinstance(value, (int, float, np.generic)):
            dtype = "float32" if cls._legacy and type(value) is float else np.asarray(value).dtype.name
            wanted = like[k] if k < len(like) else None
            # as a number in an expression takes the dtype of the array beside it
            if wanted is not None and type(value) in (int, float) and np.result_type(np.dtype(wanted.dtype), value) == wanted.dtype:
                dtype = wanted.dtype
            nodes[k], classes[k] = G.full(shape=(), value=np.asarray(value).item(), dtype=dtype), cls
    return Result(found.structure, nodes, classes)


class Traced(NamedTuple):
    """A traced call: the trace, the number of its inputs that are arguments, and the results (with ``has_aux`` two, else one)."""

    trace: Trace
    arguments: int
    results: list[Result]

    @property
    def wrt(self) -> list[Leaf]:
        """The leaves of the arguments."""
        return self.trace.inputs[: self.arguments]

    def operands(self, followed: Arguments) -> list[Operand]:
        """What an operator with the trace's changes of states takes: arrays for states, values for all other inputs."""
        found = list(self.trace.operands)
        for change in self.trace.changes:
            for name, k in change.places(self.trace.inputs).items():
                found[k] = followed.cells[k] if k < self.arguments else change.cells[name]
        return found


def traced(
    what: str,
    function: Function,
    args: Sequence[object],
    options: Mapping[str, Tree],
    places: Sequence[int],
    followed: Arguments,
    pair: str = "",
) -> Traced:
    """Call a function with traced arrays in place of some arguments.

    Parameters
    ----------
    what
        The transform, for messages.
    function, args, options
        The call.
    places, followed
        Positions of the arguments to trace, and these arguments.
    pair
        What a function that returns a pair returns, such as ``"result, aux"``; empty for any other function.

    Raises
    ------
    AutogradError
        If the function writes to an array from outside.
    """
    trace = Trace(what)
    # read before the trace takes the tape's place: a view of a recorded array is read by an operation on the tape
    values = [cell_value(cell) for cell in followed.cells]
    inner = [wrap(c._kind, trace.argument(v, *v.type, v.device)) for c, v in zip(followed.cells, values, strict=True)]
    given = list(args)
    for k, tree in zip(places, followed.trees(inner), strict=True):
        given[k] = tree
    del inner
    return Traced(trace, len(values), called(trace, function, given, options, pair))


def called(trace: Trace, function: Function, given: list[Tree], options: Mapping[str, Tree], pair: str = "") -> list[Result]:
    """The results of a function whose arguments are arrays of a trace. The list of arguments is emptied.

    Raises
    ------
    AutogradError
        If the function writes to an array from outside.
    """
    was, tls.tape = tls.tape, trace
    try:
        found = function(*given, **options)
        results = [result_of(trace, part) for part in parts_of(trace.what, found, pair)]
    except BaseException:
        # the function's own arrays may live on in the traceback; that they get old contents back does no harm
        trace.restore()
        raise
    finally:
        tls.tape = was
    if isinstance(was, Trace):
        was.owner.sources += trace.sources
    # of the function's own arrays none is left now: what it has written and still lives was there before
    # (`result_of` has taken the nodes of the results)
    given.clear()
    found = None
    trace.check_writes()
    return results


def cell_value(cell: Array) -> Value:
    """The content of an array as a Value, which a trace may hold."""
    v = cell._content
    if isinstance(v, Value):
        return v
    # a view's content is a copy or an alias that it does not keep
    return Value(v) if is_view(cell) else cell._capture()


def as_value(content: Content) -> Value:
    """A result as a Value."""
    return content if isinstance(content, Value) else Value(content)


def parts_of(what: str, found: Tree, pair: str) -> Sequence[Tree]:
    """What a function returned; its two parts if that must be a pair.

    Raises
    ------
    WrongArgument
        If it is none.
    """
    if not pair:
        return [found]
    if not isinstance(found, tuple) or len(found) != 2:
        raise WrongArgument(f"{what}: the function does not return a pair", type(found).__name__, f"return ({pair})")
    return found


def result_of(trace: Trace, value: object) -> Result:
    """A result of a traced function. Arrays that do not depend on the arguments are inputs of the graph."""
    leaves, structure = flatten(value)
    nodes: list[Node | None] = []
    classes: list[Tree] = []
    for found in leaves:
        if isinstance(found, Array):
            nodes.append(trace.node_of(found._content, None if is_view(found) else found))
            classes.append(found._kind)
        else:
            nodes.append(None)
            classes.append(found)
    return Result(structure, nodes, classes)


class _Entry(CacheEntry):
    """An operator of a transform."""

    def __init__(self, bound_op: BoundOp) -> None:
        self.bound_op = bound_op


OPERATIONS = Cache(HELD)
TABLES.programs.append(OPERATIONS.drop)


def operator_of(
    key: tuple[object, ...],
    inputs: Sequence[Node],
    make: Callable[[], Sequence[Node]],
    kind: type[Operation] = Operation,
    changes: Sequence[StateChange] = (),
) -> BoundOp:
    """The operator of a graph, made once for each key.

    Parameters
    ----------
    key
        The transform's name, then whatever determines the graph: nodes, which are interned, and parameters.
    inputs
        The leaves.
    make
        Returns the outputs.
    kind
        The class of operations.
    changes
        Operations in the graph whose states change when backward runs. The operator takes the arrays of these states themselves.
    """

    def build() -> BoundOp:
        outputs = list(make())

        def graph(leaves: Sequence[Node], training: bool) -> TypedGraph:
            at = dict(zip(inputs, leaves, strict=True))
            found = substitute(outputs, at)
            updates = [_update(c, inputs, at) for c in changes]
            return TypedGraph(leaves, found, updates=updates, passed=_passed(found, updates))

        own = [leaf(("in", k), n.shape, n.dtype) for k, n in enumerate(inputs)]
        return kind(str(key[0]), graph, own, False, False).bound_op

    return kept_operator((*key, tuple(inputs), *[c.results[0] for c in changes]), build)


def _update(change: StateChange, inputs: Sequence[Node], at: dict[Node, Node]) -> StateUpdate:
    """A change of states in a graph with other leaves."""
    known = [n for n in change.operands if n is not None]
    moved = iter(substitute([*known, *change.results], at))
    operands = [None if n is None else next(moved) for n in change.operands]
    return StateUpdate(change.bound_op, list(moved), operands, change.places(inputs))


def _passed(outputs: Sequence[Node], updates: Sequence[StateUpdate]) -> list[StateUpdate]:
    """The updates that gradients of the outputs flow through, in the order in which backward visits them."""
    if not updates:
        return []
    # a state that two operations share is written by both, in MXNet's order
    order = backward_order([n for n in outputs if n.tracked], lambda n: [i for i in n.inputs if i is not None and i.tracked])
    rank = {n: k for k, n in enumerate(order)}
    ranked = [(min([rank[r] for r in u.results if r in rank], default=-1), u) for u in updates]
    return [u for place, u in sorted(ranked, key=lambda pair: pair[0]) if place >= 0]


def kept_operator(key: tuple[object, ...], make: Callable[[], BoundOp]) -> BoundOp:
    """An operator, made once for each key; see `operator_of`."""
    # the key is found by identities: nodes are interned, so that a repeated call hashes pointers only
    return OPERATIONS.get_or(key, lambda: _Entry(make())).bound_op


def run(bound_op: BoundOp, operands: Sequence[Operand]) -> list[Content]:
    """Apply an operator to the operands of a trace."""
    device = next((device_of(v) for v in operands if isinstance(v, Value)), None)
    tape = tls.tape
    # what draws is no constant of a trace around, even if no operand is traced
    if isinstance(tape, Trace) and tape.owner.keys_among(operands):
        contents = [v._content if isinstance(v, Cell) else v for v in operands]
        return [*tape.add(bound_op, operands, contents, device or current_device())]
    return invoke(bound_op, operands, device)


def check_differentiable(what: str, followed: Arguments) -> None:
    """Raise unless all arguments are floating-point or complex.

    Raises
    ------
    DTypeError
        If one is not.
    """
    for cell in followed.cells:
        if np.dtype(cell.__numpy_dtype__).kind in "biu":
            raise DTypeError(
                f"{what}: an argument has no gradient", f"dtype {cell._dtype}", "cast it with astype, or leave it out of argnums"
            )

"""Plans a program: cuts its graph into steps, decides how each is called and where each value lives, and estimates its running time."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from ..backend.kernel import Array, ArrayType, Call, OperandType, Params
from ..backend.protocol import Backend, Target
from ..config import SETTINGS
from ..dtype import WEAK
from ..graph.build import item
from ..graph.fuse import Big, Step, steps_of, with_epilogues
from ..graph.ir import Application, Constant, Leaf, Node, applies, is_const
from ..graph.memory_plan import MemoryPlan, plan_memory
from ..ops.primitive_shape import iota, reshape
from .control_flow import LOOPS, SubProgram, call_for_loop
from .kernels import operand_dtype, operand_type, takes_epilogue

#: Only the order of magnitude matters: it is compared with the time of a hand-over to another thread.
#: Nanoseconds per step, per element read or computed, and per multiply-add of a product or convolution.
STEP, ELEMENT, PRODUCT = 1000.0, 0.3, 0.03


class ProgramPlan(NamedTuple):
    """The plan of a program.

    Attributes
    ----------
    outputs, leaves, constants
        The graph after the passes, its inputs, and the arrays computed once, by the leaves that stand for them.
    steps
        The steps, in order of execution.
    calls
        The backend's call for each step of a single node.
    memory
        Where each value lives.
    reshaped
        The value that an output only reshapes, if that value is not an output itself. It is computed in the output's memory.
    """

    outputs: list[Node]
    leaves: list[Node]
    constants: dict[Leaf, object]
    steps: list[Step]
    calls: dict[Application, Call]
    memory: MemoryPlan
    reshaped: dict[Node, Node]

    @property
    def runs_user_code(self) -> bool:
        """Whether a step calls user code."""
        return any(n.bound_op.op.execution.user_method for n in self.calls)


def plan_of(
    outputs: list[Node],
    leaves: list[Node],
    constants: dict[Leaf, object],
    backend: Backend,
    compile_: SubProgram,
    *,
    big: Big,
    donated: Collection[Node] = (),
    in_place: bool = True,
    share: bool = True,
) -> ProgramPlan:
    """Plan a program.

    Parameters
    ----------
    outputs, leaves, constants
        The graph after the passes.
    backend
        The backend that will run it.
    compile_
        Compiles the sub-graphs of loops.
    big, donated, in_place, share
        As of `Program`.
    """
    unique = list(dict.fromkeys(outputs))  # a result that is requested twice is computed once, and copied at the end
    # the value is computed where the result will be, so that the reshape at the end is a view and no copy
    reshaped = _reshaped(unique)
    target = backend.target
    steps = steps_of(unique, big, target.row_reductions, target.whole_rows, target.few_kernels)
    if SETTINGS.epilogues:
        steps = with_epilogues(steps, unique, target.epilogues, partial(takes_epilogue, target))
    calls = calls_of(steps, backend, compile_)
    # the backend allocates these results itself, so that the plan cannot place them
    own = {n for s in steps if not s.is_kernel for n in s.nodes if n not in calls or not calls[n].into}
    memory = plan_memory(
        steps,
        [*leaves, *constants],
        [reshaped.get(o, o) for o in unique],
        donated=donated,
        fixed=own.__contains__,
        updates=lambda n: n in calls and bool(calls[n].update),
        in_place=in_place,
        share=share,
        join=in_place and target.runs_in_order,
    )
    return ProgramPlan(outputs, leaves, constants, steps, calls, memory, reshaped)


def calls_of(steps: Iterable[Step], backend: Backend, compile_: SubProgram) -> dict[Application, Call]:
    """The backend's call for each step of a single node."""
    singles = [s.nodes[0] for s in steps if not s.is_kernel]
    # an `item` selects one of several results that its operand's call has returned: it needs no call
    return {n: _call_of(n, backend, compile_) for n in singles if n.bound_op.op is not item}


def min_elements(target: Target, n: Application) -> int:
    """Minimum number of elements for a node to be part of a kernel."""
    own = operand_dtype(n)
    least = target.fuses_from(n.bound_op.op.name, [own if i.dtype in WEAK else i.dtype for i in n.operands], n.dtype)
    return SETTINGS.defer_elements if least is None else least


def _call_of(node: Application, backend: Backend, compile_: SubProgram) -> Call:
    """The backend's call for a primitive node."""
    op = node.bound_op.op
    if op in LOOPS:
        return call_for_loop(node, backend, compile_)
    if op.execution.user_method:
        operands = ", ".join(f"{{{k}}}" for k in range(len(node.inputs)))
        return Call(f"{{run}}({operands})", {"run": partial(_call_user, op.execution.user_method, backend.xp.contiguous)})
    name, params, inputs, outputs = asked_of(node)
    return backend.call(name, params, inputs, *outputs)


def asked_of(node: Application) -> tuple[str, Params, tuple[OperandType, ...], tuple[ArrayType, ...]]:
    """What a backend is asked a primitive's call for: its name, its parameters, and the types of operands and results."""
    inputs = tuple([_with_own_dtype(operand_type(i), node) if isinstance(i, Constant) else operand_type(i) for i in node.operands])
    return node.bound_op.op.name, node.bound_op.params, inputs, tuple([ArrayType(part.shape, part.dtype) for part in node.parts])


def _with_own_dtype(constant: OperandType, node: Application) -> OperandType:
    """The type with which a node is given a constant. Numbers adopt the operation's dtype; backends know this of all but True and False."""
    return constant if constant.dtype in WEAK else constant._replace(dtype=operand_dtype(node))


def _call_user(method: str, copy: Callable[[Array], Array], handle: object, *arrays: Array) -> Array:
    """Call user code with copies, which it may keep or overwrite. Copy its results: it may keep these too, or return its arguments."""
    results = getattr(handle, method)(*[copy(a) for a in arrays])
    return [copy(r) for r in results] if isinstance(results, list) else copy(results)


def is_made(n: Node) -> bool:
    """Whether a node is computed into new memory, rather than being a view or an input."""
    return isinstance(n, Application) and not n.bound_op.op.view and not applies(n, iota)


def _reshaped(outputs: Sequence[Node]) -> dict[Node, Node]:
    found: dict[Node, Node] = {}
    for o in outputs:
        if applies(o, reshape) and is_made(o.operands[0]) and not is_const(o.operands[0]):
            found[o] = o.operands[0]
    # two outputs that reshape one value need separate memory: only one of them could use the value's
    owners = Counter(found.get(o, o) for o in outputs)
    return {o: n for o, n in found.items() if owners[n] == 1}


def nanoseconds_of(steps: Iterable[Step]) -> float:
    """The estimated running time of steps."""
    return sum(STEP + sum(map(_of_node, step.nodes)) for step in steps)


def _of_node(node: Application) -> float:
    op = node.bound_op.op
    if op.view or op is item:
        return 0.0
    if op.execution.cost_rule is not None:
        return PRODUCT * op.execution.cost_rule(node, *node.operands)
    return ELEMENT * max([prod(p.shape) for p in node.parts] + [i.size for i in node.operands])

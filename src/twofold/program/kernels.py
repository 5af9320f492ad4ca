"""Translates nodes into the forms that an adapter compiles: operand types, fused groups as row programs, kernels.

It also fills the tables of `backend.kernel` as operators are declared, since adapters cannot import the operators.
"""

from collections.abc import Callable, Sequence
from math import prod

from .. import ops  # noqa: F401  (registers the primitives)
from ..backend.kernel import (
    ELEMENTWISE,
    PRIMITIVES,
    REFERENCES,
    ROW_REDUCTIONS,
    SIMPLE,
    ArrayType,
    Elementwise,
    KernelStep,
    OperandType,
    Ref,
    Reference,
    RowProgram,
)
from ..backend.protocol import Backend, Target
from ..config import SETTINGS
from ..dtype import WEAK, promote
from ..errors import SEE_CAUSE, DeviceOutOfMemory, KernelCompileError, MXNetError
from ..graph.fuse import Step
from ..graph.ir import Application, Constant, Node, applies, is_const, number_of, unshaped
from ..graph.memory_plan import MemoryPlan
from ..opdef import Op, registry
from ..ops.primitive_gather import random_bits


def operand_type(node: Node) -> OperandType:
    """A node's type as an operand. Leaves and views may be strided; other values that a program computes are contiguous."""
    return OperandType(node.shape, node.dtype, _is_packed(node))


def operand_dtype(node: Application) -> str:
    """The dtype of Python scalars among an element-wise node's operands."""
    op = node.bound_op.op
    dtypes = [i.dtype for i in node.operands]
    if not dtypes:
        return node.dtype
    # some operators declare that a scalar must not widen the result, such as `clip` for its limits
    if op.result == "first" or not op.elementwise:
        return dtypes[0] if dtypes[0] not in WEAK else node.dtype
    if op.result == "tail":
        return node.dtype
    return promote(*dtypes)


def _is_packed(n: Node) -> bool:
    """Whether a value is known to be C-contiguous: computed by the program, other than as a view, and possibly reshaped."""
    n = unshaped(n)
    if not isinstance(n, Application) or n.bound_op.op.view:
        return False
    return n.bound_op.op.elementwise or n.bound_op.op.layout.packed or is_line(n)


def is_line(n: Node) -> bool:
    """Whether a new array of this shape is C-contiguous for any axis order: at most one axis is longer than 1."""
    return n.shape != () and n.size == max(n.shape)


def is_strided(n: Node) -> bool:
    """Whether a value may be a strided view."""
    source = unshaped(n)
    return isinstance(source, Application) and source.bound_op.op.view


def may_copy(n: Application) -> bool:
    """Whether a view operation may have to copy: a reshape of a strided array."""
    return n.bound_op.op.layout.keeps_order and is_strided(n.operands[0])


def takes_epilogue(target: Target, product: Application) -> bool:
    """Whether the backend computes a convolution together with a kernel that follows."""
    types = [ArrayType(i.shape, i.dtype) for i in product.operands]
    return SETTINGS.epilogues and target.takes_epilogue(product.bound_op.op.name, product.bound_op.params, types)


def panel_width(target: Target, product: Application) -> int:
    """How many filters a panel of a convolution's weight has, if that does not change; 0 if it is read as it is."""
    return target.packs(product.bound_op.params, [ArrayType(i.shape, i.dtype) for i in product.operands])


def treats_images_alike(target: Target, product: Application, images: int) -> bool:
    """Whether a convolution of so many images at a time gives the same bits as that of all."""
    types = [ArrayType(i.shape, i.dtype) for i in product.operands]
    return target.treats_images_alike(product.bound_op.params, types, images)


def row_program(
    nodes: Sequence[Application], plan: MemoryPlan, drawn: frozenset[Node] = frozenset()
) -> tuple[RowProgram, list[tuple[Node, str]], list[Application]]:
    """A fused group as plain data, with its inputs and outputs in order. A Python scalar is one input per dtype that it is used in."""
    number: dict[Node, int] = {n: k for k, n in enumerate(nodes)}
    inputs: dict[tuple[Node, str], int] = {}
    steps = []
    # the iteration space is the largest shape: reductions over its last axis, and nodes computed from them, have smaller results
    space = max((n.shape if n.bound_op.op.elementwise else n.operands[0].shape for n in nodes), key=lambda s: (prod(s), len(s)))
    has_rows = not all(n.bound_op.op.elementwise for n in nodes)
    for n in nodes:
        dtype = operand_dtype(n)
        args = []
        for i in n.operands:
            if i in number:
                args.append(Ref("step", number[i]))
            elif isinstance(i, Constant) or (is_const(i) and i.dtype == dtype):
                args.append(Ref("const", number_of(i)))
            else:
                # a Python scalar has the dtype of the operation, so one scalar may be several inputs
                given = i, dtype if i.dtype in WEAK else i.dtype
                args.append(Ref("in", inputs.setdefault(given, len(inputs))))
        op, params = n.bound_op.op, tuple(n.bound_op.params.items())
        steps.append(KernelStep(op.name, op.ufunc, op.execution.c, tuple(args), n.dtype, dtype, params, has_rows and n.shape != space))
    outputs = [n for n in nodes if plan.place[n].kind != "kernel"]
    types = tuple(ArrayType(i.shape, dtype) for i, dtype in inputs)
    of_draws = frozenset(n.bound_op.op.name for n in nodes if any(i in drawn for i in n.operands))
    program = RowProgram(name_of(nodes), space, types, tuple(steps), tuple(number[n] for n in outputs), drawn=of_draws)
    return program, list(inputs), outputs


def name_of(nodes: Sequence[Application]) -> str:
    """A name for a step: those of its primitives, each once, truncated."""
    return "_".join(dict.fromkeys(n.bound_op.op.name for n in nodes))[:60]


def compile_kernel(backend: Backend, programs: Sequence[RowProgram]) -> Callable[..., None]:
    """Compile a row program, or several into one call.

    Raises
    ------
    MXNetError
        A `KernelCompileError` that names the kernel, unless the adapter raised an error of this package or ran out of memory.
    """
    try:
        return backend.compile(*programs)
    except MXNetError:
        raise
    except Exception as error:
        failure = backend.failure(error)
        if isinstance(failure, DeviceOutOfMemory):
            raise failure from error
        what = f"{backend.target.kind}: the kernel {programs[0].name} cannot be compiled"
        raise KernelCompileError(what, f"{type(error).__name__}: {error}", SEE_CAUSE) from error


def drawn_nodes(steps: Sequence[Step]) -> frozenset[Node]:
    """Nodes computed from random words element by element, whose bits must be the same in every run.

    Comparisons (bools), and values computed by reductions or products, are left out.
    """
    found: set[Node] = set()
    for step in steps:
        for n in step.nodes:
            op = n.bound_op.op
            by_element = op.elementwise or op.view or (op.algebra.moves and op.layout.packed)
            is_made = by_element and n.dtype != "bool" and not found.isdisjoint(n.operands)
            if is_made or applies(n, random_bits):
                found.add(n)
    return frozenset(found)


def _enter(op: Op) -> None:
    """Enter an operator's declarations about its primitive into the adapters' tables."""
    if not op.primitive:
        return
    PRIMITIVES.add(op.name)
    if op.elementwise:
        ELEMENTWISE[op.name] = Elementwise(op.ufunc, op.execution.c, op.result, op.execution.c_part)
    if op.simple:
        SIMPLE.add(op.name)
    if op.execution.row_reduction:
        ROW_REDUCTIONS.add(op.name)
    if op.execution.reference is not None:
        REFERENCES[op.name] = Reference(op.execution.reference, op.execution.host_only)


registry.watch(_enter)

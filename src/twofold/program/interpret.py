"""Interprets a graph, node by node through a backend's namespace: for the first use of a structure, when compiling does not pay yet.

Every intermediate result is a separate array until its last use; a compiled program computes in blocks and reuses memory.
The results have the same bits as the compiled program's while both call the same functions of the backend: until a kernel is machine code.
"""

from collections.abc import Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any

from ..backend.kernel import Array, Namespace
from ..backend.protocol import Backend
from ..config import SETTINGS
from ..dtype import WEAK, promote
from ..graph.ir import Application, Constant, Node, operators_of, topological
from ..graph.rewrite import lower
from ..opdef.vocabulary import Derived
from ..scheduler.observers import LISTENERS, report, report_arrays, span
from .kernels import operand_dtype
from .passes import replace_by_definitions
from .profiling import Title, nbytes_of_nodes

#: Mean bytes of a result, intermediate ones included, from which even a single use takes less time in a compiled program, which
#: computes in blocks and on all cores. Compiling takes 50 to 100 us for each result.
MOST_BYTES = 1 << 21


def interpretable(outputs: Sequence[Node], backend: Backend) -> list[Node] | None:
    """The lowered graph if its first uses should be interpreted, None if it should be compiled at once.

    It is compiled if the setting ``jit_eager`` asks for machine code from the first use on, if its results are large on average, or if an
    operator is one that only programs run.
    """
    if SETTINGS.jit_eager:
        return None
    low = replace_by_definitions(lower(outputs), backend.target)
    results = [n for n in topological(low) if isinstance(n, Application)]
    if nbytes_of_nodes(results) > MOST_BYTES * len(results):
        return None
    return None if any(op.execution.run_by_program for op in operators_of(low)) else low


def interpret(outputs: Sequence[Node], leaves: Sequence[Node], backend: Backend, arrays: Sequence[object], title: Title) -> list[object]:
    """The outputs of a lowered graph, given an array or Python scalar per leaf; new arrays without another owner."""
    if not LISTENERS:
        return backend.quietly(_interpret, outputs, leaves, backend, arrays, False)
    with span(title.name, title.category, symbolic=title.symbolic, nbytes=nbytes_of_nodes([*leaves, *outputs])):
        results = backend.quietly(_interpret, outputs, leaves, backend, arrays, title.category == "program")
    report_arrays(results)
    return results


def interpret_once(node: Application, backend: Backend, operands: Sequence[Any]) -> Array:
    """The result of a structure that `is_direct`, a new array, given arrays and Python scalars: `interpret` without preparations."""
    return backend.quietly(_interpret_once, node, backend, operands)


def _interpret_once(node: Application, backend: Backend, operands: Sequence[Any]) -> Array:
    dtype = operand_dtype(node)
    given = [backend.scalar(v, dtype) if isinstance(v, (int, float)) else v for v in operands]
    result = _result(backend, node, given)
    return backend.xp.contiguous(result) if _is_among(result, given) else result


def is_direct(node: Application) -> bool:
    """Whether the first use of a structure is one call of the backend's namespace for one new array."""
    op, own = node.bound_op.op, node.bound_op.op.execution
    if not op.primitive or op.view or op.dynamic_shape or own.run_by_program or own.user_method or own.definition_rule:
        return False
    return node.results is None and not node.body and None not in node.inputs and node.nbytes <= MOST_BYTES and not SETTINGS.jit_eager


def _is_among(array: Array, operands: Sequence[Array]) -> bool:
    """Whether an array is one of the operands, by identity."""
    for v in operands:  # noqa: SIM110  `any` with a generator would enter a frame for each operand
        if v is array:
            return True
    return False


def _result(backend: Backend, n: Application, operands: Sequence[Array]) -> Array:
    result = getattr(backend.xp, n.bound_op.op.name)(*operands, **n.bound_op.params)
    if not n.bound_op.op.view:
        result = backend.as_array(result)
    # a library's function may return another dtype than the primitive declares
    return result if backend.type_of(result).dtype == n.dtype else backend.xp.astype(result, dtype=n.dtype)


def _interpret(outputs: Sequence[Node], leaves: Sequence[Node], backend: Backend, arrays: Sequence[object], watched: bool) -> list[Array]:
    # `operand_dtype` and `scalar` as in `printer`: where these differ, a second use would give other bits than the first
    xp = backend.xp
    value: dict[Node, Array] = dict(zip(leaves, arrays, strict=True))
    order = [n for n in topological(outputs) if isinstance(n, Application) and n not in value]
    # later readers replace earlier ones, so the last one remains
    last_use = {i: n for n in order for i in n.operands}
    last_use |= dict.fromkeys(outputs)  # None: results are never dropped
    own: set[Node] = set()  # whose arrays nothing else shows
    for n in order:
        dtype = operand_dtype(n)
        operands = [_operand(backend, i, value, dtype) for i in n.operands]
        start = perf_counter_ns() if watched else 0
        value[n] = result = _result(backend, n, operands)
        if not n.bound_op.op.view and not _is_among(result, operands):
            own.add(n)
        if watched and not n.bound_op.op.view:
            report(n.bound_op.op.name, "operator", start, nbytes_of_nodes([*n.inputs, *n.parts]))
        for i in n.operands:
            if last_use[i] is n:
                value.pop(i, None)
    results = []
    for o in outputs:
        array = _operand(backend, o, value, o.dtype if o.dtype not in WEAK else promote(o.dtype))
        results.append(array if o in own else xp.contiguous(array))
        own.discard(o)  # an output that is asked for again is copied
    return results


def _operand(backend: Backend, node: Node, value: dict[Node, Array], dtype: str) -> Array:
    if isinstance(node, Constant):
        return backend.scalar(node.number, dtype)
    found = value[node]
    return backend.scalar(found, dtype) if node.dtype in WEAK else found


@cache
def namespace_of(backend: Backend) -> Namespace:
    """The whole namespace over a backend's arrays, as rules use it."""
    primitives = type(backend.xp)
    return type(f"{primitives.__name__}WithDerived", (primitives, Derived), {})()

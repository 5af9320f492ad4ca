"""Runs control-flow nodes as Python loops around compiled sub-programs, on any backend."""

from collections.abc import Callable, Collection

from ..backend.kernel import Array, Call, Run
from ..backend.protocol import Backend
from ..dtype import WEAK
from ..graph.control_flow import SubGraph, cond, foreach, while_loop
from ..graph.ir import Application
from ..opdef import Op

#: Compiles a sub-graph to a function.
SubProgram = Callable[[SubGraph], Run]


def call_for_loop(node: Application, backend: Backend, compile_: SubProgram) -> Call:
    """The call that runs a control-flow node in a program.

    Parameters
    ----------
    node
        An application of ``foreach``, ``while_loop`` or ``cond``.
    backend
        The backend that runs it.
    compile_
        Compiles a sub-graph to a function.
    """
    run = _MAKERS[node.bound_op.op](node, backend, compile_)
    numbers = {k for k, i in enumerate(node.inputs) if i is not None and i.dtype in WEAK}
    if numbers:
        run = _with_numbers(run, numbers, backend)
    operands = ", ".join(f"{{{k}}}" for k in range(len(node.inputs)))
    return Call(f"{{run}}({operands})", {"run": run})


def _with_numbers(run: Callable[..., object], numbers: Collection[int], backend: Backend) -> Callable[..., object]:
    """The same with Python numbers at some positions, where a program may have made arrays of them."""

    # a weak scalar is a Python number in the body's program, whose kernels look up its array by value
    def converted(*arrays: object) -> object:
        return run(*[backend.to_host(a).item() if k in numbers and not isinstance(a, (int, float)) else a for k, a in enumerate(arrays)])

    return converted


def _foreach(node: Application, backend: Backend, compile_: SubProgram) -> Callable[..., object]:
    params = node.bound_op.params
    body, data, states = params["body"], params["data"], params["states"]
    program, count = compile_(body), len(body.outputs) - states
    types = [(p.shape, p.dtype) for p in node.parts]

    def run(*arrays: Array) -> object:
        # allocated once and written row by row: stacking a list of results would hold all of them in memory twice
        stacks = [backend.empty(*t) for t in (*types[:count], *types[count + states :])]
        outs, befores, rows = stacks[:count], stacks[count:], arrays[:data]
        state, closure = list(arrays[data : data + states]), list(arrays[data + states :])
        # what a step enters counts: a body takes microseconds
        write = backend.write
        for t in range(types[-1][0][0] if states else types[0][0][0]):
            for stack, before in zip(befores, state, strict=True):
                write(stack, t, before)
            results = program([*[a[t, ...] for a in rows], *state, *closure])
            for stack, new in zip(outs, results, strict=False):
                write(stack, t, new)
            state = results[count:]
        # without any iteration the states are the program's inputs, which results must not share memory with
        last = [backend.xp.contiguous(s) for s in state] if state and state[0] is arrays[data] else state
        return _single([*stacks[:count], *last, *stacks[count:]])

    return run


def _single(results: list[Array]) -> object:
    """The results, or the only one without a list."""
    return results[0] if len(results) == 1 else results


def _while_loop(node: Application, backend: Backend, compile_: SubProgram) -> Callable[..., object]:
    params = node.bound_op.params
    body, variables, limit = params["body"], params["variables"], params["limit"]
    test, program, count = compile_(params["test"]), compile_(body), len(body.outputs) - variables

    def goes_on(state: list[Array], closure: list[Array]) -> bool:
        # the host needs the value to go on, so a device finishes its work here in every iteration
        return bool(backend.to_host(test([*state, *closure])[0]).item())

    def run_without_limit(*arrays: Array) -> object:
        # copies: without any step these are the results, which share no memory with operands
        state, closure = [backend.xp.contiguous(v) for v in arrays[:variables]], list(arrays[variables:])
        while goes_on(state, closure):
            state = list(program([*state, *closure]))
        return _single(state)

    if limit is None:
        return run_without_limit
    types = [(p.shape, p.dtype) for p in node.parts]

    def run(*arrays: object) -> list[object]:
        copy = backend.xp.contiguous
        # rows of iterations that do not run stay zero
        stacks = [copy(backend.constant(0, *t)) for t in (*types[:count], *types[count + variables : -1])]
        state, closure, steps = [copy(v) for v in arrays[:variables]], list(arrays[variables:]), 0
        while steps < limit and goes_on(state, closure):
            for stack, before in zip(stacks[count:], state, strict=True):
                backend.write(stack, steps, before)
            results = program([*state, *closure])
            for stack, new in zip(stacks[:count], results, strict=False):
                backend.write(stack, steps, new)
            state, steps = results[count:], steps + 1
        return [*stacks[:count], *state, *stacks[count:], copy(backend.scalar(steps, "int64"))]

    return run


def _cond(node: Application, backend: Backend, compile_: SubProgram) -> Callable[..., object]:
    params = node.bound_op.params
    then, otherwise = compile_(params["then"]), compile_(params["otherwise"])

    def run(predicate: object, *closure: object) -> object:
        # the host has to read the predicate, so programs with `cond` are never captured (see `DECIDED`)
        chosen = then if bool(backend.to_host(predicate).item()) else otherwise
        return _single(chosen(closure))

    return run


_Maker = Callable[[Application, Backend, SubProgram], Callable[..., object]]
_MAKERS: dict[Op, _Maker] = {foreach: _foreach, while_loop: _while_loop, cond: _cond}
LOOPS = frozenset(_MAKERS)
#: Those in which the host reads a value to decide what runs next.
DECIDED = frozenset({while_loop, cond})

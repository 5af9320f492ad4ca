"""After a failure: name the line that issued the failed operation, and compute the results that do not depend on it."""

from collections.abc import Iterator, Mapping, Sequence
from types import CodeType

from ..assembly import fragment
from ..backend.kernel import Array, Run
from ..backend.loader import backend_for
from ..device import Device
from ..errors import EngineError, MXNetError
from ..graph.ir import Application, Node, leaves_of, operators_of, topological
from ..graph.rewrite import lower, substitute
from ..origin import text_of
from ..program.compile import Program
from ..scheduler.streams import run_on
from ..signal_handlers import unless_signalled
from .cell import HOST, Value
from .scalars import Scalar
from .user_function import UserFunction

#: An input: an array, a Python scalar or a user's object.
Data = Array | Scalar | UserFunction
#: Nodes of an operation, and where the user's code issued it.
Issued = tuple[Sequence[Node], CodeType, int]


def name_origin(issued: Sequence[Issued], device: Device, error: Exception, program: Program | None) -> None:
    """Add a note to an error with the line of the user's code that issued the failing operation, or the range of lines if it is unknown.

    Parameters
    ----------
    issued, device
        The window's operations, and where it ran.
    error
        Why it failed.
    program
        The program that ran; None if it could not be compiled.
    """
    if program is None:
        place = next(((code, at) for nodes, code, at in issued if not _compiles(nodes, device)), None)
    else:
        place = _issuer(issued, set(program.nodes_at(error)))
    if place is not None:
        error.add_note(f"issued at {text_of(*place)}")
    elif issued:
        first, last = [text_of(code, at) for _, code, at in (issued[0], issued[-1])]
        error.add_note(f"issued between {first} and {last}")


def _issuer(issued: Sequence[Issued], failed: set[Node]) -> tuple[CodeType, int] | None:
    """Where the first of some failed nodes was issued. If simplification changed the nodes, where a similar operation was issued."""
    alike = {_kind(n) for n in failed}
    second = None
    for nodes, code, at in issued if failed else ():
        inside = topological(lower(nodes, topological(nodes)))
        if not failed.isdisjoint(inside):
            return code, at
        if second is None and not alike.isdisjoint(map(_kind, inside)):
            second = code, at
    return second


def _kind(node: Node) -> tuple[str | None, tuple[int, ...], str]:
    return node.bound_op.op.name if isinstance(node, Application) else None, node.shape, node.dtype


def _compiles(nodes: Sequence[Node], device: Device) -> bool:
    try:
        Program(nodes, leaves_of(nodes), backend_for(device), boundaries=topological(nodes))
    except unless_signalled(Exception):
        return False
    return True


def salvaged(live: Sequence[Value], device: Device, data: Mapping[Node, Data], at: Mapping[Node, Node]) -> Iterator[tuple[Value, Array]]:
    """The results that do not depend on the failed operation, each computed by itself. Results that would rerun user code are left out.

    Parameters
    ----------
    live
        The window's results.
    device, data
        Where it ran, and those of its inputs by node that its program has not written over.
    at
        Replacements for nodes of the tape in its programs.
    """
    inputs = {at.get(node, node): array for node, array in data.items()}
    for v in live:
        (node,) = substitute([v.producer[1]], at)
        if any(op.execution.user_method for op in operators_of(lower([node]))):
            continue
        leaves = leaves_of([node])
        if not all(n in inputs for n in leaves):
            continue
        try:
            program = Program([node], leaves, backend_for(device), boundaries=topological([node]))
            (array,) = run_on(device, program.run, [inputs[n] for n in leaves])
        except unless_signalled(Exception):  # the result failed or depends on the failed operation: the window's error says why
            continue
        yield v, array


@fragment
def host_results(function: Run, run: Run, arrays: list[Array]) -> list[Array]:
    """The results of a program on cpu(0): `HOST.quick` calls its function faster than ``run`` does by ``quietly``."""
    try:
        results = HOST.quick(function, arrays)
    except Exception as error:
        results = after_failure(error, run, arrays)
    return results


def after_failure(error: Exception, run: Run, arrays: list[Array]) -> list[Array]:
    """The results of a host program that `HOST.quick` could not run because its single context was in use; any other error is raised."""
    if error.__class__ is RuntimeError and str(error).startswith("cannot enter context"):
        return run(arrays)  # the context is in use by another thread, or by code that this thread has interrupted
    if isinstance(error, MXNetError):
        raise error
    raise HOST.failure(error) from error


def was_dropped() -> EngineError:
    """The error of a finalizer that reads a pending array of its reference cycle: the window has seen it as collected already."""
    what = "an array is read that was not computed, as nothing else could read it any more"
    return EngineError(what, "a finalizer of an object in a reference cycle", "read it before the object is dropped")

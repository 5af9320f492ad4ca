"""What remains to be done when a window has failed: say where the failure comes from, and compute what does not depend on it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.loader import backend_for
from ..device import Device
from ..graph.ir import Application, Node, leaves_of, operators_of, topological
from ..graph.rewrite import lower
from ..program.compile import Program
from ..scheduler.streams import run_on
from .cell import Value
from .origin import text_of

if TYPE_CHECKING:
    from .window import Window


def name_origin(w: "Window", error: Exception, program: Program | None) -> None:
    """Add a note to an error that says which line of the user's code issued what failed; if that is not known, which lines it may be.

    Parameters
    ----------
    w
        The window.
    error
        Why it failed.
    program
        What ran; None if it could not be compiled.
    """
    if program is None:
        place = next(((code, at) for node, code, at in w.issued if not _compiles(node, w.device)), None)
    else:
        place = _issuer(w, set(program.nodes_at(error)))
    if place is not None:
        error.add_note(f"issued at {text_of(*place)}")
    elif w.issued:
        first, last = [text_of(code, at) for _, code, at in (w.issued[0], w.issued[-1])]
        error.add_note(f"issued between {first} and {last}")


def _issuer(w: "Window", failed: set[Node]) -> tuple[Any, int] | None:
    """Where the first operation was issued that nodes of a program come from, or one of their kind where simplifying changed them."""
    alike = {_kind(n) for n in failed}
    second = None
    for node, code, at in w.issued if failed else ():
        inside = topological(lower([node], topological([node])))
        if not failed.isdisjoint(inside):
            return code, at
        if second is None and not alike.isdisjoint(map(_kind, inside)):
            second = code, at
    return second


def _kind(node: Node) -> Any:
    return node.sig.op.name if isinstance(node, Application) else None, node.shape, node.dtype


def _compiles(node: Node, device: Device) -> bool:
    try:
        Program([node], leaves_of([node]), backend_for(device), boundaries=topological([node]))
    except Exception:
        return False
    return True


def salvaged(w: "Window", live: Sequence[Value]) -> Iterator[tuple[Value, Any]]:
    """Each result that does not depend on what failed, computed by itself; none that runs user code, which has run already.

    Parameters
    ----------
    w
        The window; its program must not have written over what it reads.
    live
        Its results.
    """
    for v in live:
        node = v.at[1]
        if any(op.user_method for op in operators_of(lower([node]))):
            continue
        leaves = leaves_of([node])
        try:
            program = Program([node], leaves, backend_for(w.device), boundaries=topological([node]))
            (data,) = run_on(w.device, program.run, [w.data[w.leaf_nodes.index(n)] for n in leaves])
        except Exception:  # it is, or depends on, what failed: the window's error says why
            continue
        yield v, data

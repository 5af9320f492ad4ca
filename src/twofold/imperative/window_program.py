"""The program of a window, and the key under which windows of the same structure find it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..assembly import fragment
from ..backend.kernel import SIMPLE, Array, KernelStep
from ..backend.loader import backend_for
from ..device import Device
from ..graph.ir import Application, Node, leaf, leaves_of, post_order
from ..graph.rewrite import substitute
from ..program.cache import CacheEntry
from ..program.compile import Program
from ..program.other_sizes import ResizedProgram, program_of_form
from ..program.profiling import Title
from .cell import ALWAYS, Value
from .counters import COUNTERS
from .failure import Data
from .guards import runs_inline


class StageRunner(Protocol):
    """Runs a window's program and hands out some results early, see `stages`."""

    def run(self, program: Program, arrays: Sequence[Array], numbers: dict[Value, int]) -> list[Array]:
        """The program's results, given its inputs and the number of each Value's result."""
        ...

    def end(self, error: BaseException) -> None:
        """Fail what has not been handed out."""
        ...


class Contents(Protocol):
    """The fields of a `window.Window`, described there, that decide its program. `window` imports this module."""

    data: dict[Node, Data]
    aliases: dict[Node, Node]
    cuts: list[Node]
    inner: dict[Node, Sequence[Node]]
    device: Device


@dataclass(eq=False)
class WindowProgram(CacheEntry):
    """The program of a window's structure.

    Attributes
    ----------
    program, reads
        The program, and the inputs of the window that it reads.
    where
        For each live Value, its result and whether others have it too.
    fused
        Number of operations in its kernels.
    pays
        Whether the window spares more time than it costs.
    nbytes
        Bytes of its inputs and results.
    """

    program: Program
    reads: list[Node]
    where: list[tuple[int, bool]]
    fused: int
    pays: bool
    nbytes: int

    def run_in_stages(self, stages: StageRunner, arrays: Sequence[Array], live: Sequence[Value]) -> list[Array]:
        """The results, some of which ``stages`` hands to their Values before the others."""
        for v, (_, shared) in zip(live, self.where, strict=True):
            if shared:  # before a stage hands the result out
                v.sharing = ALWAYS
        return stages.run(self.program, arrays, {v: k for v, (k, _) in zip(live, self.where, strict=True)})


def replacing(w: Contents) -> dict[Node, Node]:
    """Replacements for nodes of the tape in the window's programs: leaves for results of earlier windows, and nodes of its own."""
    # named by position, so that the next iteration, whose results are other nodes, finds the same program
    at: dict[Node, Node] = {node: leaf(("cut", k), node.shape, node.dtype) for k, node in enumerate(w.cuts)}
    for node, here in w.aliases.items():  # in order of entry: whatever ``here`` depends on came before
        at[node] = substitute([here], at)[0]
    return at


@fragment
def program_key(w: Contents, wanted: tuple[Node, ...], dead: tuple[Node, ...]) -> tuple[object, ...]:
    """The key of a window's program in the cache."""
    if w.cuts or w.aliases or w.inner:
        return wanted, dead, w.device.device_type, tuple(w.cuts), tuple(w.aliases.items()), tuple(w.inner.items())
    return wanted, dead, w.device.device_type


def program_of(w: Contents, wanted: tuple[Node, ...], dead: tuple[Node, ...]) -> WindowProgram:
    """The program of a window that is closed: for the nodes of its live results, given the inputs whose memory may take results."""
    unique = list(dict.fromkeys(wanted))
    # every application belongs to an array that a caller could hold, except inside a definition or a gradient
    held = [n for n in post_order(unique, lambda n: w.inner.get(n, n.inputs)) if n not in w.inner]
    at = replacing(w)
    # the program contains only the replacement of a replaced node
    names = {n: at.get(n, n) for n in w.data}
    if at:
        new = substitute([*unique, *held], at)
        outputs, held = new[: len(unique)], new[len(unique) :]
    else:
        outputs = unique
    own = {name: node for node, name in names.items()}
    leaves = [n for n in leaves_of(outputs) if n in own]  # a window may have further inputs, which only dead results would have read
    donated = [names[n] for n in dead]
    make = Program if at or w.inner or not w.device.is_host else program_of_form
    program = make(outputs, leaves, backend_for(w.device), donated=donated, boundaries=held, title=Title("window"), device=w.device)
    place, uses = {n: k for k, n in enumerate(unique)}, Counter(wanted)
    where = [(place[n], uses[n] > 1) for n in wanted]
    if isinstance(program, ResizedProgram):
        COUNTERS.resized += 1
    else:
        COUNTERS.compiled += 1
    fused = [step for k in program.kernels for step in k.steps]
    pays = not w.device.is_host or _pays(held, outputs, fused)
    return WindowProgram(program, [own[n] for n in leaves], where, len(fused), pays, sum(n.nbytes for n in held))


#: A window of several operations pays from so many bytes of intermediate results on, and from so many bytes of all results.
SPARED, SEVERAL = 1 << 19, 1 << 22


def _pays(held: Sequence[Node], outputs: Sequence[Node], fused: Sequence[KernelStep]) -> bool:
    """Whether a window on a host spares more time than it costs, some 30 µs.

    A single operation spares nothing. Several simple ones spare writing and reading their intermediate results; NumPy spares a part of
    that too, as it writes the result of ``(x + y) * 2.0`` over the sum. Kernels of other element-wise operations are faster than NumPy's
    functions. What a reduction takes is the same in a window.

    Parameters
    ----------
    held, outputs
        The nodes of its operations, and those of its live results.
    fused
        The steps of its kernels.
    """
    operations = [n for n in held if isinstance(n, Application)]
    if len(operations) < 2:
        return False
    if any(step.op not in SIMPLE and not step.row for step in fused):
        return True
    if any(not n.bound_op.op.elementwise and not runs_inline(n.size) for n in operations):
        return True
    results, stored = sum(n.nbytes for n in operations), sum(n.nbytes for n in outputs)
    return results - stored >= SPARED or results >= SEVERAL

"""Backward for one structure of heads: how to reach the saved values below them, and the program of the gradients.

Generated code fetches the saved values from the tape.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from ..assembly import inlined
from ..backend.kernel import Run
from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import COMPLEX
from ..errors import AutogradError
from ..graph.build import G, item
from ..graph.gradient import accumulate, backward_order, ones_head
from ..graph.ir import Application, Leaf, Node, leaf, topological
from ..graph.rewrite import as_operator, substitute
from ..graph.tables import TABLES
from ..opdef import BoundOp
from ..program.cache import PROGRAMS, CacheEntry
from ..program.compile import Program
from ..program.interpret import interpretable
from ..program.profiling import Title
from ..scheduler.observers import LISTENERS
from ..scheduler.streams import run_on
from .cell import HOST, PLAIN, Cell, Content, Value
from .deferral import defer, join_backward, save_recorded
from .dispatch import ExecutionMode, execution_mode, may_wait
from .failure import host_results
from .guards import has_gradient, is_exposed
from .invoke import contents_of, data_of
from .residuals import Cold, cache_of, stands_for
from .tape import Tape, TapeEntry
from .window import HERE

TITLE = Title("backward")
#: A structure of at least so many nodes is interpreted at its first use. Where a loop takes another number of steps each time, or chooses
#: among elements, it is the only use: compiling took five times as long as interpreting.
LONG = 256
#: What `Backward.fetch` returns.
Fetched = tuple[list[Content], list[TapeEntry | None], list[TapeEntry], list[TapeEntry]]


class Backward(CacheEntry):
    """How to reach the saved values below one structure of heads, and the program that computes the gradients.

    All devices of one kind share the object, so it stores no device: each call passes the device to run on.

    Parameters
    ----------
    heads
        Tape entries of one instance of the structure.
    given
        For each head whether a head gradient is given (else ones).
    differentiable
        Whether the gradients will be differentiated in turn: then residuals are computed again from inputs, on the tape.
    """

    #: Whether what `gradients` and `joined` return are parts, of which `completed` makes the gradients. It needs the values of the parts.
    in_parts = False
    _program: Program | None = None

    def __init__(self, heads: Sequence[TapeEntry], given: tuple[bool, ...], differentiable: bool) -> None:
        names, order = self._paths(heads)
        # every saved value becomes a leaf of the gradient graph, in place of the nodes that have this value
        at, saved, owners = self._saved(order, names, residuals=not differentiable)
        variables = {r.node: names[id(r)] for r in order if isinstance(r.node, Leaf) and has_gradient(r)}
        # head gradients that are not given are constants of ones, which simplification removes from the program
        seeds = [leaf(("head", k), h.node.shape, h.node.dtype) for k, h in enumerate(heads)]
        heads_in = [s if g else ones_head(h.node) for s, g, h in zip(seeds, given, heads, strict=True)]
        # heads of integers carry no gradient: `array.record_of` has warned of them
        carrying = [(h.node, grad) for h, grad in zip(heads, heads_in, strict=True) if has_gradient(h)]
        found = accumulate([node for node, _ in carrying], [grad for _, grad in carrying])
        self.wrt = list(variables)  # includes variables whose gradient is blocked on the way: they get zeros
        self.raw = self._results(found)
        self.heads = tuple([h.node for h in heads])
        #: Whether a variable is complex, so that its gradient must be conjugated.
        self.is_complex = any(w.dtype in COMPLEX for w in self.wrt)
        outputs = substitute(self.raw, at)
        # simplification may have removed the last use of a saved value: each backward fetches only the others
        used = set(topological(outputs))
        self.slots = [k for k, slot in enumerate(saved) if slot[0] in used]
        self.inputs = [saved[k][0] for k in self.slots]
        self.seeds = [s for s, g in zip(seeds, given, strict=True) if g]
        self.outputs = outputs
        self.leaves = [*self.inputs, *self.seeds]
        # a path begins with its entry's name, as in "r3.saved[0]"
        mirrored = {names[id(r)] for r in order if isinstance(r.node, Application) and r.node.bound_op.op.recompute}
        self.again = {leaf for leaf, path in saved if path.partition(".")[0] in mirrored}  # values computed from these are recomputed
        # in the order in which backward passes them, which matters where two operations update one state
        operations = [r for r in order if isinstance(r.node, Application)]
        number = {id(r): k for k, r in enumerate(operations)}
        passed = [r for r in backward_order(heads, _differentiated_inputs) if id(r) in number]
        self.hooked = [number[id(r)] for r in passed if isinstance(r.node, Application) and r.node.bound_op.op.backward_rule is not None]
        reached = f"[{', '.join(variables[n] for n in self.wrt)}], [{', '.join(names[id(r)] for r in operations)}]"
        # as text, since a training loop runs it in every iteration: look-ups in a row, where a walk would test each entry
        lines = ["def reach(heads):", *self._path_lines, f" return {reached}"]
        lines += ["def fetch(heads):", *self._path_lines]
        # only entries whose values the program reads are tested: the others may have been freed
        fetched = dict.fromkeys([saved[k][1].partition(".")[0] for k in self.slots])
        if fetched:
            lines += [f" if {' or '.join(f'{r}.tape is None' for r in fetched)}:", "  refuse()"]
        lines.append(f" return [{', '.join(saved[k][1] for k in self.slots)}], [{', '.join(owners[k] for k in self.slots)}], {reached}")
        self.source = "\n".join(lines)
        env: dict[str, Any] = {"__name__": __name__, "part": _part, "refuse": refuse}
        exec(self.source, env)  # the functions leave their globals, with which they would form a reference cycle
        #: From the heads' entries: the saved values, the entries that own them, and what `reach` returns. Raises if one has been freed.
        self.fetch: Callable[[Sequence[TapeEntry]], Fetched] = env.pop("fetch")
        #: From the heads' entries: the entries of the variables and the entries of the operations.
        self.reach: Callable[[Sequence[TapeEntry]], tuple[list[TapeEntry], list[TapeEntry]]] = env.pop("reach")

    def _results(self, found: dict[Node, Node]) -> list[Node]:
        """The outputs of the program: the gradients of the variables, selected from all gradients that were found."""
        return [found[n] if n in found else G.full(shape=n.shape, value=0, dtype=n.dtype) for n in self.wrt]

    def _first_run(self, device: Device) -> Run:
        """Computes the gradients from the saved values and the head gradients: interpreted at the first use of a long structure."""
        backend = backend_for(device)
        if not self.used and len(topological(self.outputs)) >= LONG:
            low = interpretable(self.outputs, backend)
            if low is not None:
                return Cold(low, self.leaves, backend, TITLE)
        self._program = found = Program(self.outputs, self.leaves, backend, title=TITLE, device=device)
        return found.run

    @cached_property
    def bound_op(self) -> BoundOp:
        """The program as an operator, so that backward can join a window."""
        return as_operator("backward", self.outputs, self.leaves, self.again)

    @inlined
    def gradients(self, values: Sequence[Content], device: Device) -> Sequence[Content]:
        """The gradients as contents, given the contents of the leaves; the gradients are deferred if a leaf is pending."""
        arrays = []
        lazy = False
        for v in values:
            if v.__class__ is Value:
                v = v.data
                lazy = lazy or v is None
            arrays.append(v)
        # pending values, and those on a device, may let the gradients wait as well
        if lazy or device is not CPU:
            exposed = not all(map(may_wait, values))
            mode = execution_mode(device, tracked=False, lazy=lazy, exposed=exposed, inline=False)
            if mode is ExecutionMode.DEFERRED:
                return defer(self.bound_op, list(map(_captured, values)), device, is_backward=True)
            arrays = [data_of(v) for v in values]
        # what waits now or is issued later, such as the optimizer's updates, belongs to this iteration, not to the next one
        HERE.after_backward = True
        for w in HERE.by_device.values():
            w.complete = True
        program = self._program
        if program is None or device is not CPU or LISTENERS:
            results = run_on(device, self._first_run(device) if program is None else program.run, arrays)
            return contents_of(results, device)
        results = host_results(program.run.args[0], program.run, arrays)
        return contents_of(results, device)

    @inlined
    def joined(self, tape: Tape | None, entries: Sequence[TapeEntry], given: Sequence[Value], device: Device) -> list[Value] | None:
        """The gradients, added to the window that holds all of the tape's operations: then no forward value needs to be saved.

        None if there is no such window, if an earlier backward has used some operations, or if this backward recomputes forward values.
        """
        if tape is None or not tape.whole or len(tape.windows) != 1 or self.again:
            return None
        for v in given:
            if is_exposed(v):
                return None
        for entry in entries:  # `any` with a generator would enter a frame for each entry
            if entry.tape is None:
                return None
        return join_backward(tape.windows[0], self.raw, self.heads, list(zip(self.seeds, given, strict=True)), device)

    def completed(self, found: Sequence[Content], device: Device) -> Sequence[Content]:
        """The gradients made of their parts."""
        return found

    def _paths(self, heads: Sequence[TapeEntry]) -> tuple[dict[int, str], list[TapeEntry]]:
        """A name for every entry, and the entries in the order of discovery. Also writes the code that reaches them from the heads."""
        names: dict[int, str] = {}
        order: list[TapeEntry] = []
        self._path_lines: list[str] = []

        def name(entry: TapeEntry, path: str) -> None:
            if id(entry) not in names:
                names[id(entry)] = f"r{len(names)}"
                self._path_lines.append(f" {names[id(entry)]} = {path}")
                order.append(entry)

        for k, head in enumerate(heads):
            name(head, f"heads[{k}]")
        for entry in order:
            if not isinstance(entry.node, Application):
                continue
            # appended to the list that is being walked: the walk ends when no new entry is found
            for k, below in enumerate(entry.inputs):
                if has_gradient(below):
                    name(below, f"{names[id(entry)]}.inputs[{k}]")
        return names, order

    @staticmethod
    def _saved(
        order: Sequence[TapeEntry], names: dict[int, str], residuals: bool
    ) -> tuple[dict[Node, Node], list[tuple[Node, str]], list[str]]:
        """Leaves for the graph nodes that have saved values; for each leaf the code that fetches its value, and the owning entry."""
        at: dict[Node, Node] = {}
        saved: list[tuple[Node, str]] = []
        owners: list[str] = []
        for entry in order:
            if not isinstance(entry.node, Application) or entry.node.bound_op.op is item:
                continue
            for j, what in enumerate(cache_of(entry.node).saves or ()):
                # a residual is a bare array without a tape entry: a gradient of the gradient must compute it again from recorded inputs
                if what[0] == "res" and not residuals and cache_of(entry.node).tracked[what[1]]:
                    continue
                nodes = stands_for(entry.node, what)
                first = nodes[0]
                stand_in = at.get(first)
                if stand_in is None:
                    stand_in = leaf(("saved", len(saved)), first.shape, first.dtype)
                    saved.append((stand_in, f"{names[id(entry)]}.saved[{j}]"))
                    owner = names[id(entry)] if len(entry.node.parts) == 1 else f"part({names[id(entry)]}, {what[1]})"
                    owners.append(owner if what[0] == "out" and not residuals else "None")
                # the result, its node inside the definition, and that node as rebuilt in this generation: a gradient may read any of them
                for node in nodes:
                    at.setdefault(node, stand_in)
        return at, saved, owners


def _differentiated_inputs(entry: TapeEntry) -> list[TapeEntry]:
    """The inputs of an operation through which gradients flow; none for a leaf, even one that continues an older tape."""
    return [i for i in entry.inputs if has_gradient(i)] if isinstance(entry.node, Application) else []


def _captured(v: Content) -> Content:
    """A saved value in a form that a window may hold. Small arrays are copied, as they may be written once their tape is gone."""
    return Value(HOST.copy(v, CPU)) if v.__class__ is PLAIN else v


def refuse() -> NoReturn:
    """Raise the error of a graph whose saved values are gone."""
    raise AutogradError("this graph was already used by backward()", None, "pass retain_graph=True to the first call")


def _part(entry: TapeEntry, k: int) -> TapeEntry:
    """The entry of one of several results."""
    return TapeEntry(entry.node.parts[k], (entry,), (), entry.tape)


class RowGradients:
    """Hooks that `row_gradients` fills in: it imports this module, so this module cannot import it."""

    #: The class for a structure.
    backward_class: Callable[[Sequence[TapeEntry], bool], type[Backward]]
    #: The sum of two gradients, one of them row-sparse.
    add: Callable[[Cell, Content], Content]


def compiled_for(heads: Sequence[TapeEntry], given: tuple[bool, ...], device: Device, differentiable: bool) -> Backward:
    """The cached `Backward` of a structure of heads."""

    def new() -> Backward:
        if any(h.tape is None and isinstance(h.node, Application) for h in heads):
            refuse()
        with TABLES.lock:  # all nodes of the gradient must belong to one generation, including those of rebuilt definitions
            return RowGradients.backward_class(heads, differentiable)(heads, given, differentiable)

    return PROGRAMS.get_or((tuple([h.node for h in heads]), given, device.device_type, differentiable), new)


def fetched(b: Backward, heads: Sequence[TapeEntry]) -> Fetched:
    """The saved values of the operations below the heads, and the other results of `Backward.fetch`.

    Raises
    ------
    AutogradError
        If an earlier backward has used and freed them.
    """
    tape = heads[0].tape
    if tape is not None:
        save_recorded(tape)
    return b.fetch(heads)

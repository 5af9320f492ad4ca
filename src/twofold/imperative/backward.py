"""Backward: builds the gradient graph of recorded operations, compiles it once per structure, and runs it.

Generated code fetches the saved values from the tape. A tape that continues an older one has bridge leaves; the newest tape is
differentiated first, and each tape has a cached program of its own.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from ..backend.loader import backend_for
from ..device import CPU, Device
from ..dtype import COMPLEX
from ..errors import AutogradError, ShapeError
from ..graph.build import G, item
from ..graph.gradient import accumulate, backward_order, ones_head
from ..graph.ir import TABLES, Application, Constant, Leaf, Node, applies, leaf, topological
from ..graph.rewrite import as_operator, substitute
from ..opdef import BoundOp
from ..ops import complex_numbers, primitive_arithmetic, primitive_shape
from ..ops.custom import user_backward
from ..program.cache import PROGRAMS, CacheEntry
from ..program.compile import Program
from ..program.profiling import Title
from ..scheduler.observers import LISTENERS
from ..scheduler.streams import run_on
from .cell import ALWAYS, DENSE, HOST, PINNED, PLAIN, Cell, Content, Value, alias, wrap
from .deferral import defer, join_backward, save_recorded
from .dispatch import ExecutionMode, execution_mode, may_wait
from .failure import after_failure
from .guards import has_gradient
from .invoke import contents_of, data_of, device_of, full_content, invoke, type_of
from .residuals import cache_of, stands_for
from .scope import renumber
from .tape import MISFIT, Tape, TapeEntry, Variable, tls
from .transfer import on_device, store, to_device, written_out
from .window import complete

ONES = (False,)


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

    _program: Program | None = None

    def __init__(self, heads: Sequence[TapeEntry], given: tuple[bool, ...], differentiable: bool) -> None:
        names, order = self._paths(heads)
        at, saved, owners = self._saved(order, names, residuals=not differentiable)
        variables = {r.node: names[id(r)] for r in order if isinstance(r.node, Leaf) and r.node.tracked}
        # head gradients that are not given are constants of ones, which simplification removes from the program
        seeds = [leaf(("head", k), h.node.shape, h.node.dtype) for k, h in enumerate(heads)]
        heads_in = [s if g else ones_head(h.node) for s, g, h in zip(seeds, given, heads, strict=True)]
        carrying = [(h.node, grad) for h, grad in zip(heads, heads_in, strict=True) if h.node.tracked]
        found = accumulate([node for node, _ in carrying], [grad for _, grad in carrying])
        self.wrt = list(variables)  # includes variables whose gradient is blocked on the way: they get zeros
        self.raw = self._results(found)
        self.heads = tuple([h.node for h in heads])
        #: Whether a variable is complex, so that its gradient must be conjugated.
        self.is_complex = any(w.dtype in COMPLEX for w in self.wrt)
        outputs = substitute(self.raw, at)
        used = set(topological(outputs))
        self.slots = [k for k, slot in enumerate(saved) if slot[0] in used]
        self.inputs = [saved[k][0] for k in self.slots]
        self.seeds = [s for s, g in zip(seeds, given, strict=True) if g]
        self.outputs = outputs
        self.leaves = [*self.inputs, *self.seeds]
        # a path begins with its entry's name, as in "r3.saved[0]"
        mirrored = {names[id(r)] for r in order if isinstance(r.node, Application) and r.node.bound_op.op.recompute}
        self.again = {leaf for leaf, path in saved if path.partition(".")[0] in mirrored}  # values computed from these are recomputed
        operations = [r for r in order if isinstance(r.node, Application)]
        number = {id(r): k for k, r in enumerate(operations)}
        passed = [r for r in backward_order(heads, _differentiated_inputs) if id(r) in number]
        self.hooked = [number[id(r)] for r in passed if isinstance(r.node, Application) and r.node.bound_op.op.backward_rule is not None]
        reached = f"[{', '.join(variables[n] for n in self.wrt)}], [{', '.join(names[id(r)] for r in operations)}]"
        lines = ["def reach(heads):", *self._path_lines, f" return {reached}"]
        lines += ["def fetch(heads):", *self._path_lines]
        # only entries whose values the program reads are tested: the others may have been freed
        fetched = dict.fromkeys([saved[k][1].partition(".")[0] for k in self.slots])
        if fetched:
            lines += [f" if {' or '.join(f'{r}.tape is None' for r in fetched)}:", "  refuse()"]
        lines.append(f" return [{', '.join(saved[k][1] for k in self.slots)}], [{', '.join(owners[k] for k in self.slots)}], {reached}")
        self.source = "\n".join(lines)
        env: dict[str, Any] = {"__name__": __name__, "part": _part, "refuse": _refuse}
        exec(self.source, env)
        #: From the heads' entries: the saved values, the entries that own them, and what `reach` returns. Raises if one has been freed.
        self.fetch: Callable[..., Any] = env["fetch"]
        #: From the heads' entries: the entries of the variables and the entries of the operations.
        self.reach: Callable[..., Any] = env["reach"]

    def _results(self, found: dict[Node, Node]) -> list[Node]:
        """The outputs of the program: the gradients of the variables, selected from all gradients that were found."""
        return [found[n] if n in found else G.full(shape=n.shape, value=0, dtype=n.dtype) for n in self.wrt]

    def _compile(self, device: Device) -> Program:
        """Computes the gradients from the saved values and the head gradients; compiled on first use, which is on this device."""
        self._program = found = Program(self.outputs, self.leaves, backend_for(device), title=Title("backward"), device=device)
        return found

    @cached_property
    def bound_op(self) -> BoundOp:
        """The program as an operator, so that backward can join a window."""
        return as_operator("backward", self.outputs, self.leaves, self.again)

    def gradients(self, values: Sequence[Any], device: Device) -> list[Any]:
        """The gradients as contents, given the contents of the leaves; the gradients are deferred if a leaf is pending."""
        arrays = []
        lazy = False
        for v in values:
            if v.__class__ is Value:
                v = v.data
                lazy = lazy or v is None
            arrays.append(v)
        if lazy or device is not CPU:
            exposed = not all(map(may_wait, values))
            if execution_mode(device, tracked=False, lazy=lazy, exposed=exposed, at_once=False) is ExecutionMode.DEFERRED:
                found = defer(self.bound_op, list(map(_captured, values)), device)
                complete(device)
                return list(found)
            arrays = [data_of(v) for v in values]
        run: Any = (self._program or self._compile(device)).run
        if device is not CPU or LISTENERS:
            return contents_of(run_on(device, run, arrays), device)
        try:
            return contents_of(HOST.quick(run.args[0], arrays), device)
        except Exception as error:
            return contents_of(after_failure(error, run, arrays), device)

    def joined(self, tape: Tape | None, entries: Sequence[TapeEntry], given: Sequence[Value], device: Device) -> list[Value] | None:
        """The gradients, added to the window that holds all of the tape's operations: then no forward value needs to be saved.

        None if there is no such window, if an earlier backward has used some operations, or if this backward recomputes forward values.
        """
        if tape is None or not tape.whole or len(tape.windows) != 1 or self.again or any(v.pinned for v in given):
            return None
        if any(entry.tape is None for entry in entries):
            return None
        return join_backward(tape.windows[0], self.raw, self.heads, list(zip(self.seeds, given, strict=True)), device)

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
                # a residual is a bare array without a record: a gradient of the gradient must compute it again from recorded inputs
                if what[0] == "res" and not residuals and cache_of(entry.node).tracked[what[1]]:
                    continue
                nodes = stands_for(entry.node, what)
                first = nodes[0]
                stand_in = at.get(first) or leaf(("saved", len(saved)), first.shape, first.dtype)
                if first not in at:
                    saved.append((stand_in, f"{names[id(entry)]}.saved[{j}]"))
                    owner = names[id(entry)] if len(entry.node.parts) == 1 else f"part({names[id(entry)]}, {what[1]})"
                    owners.append(owner if what[0] == "out" and not residuals else "None")
                for node in nodes:
                    at.setdefault(node, stand_in)
        return at, saved, owners


def _differentiated_inputs(entry: TapeEntry) -> list[TapeEntry]:
    """The inputs of an operation through which gradients flow; none for a leaf, even one that continues an older tape."""
    return [i for i in entry.inputs if has_gradient(i)] if isinstance(entry.node, Application) else []


def _captured(v: Any) -> Any:
    """A saved value in a form that a window may hold. Small arrays are copied, as they may be written once their tape is gone."""
    return Value(HOST.copy(v, CPU)) if v.__class__ is PLAIN else v


def _refuse() -> NoReturn:
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
            _refuse()
        with TABLES.lock:  # all nodes of the gradient must belong to one generation, including those of rebuilt definitions
            return RowGradients.backward_class(heads, differentiable)(heads, given, differentiable)

    return PROGRAMS.get_or((tuple([h.node for h in heads]), given, device.device_type, differentiable), new)


class _Pass:
    """One call of `run_backward`: the heads that are left, by tape, and the gradients found so far, by variable."""

    def __init__(self, cls: type, retain: bool, create_graph: bool) -> None:
        self.cls, self.retain, self.create_graph = cls, retain or create_graph, create_graph
        #: By the serial number of the tape; a tape is removed before its heads are processed, and bridges add older ones only.
        self.todo: dict[float, dict[TapeEntry, list[Any]]] = {}
        #: By `id` of the variable. The dictionary keeps the variables alive, so that no id is used again.
        self.found: dict[int, tuple[Variable, Any]] = {}
        #: All operations that were differentiated, by `id`. They are freed together at the end.
        self.used: dict[int, TapeEntry] = {}

    def head(self, entry: TapeEntry, grad: Any) -> None:
        self.todo.setdefault(_serial(entry), {}).setdefault(entry, []).append(grad)

    def copied(self, grad: Any) -> Any:
        """A copy of a head gradient that becomes the gradient of a leaf: the caller may later write into the head gradient."""
        return wrap(self.cls, invoke(primitive_shape.contiguous.bind(), (grad,))[0])

    def summed(self, grads: list[Any]) -> Any:
        """The sum of the gradients of one entry or variable."""
        total = grads[0]
        for g in grads[1:]:
            total = wrap(self.cls, _plus(total, g._content))
        return total

    def run(self) -> None:
        while self.todo:
            # The newest tape first: its gradients reach older tapes through bridge leaves, whose heads are then added to `todo`. A tape
            # must have all its heads before it runs, or its operations would be differentiated twice.
            here = self._take_heads(max(self.todo))
            heads = list(here)
            grads = [g[0] if len(g) == 1 else self.summed([_ones(self.cls, h) if x is None else x for x in g]) for h, g in here.items()]
            for entry, grad in self._gradients(heads, grads):
                if entry.inputs:  # a bridge: the gradient continues to the entry that the leaf stands for, on the device of that entry
                    link = entry.devices
                    self.head(entry.inputs[0], grad if link is None else wrap(self.cls, on_device(grad, link[0])))
                if entry.grad is not None:
                    before = self.found.get(id(entry.grad))
                    self.found[id(entry.grad)] = entry.grad, grad if before is None else self.summed([before[1], grad])
        # only now: an error on the way leaves the tape whole, and an entry with results on several devices is read more than once
        for entry in () if self.retain else self.used.values():
            entry.saved, entry.tape = (), None

    def _take_heads(self, serial: float) -> dict[TapeEntry, list[Any]]:
        """The heads of a tape whose values are on one device, since a program runs on one. The others are left for later."""
        here = self.todo.pop(serial)
        if len(here) > 1:
            where = [_memory_of(entry) for entry in here]
            others = {entry: grads for (entry, grads), d in zip(here.items(), where, strict=True) if d is not where[0]}
            if others:
                self.todo[serial] = others
                return {entry: grads for entry, grads in here.items() if entry not in others}
        return here

    def _gradients(self, heads: list[TapeEntry], grads: list[Any]) -> list[tuple[TapeEntry, Any]]:
        leaves = [(h, g) for h, g in zip(heads, grads, strict=True) if not isinstance(h.node, Application)]
        inner = [(h, g) for h, g in zip(heads, grads, strict=True) if isinstance(h.node, Application)]
        out = [(h, _ones(self.cls, h) if g is None else self.copied(g)) for h, g in leaves]
        if not inner:
            return out
        if any(h.tape is None for h, _ in inner):
            _refuse()
        heads, grads = [h for h, _ in inner], [g for _, g in inner]
        device = next((device_of(g._content) for g in grads if g is not None), None) or _device_of_records(heads)
        b = compiled_for(heads, tuple([g is not None for g in grads]), device, self.create_graph)
        variables, entries = b.reach(heads)
        given = [g for g in grads if g is not None]
        for k in b.hooked:
            if id(entries[k]) not in self.used:
                run_hook(entries[k])
        results = self._results(b, heads, entries, given, device)
        self.used |= {id(entry): entry for entry in entries}  # freed at the end: with several devices an entry may be used twice
        return out + list(zip(variables, results, strict=True))

    def _results(self, b: Backward, heads: list[TapeEntry], entries: Sequence[TapeEntry], given: list[Any], device: Device) -> list[Any]:
        """A structure's gradients, as cells."""
        values = [g._capture() for g in given]
        found = None if self.create_graph else b.joined(heads[0].tape, entries, values, device)
        if found is None:
            saved, owners, *_ = _fetched(b, heads)
            if self.create_graph:
                return recorded_gradients(b, saved, owners, given, self.cls, device)
            found = b.gradients([*saved, *values], device)
        return [wrap(self.cls, new) for new in found]


def _fetched(b: Backward, heads: Sequence[TapeEntry]) -> Any:
    """The saved values of the operations below the heads, and what else `Backward.fetch` returns.

    Raises
    ------
    AutogradError
        If an earlier backward has used and freed them.
    """
    tape = heads[0].tape
    if tape is not None:
        save_recorded(tape)
    return b.fetch(heads)


def _serial(entry: TapeEntry) -> float:
    """The position of an entry's tape among all tapes; a bridge from a closed tape comes right after the tape that it continues."""
    if entry.tape is not None:
        return entry.tape.serial
    return _serial(entry.inputs[0]) + 0.5 if isinstance(entry.node, Leaf) and entry.inputs else 0


def _ones(cls: type, entry: TapeEntry) -> Any:
    return wrap(cls, full_content(1, entry.node.shape, entry.node.dtype, _device_of_records([entry])))


def _memory_of(entry: TapeEntry) -> Device:
    """The device whose memory holds an entry's values; one for all CPU devices."""
    device = _device_of_records([entry])
    return CPU if device.is_host else device


def _device_of_records(heads: Sequence[TapeEntry]) -> Device:
    """The device of the first saved value or leaf below some entries."""
    # entries do not know their device: only the values that they have saved do, and an operation may have saved nothing
    seen, stack = set(), list(heads)
    while stack:
        entry = stack.pop()
        if entry is None or id(entry) in seen:
            continue
        seen.add(id(entry))
        if entry.devices is not None:
            return entry.devices[1]
        for v in entry.saved:
            if v.__class__ is Value or v.__class__ is PLAIN:
                return device_of(v)
        if entry.grad is not None:
            return device_of(entry.grad.cell._content)
        stack.extend(entry.inputs)
    return CPU


def _run_cached(head: TapeEntry, retain: bool) -> list[tuple[Variable, Any]] | None:
    """Backward in the most common case; None in any other.

    The case is one head without a head gradient, whose structure is known, on one device, without bridges and hooks.
    """
    device: Any = head.tape.device if head.tape is not None else None
    b = PROGRAMS.get(((head.node,), ONES, device.device_type, False)) if device else None
    if b is None or b.hooked or b.is_complex:
        return None
    b.used = True  # as `Cache.get_or`
    deferred = bool(head.tape.windows)  # type: ignore[union-attr]
    saved: Sequence[Any] = ()
    if deferred:
        variables, entries = b.reach((head,))
    else:
        saved, _, variables, entries = b.fetch((head,))
    # no side effect up to the last `return None`, so the general path can start afresh
    wanted: list[Variable] = []
    for entry in variables:
        if entry.inputs or entry.grad is None:
            return None
        wanted.append(entry.grad)
    if len(set(wanted)) < len(wanted):  # a variable with two leaves: its gradients are added
        return None
    joined = b.joined(head.tape, entries, (), device) if deferred else None
    if deferred and joined is None:
        saved = _fetched(b, (head,))[0]
    found: Sequence[Any] = b.gradients(saved, device) if joined is None else joined
    if not retain:
        for entry in entries:
            entry.saved, entry.tape = (), None
    return list(zip(wanted, found, strict=True))


def run_backward(
    heads: Sequence[TapeEntry], grads: Sequence[Any], cls: type, *, retain: bool = False, create_graph: bool = False
) -> list[tuple[Variable, Any]]:
    """Gradients of the variables below tape entries, as contents.

    Parameters
    ----------
    heads, grads
        Tape entries and their head gradients (cells; None: ones).
    cls
        Array class that a recorded computation of gradients runs on.
    retain
        Keep what the tape saved, for another backward.
    create_graph
        Record the computation of the gradients, so that they have gradients themselves.

    Raises
    ------
    AutogradError
        If the graph was already used and not retained, or a head without a head gradient is complex.
    """
    for head, grad in zip(heads, grads, strict=True):
        if grad is None and head.node.dtype in COMPLEX:
            todo = "make it real (abs, real, a sum of squares), or pass head gradients"
            raise AutogradError("backward: a complex number cannot be a loss", f"dtype {head.node.dtype}", todo)
    # a training loop calls `loss.backward()` with the same structure again and again: one look-up in the cache, and no `_Pass`
    if len(heads) == 1 and grads[0] is None and not create_graph:
        found = _run_cached(heads[0], retain)
        if found is not None:
            if not retain and tls.tape is not None:
                renumber()
            return found
    work = _Pass(cls, retain, create_graph)
    # sums and conjugates of gradients must not be recorded, although backward may run inside `record()`
    was = tls.tape
    if not create_graph:
        tls.tape = None
    try:
        for head, grad in zip(heads, grads, strict=True):
            work.head(head, None if grad is None else _conjugated(cls, grad))
        work.run()
        found = [(variable, _conjugated(cls, grad)._content) for variable, grad in work.found.values()]
    finally:
        tls.tape = was
    # A loop inside one `record()` scope calls backward in each iteration. On the same tape its leaves would have new numbers every time,
    # and no program would be found again.
    if not work.retain:
        renumber()
    return found


def _conjugated(cls: type, grad: Any) -> Any:
    """A gradient in the other convention: that of users, or that of `graph.gradient`."""
    if type_of(grad._content)[1] not in COMPLEX:
        return grad
    return wrap(cls, invoke(complex_numbers.conjugate.bind(), (grad,))[0])


def recorded_gradients(
    b: Backward, saved: Sequence[Any], owners: Sequence[TapeEntry | None], given: Sequence[Any], cls: type, device: Device
) -> list[Any]:
    """The gradients, computed operator by operator on recording cells, so that they can be differentiated."""
    cells: dict[Node, Any] = {}
    # A saved value is a cell with the entry that it had in forward, so that the gradient of the gradient continues into forward.
    for slot, v, owner in zip(b.inputs, saved, owners, strict=True):
        if v.__class__ is PLAIN:
            cells[slot] = wrap(cls, Value(v, owner, None, CPU, ALWAYS))
        elif v.__class__ is not Value:
            cells[slot] = v
        elif v.entry is None and owner is not None:  # a copy has no entry: it gets that of the operation
            cells[slot] = wrap(cls, seen := alias(data_of(v), v))
            seen.entry = owner
        else:
            cells[slot] = wrap(cls, v)
    cells |= dict(zip(b.seeds, given, strict=True))
    taken = set(cells)
    outputs = b.outputs
    for n in topological(outputs):
        if n in cells:
            continue
        if isinstance(n, Constant):
            cells[n] = n.number
        elif applies(n, item):
            cells[n] = cells[n.operands[0]][n.bound_op.params["place"]]
        elif applies(n, user_backward):
            results = cells[n.inputs[0]].backward_on_cells([cells[i] for i in n.inputs[1:]])  # type: ignore[index]
            cells[n] = results[0] if len(results) == 1 else results
        elif isinstance(n, Application):
            results = [wrap(cls, r) for r in invoke(n.bound_op, [None if i is None else cells[i] for i in n.inputs], device)]
            cells[n] = results[0] if len(results) == 1 else results
    results = []
    for o, w in zip(outputs, b.wrt, strict=True):
        found = cells[o]
        if o in taken and isinstance(found, Cell):  # an array that others hold already
            found = wrap(cls, invoke(primitive_shape.contiguous.bind(), (found,))[0])
        taken.add(o)
        results.append(found if isinstance(found, Cell) else wrap(cls, full_content(found, w.shape, w.dtype, device)))
    return results


def run_hook(entry: TapeEntry) -> None:
    """Write the results of an operator's ``on_backward`` rule into its input cells."""
    bound_op, arguments, targets = entry.hook
    was, tls.tape = tls.tape, None  # on a tape the saved results would become leaves, which end the gradient of a gradient
    try:
        results = invoke(bound_op, arguments)
    finally:
        tls.tape = was
    for cell, new in zip(targets, results, strict=True):
        store(cell, new)


def _plus(cell: Cell, grad: Content) -> Content:
    """The sum of a variable's gradient and a new one."""
    if cell._content.__class__ in DENSE and grad.__class__ in DENSE:
        return invoke(primitive_arithmetic.add.bind(), (cell, wrap(Cell, grad)))[0]
    return RowGradients.add(cell, grad)


def assign(gradients: Sequence[tuple[Variable, Content]]) -> None:
    """Store gradients (contents) in their variables' cells, which remain the same objects.

    Unlike after `store`, nothing is left of a cell's earlier history: it would keep the tape of every gradient of a gradient alive.
    """
    for variable, grad in gradients:
        cell = variable.cell
        variable.fresh = True
        if variable.req == "null":
            continue
        if variable.req == MISFIT:
            found, wanted = type_of(variable.cell._content), type_of(grad)
            raise ShapeError("backward: the array marked for a gradient does not fit it", f"{found} for {wanted}", "mark one that does")
        if variable.req == "add":
            grad = _plus(cell, grad)
        old = cell._content
        if old.__class__ is not PLAIN or grad.__class__ is not PLAIN:
            device = device_of(old)
            grad = grad if device_of(grad) is device else to_device(grad, device)
            if old.__class__ is Value and (old.sharing is PINNED or old.sharing.__class__ is Value) and old.pinned:
                grad = written_out(old, grad)
        cell._content = grad

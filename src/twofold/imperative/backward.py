"""Backward: runs the gradients of recorded operations, and stores them.

A tape that continues an older one has bridge leaves; the newest tape is differentiated first, and each tape has a cached program of its
own (`backward_program`).
"""

from collections.abc import Sequence
from typing import Any

from ..assembly import inlined
from ..device import CPU, Device
from ..dtype import COMPLEX
from ..errors import AutogradError, ShapeError
from ..graph.build import item
from ..graph.ir import Application, Constant, Leaf, Node, applies, topological
from ..ops import complex_numbers, primitive_arithmetic, primitive_shape
from ..ops.custom import user_backward
from ..ops.element_access import identity_with_attr_like_rhs
from ..program.cache import PROGRAMS
from .backward_program import Backward, RowGradients, compiled_for, fetched, refuse
from .cell import ALWAYS, DENSE, PLAIN, Cell, Content, Value, alias, content_of, wrap
from .guards import has_gradient, is_differentiated, is_exposed
from .invoke import data_of, device_of, full_content, invoke, type_of
from .scope import renumber
from .tape import MISFIT, TapeEntry, Variable, tls
from .trace import Trace
from .transfer import on_device, store, to_device, written_out

ONES = (False,)


class _Pass:
    """One call of `run_backward`: the heads that are left, by tape, and the gradients found so far, by variable."""

    def __init__(self, cls: type[Cell], retain: bool, create_graph: bool) -> None:
        # a gradient that will be differentiated needs the values that forward saved once more
        self.cls, self.retain, self.create_graph = cls, retain or create_graph, create_graph
        #: By the serial number of the tape; a tape is removed before its heads are processed, and bridges add older ones only.
        self.todo: dict[float, dict[TapeEntry, list[Cell | None]]] = {}
        #: By `id` of the variable. The dictionary keeps the variables alive, so that no id is used again.
        self.found: dict[int, tuple[Variable, Cell]] = {}
        #: All operations that were differentiated, by `id`. They are freed together at the end.
        self.used: dict[int, TapeEntry] = {}

    def head(self, entry: TapeEntry, grad: Cell | None) -> None:
        self.todo.setdefault(_serial(entry), {}).setdefault(entry, []).append(grad)

    def copied(self, grad: Cell) -> Cell:
        """A copy of a head gradient that becomes the gradient of a leaf: the caller may later write into the head gradient."""
        return wrap(self.cls, invoke(primitive_shape.contiguous.bind(), (grad,))[0])

    def summed(self, grads: list[Cell]) -> Cell:
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
            # A single None stays None: the program has the ones as constants, and simplification removes them. Only a sum needs arrays.
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

    def _take_heads(self, serial: float) -> dict[TapeEntry, list[Cell | None]]:
        """The heads of a tape whose values are on one device, since a program runs on one. The others are left for later."""
        here = self.todo.pop(serial)
        if len(here) > 1:
            # devices of the host share memory, so one program can read the values of all of them
            where = [_memory_of(entry) for entry in here]
            others = {entry: grads for (entry, grads), d in zip(here.items(), where, strict=True) if d is not where[0]}
            if others:
                self.todo[serial] = others
                return {entry: grads for entry, grads in here.items() if entry not in others}
        return here

    def _gradients(self, heads: list[TapeEntry], grads: list[Cell | None]) -> list[tuple[TapeEntry, Cell]]:
        leaves = [(h, g) for h, g in zip(heads, grads, strict=True) if not isinstance(h.node, Application)]
        inner = [(h, g) for h, g in zip(heads, grads, strict=True) if isinstance(h.node, Application)]
        # a head that is a variable itself, or continues an older tape: its head gradient is its gradient, and no program runs
        out = [(h, _ones(self.cls, h) if g is None else self.copied(g)) for h, g in leaves]
        if self.create_graph:
            out = [(h, _connected(self.cls, h, g)) for h, g in out]
        if not inner:
            return out
        if any(h.tape is None for h, _ in inner):
            refuse()
        heads, grads = [h for h, _ in inner], [g for _, g in inner]
        device = next((device_of(g._content) for g in grads if g is not None), None) or _device_of_records(heads)
        b = compiled_for(heads, tuple([g is not None for g in grads]), device, self.create_graph)
        variables, entries = b.reach(heads)
        given = [g for g in grads if g is not None]
        for k in b.hooked:
            # a structure with heads on several devices is passed once for each device, but states change once
            if id(entries[k]) not in self.used:
                run_hook(entries[k])
        results = self._results(b, heads, entries, given, device)
        self.used |= {id(entry): entry for entry in entries}  # freed at the end: with several devices an entry may be used twice
        if self.create_graph:
            results = [_connected(self.cls, *pair) for pair in zip(variables, results, strict=True)]
        return out + list(zip(variables, results, strict=True))

    def _results(self, b: Backward, heads: list[TapeEntry], entries: Sequence[TapeEntry], given: list[Cell], device: Device) -> list[Cell]:
        """A structure's gradients, as cells."""
        values = [g._capture() for g in given]
        # a window that is still open takes the gradients in, so that forward and backward become one program and nothing is saved
        found = None if self.create_graph else b.joined(heads[0].tape, entries, values, device)
        if found is None:
            saved, owners, *_ = fetched(b, heads)
            if self.create_graph:
                return recorded_gradients(b, saved, owners, given, self.cls, device)
            found = b.gradients([*saved, *values], device)
        if b.in_parts:
            found = b.completed(found, device)
        return [wrap(self.cls, new) for new in found]


def _serial(entry: TapeEntry) -> float:
    """The position of an entry's tape among all tapes; a bridge from a closed tape comes right after the tape that it continues."""
    if entry.tape is not None:
        return entry.tape.serial
    return _serial(entry.inputs[0]) + 0.5 if isinstance(entry.node, Leaf) and entry.inputs else 0


def _ones(cls: type[Cell], entry: TapeEntry) -> Cell:
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


def _run_cached(head: TapeEntry, retain: bool) -> list[tuple[Variable, Content]] | None:
    """Backward in the most common case; None in any other.

    The case is one head without a head gradient, whose structure is known, on one device, without bridges and hooks.
    """
    device: Any = head.tape.device if head.tape is not None else None
    # the key of `compiled_for`; `device` is False for a tape of several devices
    b = PROGRAMS.get(((head.node,), ONES, device.device_type, False)) if device else None
    if b is None or b.hooked or b.is_complex:
        return None
    b.used = True  # as `Cache.get_or`
    deferred = bool(head.tape.windows)  # type: ignore[union-attr]
    saved: Sequence[Content] = ()
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
        # the open window does not take in the gradients, so it must give out the values that they read
        saved = fetched(b, (head,))[0]
    found: Sequence[Content] = b.gradients(saved, device) if joined is None else joined
    if b.in_parts and joined is None:  # an error leaves the tape whole
        found = b.completed(found, device)
    if not retain:
        for entry in entries:
            entry.saved, entry.tape = (), None
    if b.in_parts and joined is not None:  # now that the window of these operations need not hand out what they saved
        found = b.completed(found, device)
    return list(zip(wanted, found, strict=True))


def run_backward(
    heads: Sequence[TapeEntry], grads: Sequence[Cell | None], cls: type[Cell], *, retain: bool = False, create_graph: bool = False
) -> list[tuple[Variable, Content]]:
    """Gradients of the variables below tape entries, as contents.

    Parameters
    ----------
    heads, grads
        Tape entries and their head gradients (cells; None: ones).
    cls
        Array class that a recorded computation of gradients runs on.
    retain
        Keep the values that the tape saved, for another backward.
    create_graph
        Record the computation of the gradients, so that they have gradients themselves.

    Raises
    ------
    AutogradError
        If the graph was already used and not retained, a head without a head gradient is complex, or a transform of `twofold.func` traces.
    """
    if isinstance(tls.tape, Trace):
        todo = "call func.grad or func.vjp inside the function instead"
        raise AutogradError(f"backward: gradients of the tape do not pass through {tls.tape.what}", None, todo)
    # before anything is freed or written, so that the caller can repair the call and repeat it
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
        # computed first, stored by the caller (`assign`): an error before that leaves every ``grad`` unchanged
        found = [(variable, _conjugated(cls, grad)._content) for variable, grad in work.found.values()]
    finally:
        tls.tape = was
    # A loop inside one `record()` scope calls backward in each iteration. On the same tape its leaves would have new numbers every time,
    # and no program would be found again.
    if not work.retain:
        renumber()
    return found


def _conjugated(cls: type[Cell], grad: Cell) -> Cell:
    """A gradient in the other convention: that of users, or that of `graph.gradient`."""
    if type_of(grad._content)[1] not in COMPLEX:
        return grad
    return wrap(cls, invoke(complex_numbers.conjugate.bind(), (grad,))[0])


def recorded_gradients(
    b: Backward, saved: Sequence[Content], owners: Sequence[TapeEntry | None], given: Sequence[Cell], cls: type[Cell], device: Device
) -> list[Cell]:
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


def _connected(cls: type[Cell], variable: TapeEntry, grad: Cell) -> Cell:
    """A gradient as a result computed from its variable: one that does not depend on it has a gradient of 0, not none."""
    v = grad._capture()
    if is_differentiated(v) or not has_gradient(variable):
        return grad
    # any array of the variable's type can stand for the variable, whose value is not read
    stand_in = alias(data_of(v), v)
    stand_in.entry = variable
    return wrap(cls, invoke(identity_with_attr_like_rhs.bind(), (grad, wrap(cls, stand_in)))[0])


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
    if content_of(cell).__class__ in DENSE and grad.__class__ in DENSE:
        return invoke(primitive_arithmetic.add.bind(), (cell, wrap(Cell, grad)))[0]
    return RowGradients.add(cell, grad)


@inlined
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
        old = content_of(cell)
        # two plain contents need none of this: both are on cpu(0), and nothing else sees them
        if old.__class__ is not PLAIN or grad.__class__ is not PLAIN:
            device = device_of(old)
            grad = grad if device_of(grad) is device else to_device(grad, device)
            if old.__class__ is Value and is_exposed(old):
                grad = written_out(old, grad)
        if cell._held is not None:
            cell._held = grad
        else:  # a view: into its root
            cell._content = grad

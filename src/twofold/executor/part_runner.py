"""Runs the parts of a bound graph: forward in order, backward in reverse order, copying values between devices."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from ..assembly import fragment, inlined
from ..backend.kernel import Array
from ..device import CPU, Device
from ..imperative.cell import ALWAYS, Cell, Content, Value, content_of, lent, wrap
from ..imperative.deferral import defer
from ..imperative.dispatch import joins_window
from ..imperative.failure import host_results
from ..imperative.invoke import content, contents_of, data_of, full_content
from ..imperative.pending import issue
from ..imperative.tape import Tape
from ..imperative.transfer import store
from ..imperative.window import flush_complete
from ..ndarray.array import NDArray
from ..opdef import BoundOp
from ..program.compile import Program
from ..scheduler.observers import LISTENERS
from ..scheduler.streams import run_on
from .function import random_keys, user_objects
from .part import Key, Part, head_key
from .predictions import Predictions
from .training import HeadKind, Training
from .transport import add_contents, arrays_on, values_on, zeros


class Residuals(NamedTuple):
    """The state that a training forward saved for backward.

    Attributes
    ----------
    training
        The mode of that forward.
    arrays
        For each part the arrays or Values that its backward reads.
    joined
        Whether forward joined a window.
    tape
        Owns the arguments among them: while it lives, a write to an argument makes a copy instead of overwriting a value that backward will
        read.
    views
        The contents of the arguments that are views, whose owners are not overwritten while these live.
    """

    training: bool
    arrays: list[list[Content]]
    joined: bool
    tape: Tape
    views: list[Value]


@fragment
def _operands(cells: Sequence[Cell], part: Part, joined: bool) -> list[Content]:
    """The operands of a part's program: arrays, or possibly pending Values if it runs asynchronously or in a window."""
    return values_on(cells, part.device) if part.is_ahead or joined else arrays_on(cells, part.device)


def _defer(bound_op: BoundOp, operands: Sequence[Content], part: Part, is_backward: bool = False) -> list[Value]:
    """Apply a part's operator in the window of its device."""
    values = [v if v.__class__ is Value else Value(v, None, None, part.device, ALWAYS) for v in operands]  # keys: others hold them
    return defer(bound_op, values, part.device, is_backward)


@fragment
def _issue(program: Program, leaves: list[Content], part: Part) -> Sequence[Content]:
    """Run one of a part's programs; returns arrays, or Values if the part runs asynchronously."""
    if part.is_ahead:
        users = bool(part.objects)  # their code must run in the thread that called the executor
        operands = [data_of(v) for v in leaves] if users else leaves
        return issue(program.run, operands, program.outputs, part.device, 0 if users else program.nanoseconds)
    if LISTENERS or part.objects:  # users' code may run programs in turn, and the quick context cannot be entered twice
        return run_on(part.device, program.run, leaves)
    run = program.run
    return host_results(run.args[0], run, leaves)


@fragment
def _contents(results: Sequence[Content], device: Device, shared: Iterable[int] = ()) -> list[Content]:
    """Results as contents of cells; those at the positions in ``shared`` are never overwritten in place."""
    if results and results[0].__class__ is Value:  # noqa: SIM108  `contents_of` has several statements
        contents = list(results)
    else:
        contents = contents_of(results, device)
    for k in shared:
        v = contents[k]
        if v.__class__ is Value:
            v.share()
        else:
            contents[k] = Value(v, None, None, device, ALWAYS)
    return contents


@fragment
def _saved(
    trained: Training, cells: Sequence[Cell], leaves: Sequence[Content], results: Sequence[Content], tape: Tape, views: list[Value]
) -> list[Content]:
    """The operands of forward and residuals that a part's backward reads. The contents of views among them are added to ``views``."""
    saved = []
    for k in trained.reads:
        operand = leaves[k]
        if k < len(cells):
            cell = cells[k]
            v = content_of(cell)
            if v.__class__ is not Value:
                v = cell._promote(v)
            kept = lent(v, tape)
            if kept.sharing.__class__ is Value:
                views.append(kept)
            if kept is not v:  # a copy, because other libraries may write into this memory
                operand = data_of(kept) if operand.__class__ is not Value else kept
        saved.append(operand)
    for k in trained.saved:
        saved.append(results[k])  # noqa: PERF401  a comprehension is a frame
    return saved


class PartRunner:
    """The parts of an executor, and the state of its last forward.

    Parameters
    ----------
    parts_of
        Creates the parts for inference (False) or training (True).
    gradient_part_of
        Creates the part that computes what monitors see of backward; None if there is none.
    arguments, states
        The arrays that the parts read, by name.
    """

    def __init__(
        self,
        parts_of: Callable[[bool], list[Part]],
        gradient_part_of: Callable[[bool], Part | None],
        arguments: Mapping[str, NDArray],
        states: Mapping[str, NDArray],
    ) -> None:
        self._make, self._make_gradients, self._states = parts_of, gradient_part_of, states
        self._bound = {("arg", n): a for n, a in arguments.items()} | {("aux", n): a for n, a in states.items()}
        self._parts: dict[bool, list[Part]] = {}
        self._gradient_parts: dict[bool, Part | None] = {}
        #: The arrays of parts that read bound arrays only: they are the same objects in each run.
        self._fixed: dict[Part, list[Cell]] = {}
        #: Of a graph that is one part on the host, once it has predicted.
        self._predictions: Predictions | None = None
        #: Of the last training forward; None once backward has used them, since it overwrites their memory.
        self._residuals: Residuals | None = None
        #: The random keys of the last forward, by part: a rerun must draw the same numbers.
        self._random: list[list[Array]] = []
        self._created: dict[Part, list[Any]] = {}

    def parts(self, training: bool) -> list[Part]:
        """The parts of a mode, created on first use."""
        found = self._parts.get(training)
        if found is None:
            found = self._parts[training] = self._make(training)
            for part in found:
                part.is_ahead = len(found) > 1 or part.device is not CPU
        return found

    def blank(self, keys: Sequence[Key]) -> list[NDArray]:
        """The values with these keys before the first run: zeros."""
        made = {key: (node, part.device) for part in self.parts(False) for key, node in part.makes}
        return [zeros(made[k][0].shape, made[k][0].dtype, made[k][1]) for k in keys]

    @inlined
    def forward(self, training: bool, keep: bool, *, again: bool = False) -> dict[Key, object]:
        """Run forward.

        Parameters
        ----------
        training
            Whether operators run in training mode.
        keep
            Whether `backward` is to follow.
        again
            Whether this repeats the last forward, with its random keys.

        Returns
        -------
        dict
            The values that parts make for others, as contents.
        """
        self._residuals = None  # released first, so that this run can reuse the memory
        if not again:
            self._random = []
        predictions = self._predictions
        if predictions is not None:
            if training or keep:
                predictions.restart()
            else:
                predicted = predictions.outputs()
                if predicted is not None:
                    return {key: new for (key, _), new in zip(predictions.part.makes, predicted, strict=True)}
        made: dict[Key, object] = {}
        residuals: list[list[Content]] = []
        views: list[Value] = []
        parts = self._parts.get(training) or self.parts(training)
        tape = Tape() if keep else None
        joined = keep and len(parts) == 1 and parts[0].training.joins and joins_window(parts[0].training.largest, parts[0].device)
        if joined:  # another iteration begins here
            flush_complete()
        for number, part in enumerate(parts):
            cells = self._fixed.get(part) or self._cells(part, made)
            leaves = _operands(cells, part, joined)
            if part.keys:
                leaves += self._random_keys(number, part)
            if part.objects:
                leaves += self._objects(number, part)
            visible = len(part.makes) + len(part.written)
            if tape is not None:
                trained = part.training
                if joined:
                    results = _defer(trained.forward_op, leaves, part)
                else:
                    program = part.forward
                    results = _issue(program, leaves, part)
                # assigned to a name of its own, so that `assembly` can write the fragment in
                kept_for_backward = _saved(trained, cells, leaves, results, tape, views)
                residuals.append(kept_for_backward)
                # residuals that the caller cannot see stay bare arrays: only backward holds them, and it may overwrite them
                seen = results[:visible]
                shared = range(visible) if len(parts) > 1 else trained.shared
            else:
                program = part.inference
                seen = _issue(program, leaves, part)
                shared = ()
            device = part.device
            contents = _contents(seen, device, shared)
            for (key, _), new in zip(part.makes, contents, strict=False):
                made[key] = new
            if part.written:
                self._write_states(part.written, contents[len(part.makes) :])
        if tape is not None:
            self._residuals = Residuals(training, residuals, joined, tape, views)
        return made

    def _cells(self, part: Part, made: Mapping[Key, object]) -> list[Cell]:
        """The arrays that a part reads: bound ones, and values made by other parts."""
        bound = self._bound
        cells: list[Cell] = [bound[key] if key in bound else wrap(Cell, made[key]) for key, _ in part.reads]
        if all(key in bound for key, _ in part.reads):  # the same arrays in every run
            self._fixed[part] = cells
            if self._parts.get(False) == [part] and part.device is CPU and not (part.keys or part.objects or part.written):
                self._predictions = Predictions(part, [bound[key] for key, _ in part.reads])
        return cells

    def _random_keys(self, number: int, part: Part) -> list[Array]:
        """A part's random keys, drawn once per forward: rerunning it for backward or a monitor must draw the same numbers."""
        while len(self._random) <= number:
            self._random.append([])
        keys = self._random[number]
        keys += random_keys(len(part.keys) - len(keys), part.device)
        return keys

    def _objects(self, number: int, part: Part) -> list[Any]:
        """A part's users' objects, created in its first run. What they call is one object in both modes."""
        found = self._created.get(part)
        if found is None:
            found = user_objects(part.objects, part.device, [self._bound.get(key) for key, _ in part.reads])
            others = (self._created.get(parts[number]) for parts in self._parts.values() if number < len(parts))
            for new, old in zip(found, next(filter(None, others), ()), strict=False):
                new.share(old)
            self._created[part] = found
        return found

    def _write_states(self, states: Sequence[tuple[str, object]], contents: Sequence[Content]) -> None:
        for (name, _), new in zip(states, contents, strict=False):
            store(self._states[name], new)

    def backward(self, training: bool, heads: Iterable[tuple[Key, object]]) -> dict[Key, object]:
        """Run backward; run forward first if there are no residuals of this mode.

        Parameters
        ----------
        training
            Whether the gradients are those of training mode.
        heads
            Head gradients of values, as contents; ones where None.

        Returns
        -------
        dict
            Gradients of the values that parts read, as contents.
        """
        if self._residuals is None or self._residuals.training != training:
            self.forward(training, keep=True, again=True)
        residuals, self._residuals = self._residuals, None  # used once: the backward program overwrites buffers that have no other holder
        assert residuals is not None
        grads: dict[Key, list[object]] = {}
        for key, head in heads:
            grads.setdefault(key, []).append(head)
        updated: set[str] = set()
        # in reverse, so that every reader of a value has added its gradient before the part that made the value runs
        parts = self._parts.get(training) or self.parts(training)
        for part, arrays in zip(parts[::-1], residuals.arrays[::-1], strict=True):
            if updated:
                self._read_again(part, arrays, updated)
            self._backward_of(part, arrays, grads, residuals.joined)
            updated.update(dict(part.updates))
        total: dict[Key, object] = {}
        for key, found in grads.items():
            total[key] = found[0] if len(found) == 1 else reduce(add_contents, found)  # a comprehension is a frame
        return total

    def _read_again(self, part: Part, arrays: list[Content], updated: Collection[str]) -> None:
        """Reload states that other parts have updated since forward: a state shared by several parts takes the updates of all, in turn."""
        stale = {("aux", name) for name in updated}
        for place, k in enumerate(part.training.reads):
            if k < len(part.reads) and part.reads[k][0] in stale:
                (arrays[place],) = _operands([self._bound[part.reads[k][0]]], part, joined=False)

    @inlined
    def _backward_of(self, part: Part, arrays: list[Content], grads: dict[Key, list[object]], joined: bool) -> None:
        trained = part.training
        kinds: list[HeadKind] = []
        for k in trained.heads:
            key, node = part.makes[k]
            found = grads.pop(key, None)
            if found is None:  # nothing that has a gradient reads this value
                kinds.append(0)
            elif found[0] is None and len(found) == 1:  # an output without head gradient
                kinds.append(1)
            else:  # head gradients, and gradients from the parts that read it
                kinds.append(None)
                given = [full_content(1, node.shape, node.dtype, part.device) if g is None else g for g in found]
                total = [wrap(Cell, reduce(add_contents, given))]
                arrays += _operands(total, part, joined)
        if joined:
            results = _defer(trained.backward_op(tuple(kinds)), arrays, part, is_backward=True)
        else:
            program, device = part.backward(tuple(kinds)), part.device
            computed = _issue(program, arrays, part)
            results = _contents(computed, device)
        for key, new in zip(part.wanted, results, strict=False):
            grads.setdefault(key, []).append(new)
        if part.updates:
            self._write_states(part.updates, results[len(part.wanted) :])

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of all inner values, recomputed with the random keys of the last forward."""
        made: dict[Key, object] = {}
        for number, part in enumerate(self.parts(training)):
            leaves = self._leaves_again(number, part, self._cells(part, made))
            for (key, _), data in zip(part.makes, run_on(part.device, part.inference.run, leaves), strict=False):
                made[key] = content(data, part.device)
            for internal, data in zip(part.internals, run_on(part.device, part.inner.run, leaves), strict=True):
                yield internal.name, internal.is_input, wrap(NDArray, content(data, part.device))

    def gradients(self, training: bool, heads: Iterable[tuple[Key, object]]) -> Iterator[tuple[str, NDArray]]:
        """(name, value) of all gradients inside the graph, for the gradients of its outputs; ones where these are None."""
        if training not in self._gradient_parts:
            self._gradient_parts[training] = self._make_gradients(training)
        part = self._gradient_parts[training]
        if part is None or not part.internals:
            return
        made: dict[Key, object] = {}
        types = dict(part.reads)
        for number, (_, head) in enumerate(heads):
            key = head_key(number)
            made[key] = full_content(1, types[key].shape, types[key].dtype, part.device) if head is None else head
        leaves = self._leaves_again(0, part, self._cells(part, made))
        for internal, data in zip(part.internals, run_on(part.device, part.inner.run, leaves), strict=True):
            yield internal.name, wrap(NDArray, content(data, part.device))

    def _leaves_again(self, number: int, part: Part, cells: Sequence[Cell]) -> list[Any]:
        """What a part's program reads in another run for a monitor: the same random keys, and no user's state."""
        leaves = arrays_on(cells, part.device) + self._random_keys(number, part)
        # copies of the states, and new users' objects: monitoring must not run the user's updates on the real states a second time
        states = [self._bound[key].copy() if key[0] == "aux" else None for key, _ in part.reads] if part.objects else []
        return leaves + user_objects(part.objects, part.device, states)

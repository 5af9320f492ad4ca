"""Runs the parts of a bound graph: forward in order, backward in reverse, values passed from device to device."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..device import CPU, Device
from ..imperative.cell import ALWAYS, Cell, Value, wrap
from ..imperative.deferral import defer
from ..imperative.invoke import content, contents_of, data_of
from ..imperative.pending import issue
from ..imperative.record import Tape
from ..imperative.way import joins_window
from ..imperative.window import complete, flush_complete
from ..ndarray.array import NDArray
from ..opdef.spec import Sig
from ..program.compile import Program
from ..scheduler.observers import LISTENERS
from ..scheduler.streams import run_on
from .function import random_keys, user_objects
from .part import Key, Part
from .training import HeadKind, Training
from .transport import added, arrays_on, filled, put, values_on


class Kept(NamedTuple):
    """What a training forward left for backward.

    Attributes
    ----------
    training
        Its mode.
    arrays
        Per part what its backward reads: arrays, or Values.
    joined
        Whether forward joined a window.
    tape
        While it lives, arguments among them are not written in place.
    """

    training: bool
    arrays: list[list[Any]]
    joined: bool
    tape: Tape


class Run:
    """The parts of one executor, and what its last forward left behind.

    Parameters
    ----------
    parts_of
        Makes the parts for inference (False) or training (True).
    arguments, states
        The arrays that the parts read, by name.
    """

    def __init__(self, parts_of: Callable[[bool], list[Part]], arguments: Mapping[str, NDArray], states: Mapping[str, NDArray]) -> None:
        self._make, self._states = parts_of, states
        self._bound = {("arg", n): a for n, a in arguments.items()} | {("aux", n): a for n, a in states.items()}
        self._parts: dict[bool, list[Part]] = {}
        self._kept: Kept | None = None
        self._random: list[list[Any]] = []
        self._made: dict[Part, list[Any]] = {}

    def parts(self, training: bool) -> list[Part]:
        """The parts of a mode, made when first asked for."""
        found = self._parts.get(training)
        if found is None:
            found = self._parts[training] = self._make(training)
            for part in found:
                part.is_ahead = len(found) > 1 or part.device is not CPU
        return found

    def forget(self) -> None:
        """Let go of what the last forward kept, and draw new random keys from now on."""
        self._kept, self._random = None, []

    def forward(self, training: bool, keep: bool) -> dict[Key, Any]:
        """Run forward.

        Parameters
        ----------
        training
            Whether operators run in training mode.
        keep
            Whether `backward` is to follow.

        Returns
        -------
        dict
            Every value that parts make for others, as contents.
        """
        made: dict[Key, Any] = {}
        kept: list[list[Any]] = []
        tape = Tape()
        parts = self.parts(training)
        joined = keep and _may_join(parts)
        for number, part in enumerate(parts):
            cells = self._cells(part, made)
            leaves = _operands(cells, part, joined)
            if part.keys:
                leaves += self._random_keys(number, part)
            if part.objects:
                leaves += self._objects(part)
            if keep:
                steps = part.training
                results = _defer(steps.forward_sig, leaves, part) if joined else _issue(steps.forward, leaves, part)
                shared = range(len(results)) if len(parts) > 1 else steps.kept  # what backward reads too: a write into it makes a copy
                contents = [_shared(r, part.device) if k in shared else _content(r, part.device) for k, r in enumerate(results)]
                kept.append(_saved(steps, cells, leaves, results, tape))
            else:
                contents = _contents(_issue(part.inference, leaves, part), part.device)
            for (key, _), new in zip(part.makes, contents, strict=False):
                made[key] = new
            if part.written:
                self._write_states(part.written, contents[len(part.makes) :])
        self._kept = Kept(training, kept, joined, tape) if keep else None
        return made

    def _cells(self, part: Part, made: Mapping[Key, Any]) -> list[Cell]:
        """What the part reads: bound arrays, and values that others made."""
        bound = self._bound
        return [bound[key] if key in bound else wrap(Cell, made[key]) for key, _ in part.reads]

    def _random_keys(self, number: int, part: Part) -> list[Any]:
        """The part's keys, drawn once for each forward: running it again for backward or for a monitor draws the same."""
        while len(self._random) <= number:
            self._random.append([])
        keys = self._random[number]
        keys += random_keys(len(part.keys) - len(keys), part.device)
        return keys

    def _objects(self, part: Part) -> list[Any]:
        """The part's users' objects, made at the first run."""
        found = self._made.get(part)
        if found is None:
            found = self._made[part] = user_objects(part.objects, part.device, [self._bound.get(key) for key, _ in part.reads])
        return found

    def _write_states(self, states: Sequence[tuple[str, Any]], contents: Sequence[Any]) -> None:
        for (name, _), new in zip(states, contents, strict=False):
            put(self._states[name], new, self._states[name].context)

    def backward(self, training: bool, heads: Iterable[tuple[Key, Any]]) -> dict[Key, Any]:
        """Run backward, and forward before it if the last one was not of this mode or was used already.

        Parameters
        ----------
        training
            Whether the gradients are those of training mode.
        heads
            Head gradients of values, as contents; ones where None.

        Returns
        -------
        dict
            Gradients of what the parts read, as contents.
        """
        if self._kept is None or self._kept.training != training:
            self.forward(training, keep=True)
        kept, self._kept = self._kept, None
        assert kept is not None
        grads: dict[Key, list[Any]] = {}
        for key, head in heads:
            grads.setdefault(key, []).append(head)
        for part, arrays in zip(self.parts(training)[::-1], kept.arrays[::-1], strict=True):
            self._backward_of(part, arrays, grads, kept.joined)
        return {key: found[0] if len(found) == 1 else _total(found) for key, found in grads.items()}

    def _backward_of(self, part: Part, arrays: list[Any], grads: dict[Key, list[Any]], joined: bool) -> None:
        steps = part.training
        kinds: list[HeadKind] = []
        for k in steps.heads:
            key, node = part.makes[k]
            found = grads.pop(key, None)
            if found is None:
                kinds.append(0)
            elif found[0] is None and len(found) == 1:
                kinds.append(1)
            else:
                kinds.append(None)
                given = [filled(1, node.shape, node.dtype, part.device) if g is None else g for g in found]
                arrays += _operands([wrap(Cell, _total(given))], part, joined)
        if joined:
            results = _defer(steps.backward_sig(tuple(kinds)), arrays, part)
            complete(part.device)
        else:
            results = _contents(_issue(steps.backward(tuple(kinds)), arrays, part), part.device)
        for key, new in zip(part.wanted, results, strict=False):
            grads.setdefault(key, []).append(new)
        if part.updates:
            self._write_states(part.updates, results[len(part.wanted) :])

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of every value inside, computed again with the last forward's random keys."""
        made: dict[Key, Any] = {}
        for number, part in enumerate(self.parts(training)):
            leaves = arrays_on(self._cells(part, made), part.device) + self._random_keys(number, part)
            states = [self._bound[key].copy() if key[0] == "aux" else None for key, _ in part.reads] if part.objects else []
            leaves += user_objects(part.objects, part.device, states)
            for (key, _), data in zip(part.makes, run_on(part.device, part.inference.run, leaves), strict=False):
                made[key] = content(data, part.device)
            for internal, data in zip(part.internals, run_on(part.device, part.inner.run, leaves), strict=True):
                yield internal.name, internal.is_input, wrap(NDArray, content(data, part.device))


def _may_join(parts: Sequence[Part]) -> bool:
    """Whether forward and backward of a graph join a window; where they do, another iteration begins here."""
    joined = len(parts) == 1 and parts[0].training.joins and joins_window(parts[0].training.largest)
    if joined:
        flush_complete()
    return joined


def _operands(cells: Sequence[Cell], part: Part, joined: bool) -> list[Any]:
    """What a part's program reads of cells: arrays, or Values, which may be pending, where it runs ahead or in a window."""
    return values_on(cells, part.device) if part.is_ahead or joined else arrays_on(cells, part.device)


def _defer(sig: Sig, operands: Sequence[Any], part: Part) -> list[Value]:
    """The results of a part's operator, in the window of its device."""
    values = [v if v.__class__ is Value else Value(v, None, None, part.device, ALWAYS) for v in operands]  # keys, which others hold
    return defer(sig, values, part.device)


def _issue(program: Program, leaves: list[Any], part: Part) -> Sequence[Any]:
    """The results of one of a part's programs: arrays, or Values where it runs ahead."""
    if part.is_ahead:
        users = bool(part.objects)  # their code runs in the thread that called the executor
        operands = [data_of(v) for v in leaves] if users else leaves
        return issue(program.run, operands, program.outputs, part.device, 0 if users else program.nanoseconds)
    return run_on(part.device, program.run, leaves) if LISTENERS else program.run(leaves)


def _contents(results: Sequence[Any], device: Device) -> list[Any]:
    """Results as contents that nobody else has."""
    return list(results) if results and results[0].__class__ is Value else contents_of(results, device)


def _content(result: Any, device: Device) -> Any:
    return result if result.__class__ is Value else content(result, device)


def _shared(result: Any, device: Device) -> Value:
    """A result as a Value that is never written in place."""
    if result.__class__ is not Value:
        return Value(result, None, None, device, ALWAYS)
    result.share()
    return result


def _saved(steps: Training, cells: Sequence[Cell], leaves: Sequence[Any], results: Sequence[Any], tape: Tape) -> list[Any]:
    """What the part's backward reads: of what it was given, and of what forward kept."""
    given = list(leaves)
    for k in steps.reads:
        if k < len(cells):
            v = cells[k]._capture()
            lent = v.lend(tape)
            if lent is not v:  # a copy of memory that the outside may write
                given[k] = data_of(lent) if given[k].__class__ is not Value else lent
    return [given[k] for k in steps.reads] + [results[k] for k in steps.kept]


def _total(grads: Sequence[Any]) -> Any:
    """The sum of contents."""
    total = grads[0]
    for new in grads[1:]:
        total = added(total, new)
    return total

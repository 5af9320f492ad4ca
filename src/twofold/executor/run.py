"""Runs the parts of a bound graph: forward in order, backward in reverse, values passed from device to device."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..backend.loader import backend_for
from ..device import Device
from ..imperative.cell import Cell, Value, wrap
from ..imperative.generator import STREAMS
from ..imperative.invoke import content
from ..imperative.record import Tape
from ..ndarray.array import NDArray
from .part import Key, Part
from .transport import added, data_on, filled


class Kept(NamedTuple):
    """What a training forward left for backward.

    Attributes
    ----------
    training
        Its mode.
    arrays
        Per part the arrays that its backward reads.
    tape
        While it lives, arguments among them are not written in place.
    """

    training: bool
    arrays: list[list[Any]]
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
        self._make, self._arguments, self._states = parts_of, arguments, states
        self._parts: dict[bool, list[Part]] = {}
        self._kept: Kept | None = None
        self._random: list[list[Any]] = []

    def parts(self, training: bool) -> list[Part]:
        """The parts of a mode, made when first asked for."""
        found = self._parts.get(training)
        if found is None:
            found = self._parts[training] = self._make(training)
        return found

    def forget(self) -> None:
        """Let go of what the last forward kept, and draw new random keys from now on."""
        self._kept, self._random = None, []

    def forward(self, training: bool, keep: bool) -> dict[Key, NDArray]:
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
            Every value that parts make for others.
        """
        made: dict[Key, NDArray] = {}
        kept: list[list[Any]] = []
        tape = Tape()
        for number, part in enumerate(self.parts(training)):
            cells = [self._cell(key, made) for key, _ in part.reads]
            leaves = [data_on(cell, part.device) for cell in cells] + self._random_keys(number, part)
            results = (part.training.forward if keep else part.inference).run(leaves)
            both = set(part.training.kept) if keep else set()
            contents = [_shared(r, part.device) if k in both else content(r, part.device) for k, r in enumerate(results)]
            made |= {key: wrap(NDArray, contents[k]) for k, (key, _) in enumerate(part.makes)}
            self._write_states(part.written, contents[len(part.makes) :])
            if keep:
                kept.append(_saved(part, cells, leaves, results, tape))
        self._kept = Kept(training, kept, tape) if keep else None
        return made

    def _cell(self, key: Key, made: Mapping[Key, NDArray]) -> NDArray:
        kind, name = key
        return self._arguments[name] if kind == "arg" else self._states[name] if kind == "aux" else made[key]

    def _random_keys(self, number: int, part: Part) -> list[Any]:
        """The part's keys, drawn once for each forward: running it again for backward or for a monitor draws the same."""
        while len(self._random) <= number:
            self._random.append([])
        keys, backend = self._random[number], backend_for(part.device)
        keys += [backend.from_host(STREAMS.of(part.device).next_key(), part.device) for _ in part.keys[len(keys) :]]
        return keys

    def _write_states(self, states: Sequence[tuple[str, Any]], contents: Sequence[Any]) -> None:
        for (name, _), new in zip(states, contents, strict=False):
            self._states[name]._v = new

    def backward(self, training: bool, heads: Iterable[tuple[Key, Any]]) -> dict[Key, Any]:
        """Run backward, and forward before it if the last one was not of this mode or was used already.

        Parameters
        ----------
        training
            Whether the gradients are those of training mode.
        heads
            Head gradients of values, as contents.

        Returns
        -------
        dict
            Gradients of what the parts read, as contents.
        """
        if self._kept is None or self._kept.training != training:
            self.forward(training, keep=True)
        kept, self._kept = self._kept, None
        assert kept is not None
        grads: dict[Key, Any] = {}
        for key, head in heads:
            grads[key] = added(grads[key], head) if key in grads else head
        for part, arrays in zip(self.parts(training)[::-1], kept.arrays[::-1], strict=True):
            self._backward_of(part, arrays, grads)
        return grads

    def _backward_of(self, part: Part, arrays: list[Any], grads: dict[Key, Any]) -> None:
        steps = part.training
        for k in steps.heads:
            key, node = part.makes[k]
            found = grads.pop(key, None)
            head = filled(0, node.shape, node.dtype, part.device) if found is None else found
            arrays.append(data_on(wrap(Cell, head), part.device))
        results = [content(data, part.device) for data in steps.backward.run(arrays)]
        for key, new in zip(steps.wanted, results, strict=False):
            grads[key] = added(grads[key], new) if key in grads else new
        self._write_states(part.updates, results[len(steps.wanted) :])

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of every value inside, computed again with the last forward's random keys."""
        made: dict[Key, NDArray] = {}
        for number, part in enumerate(self.parts(training)):
            leaves = [data_on(self._cell(key, made), part.device) for key, _ in part.reads] + self._random_keys(number, part)
            for (key, _), data in zip(part.makes, part.inference.run(leaves), strict=False):
                made[key] = wrap(NDArray, content(data, part.device))
            for internal, data in zip(part.internals, part.inner.run(leaves), strict=True):
                yield internal.name, internal.is_input, wrap(NDArray, content(data, part.device))


def _saved(part: Part, cells: Sequence[Cell], leaves: Sequence[Any], results: Sequence[Any], tape: Tape) -> list[Any]:
    """The arrays that the part's backward reads: of what it was given, and of what forward kept."""
    steps = part.training
    for k in steps.reads:
        if k < len(cells):
            cells[k]._capture().lend(tape)
    return [leaves[k] for k in steps.reads] + [results[k] for k in steps.kept]


def _shared(data: Any, device: Device) -> Value:
    """A value that backward reads too: a write into it makes a copy."""
    value = Value(data, device=device)
    value.share()
    return value

"""Runs a bound graph in stages, for executors of symbols in which the shape of some value depends on values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..device import Device
from ..executor.part import Key, Part
from ..executor.transport import zeros
from ..imperative.array import record_of
from ..imperative.backward import assign, run_backward
from ..imperative.cell import Value, wrap
from ..imperative.scope import Scope
from ..ndarray.array import NDArray
from .inference import Inference
from .node import Head, SymbolNode, names_of_inputs, topological
from .stages import Staged


class StagedRun:
    """The state of an executor whose graph runs in stages; the interface is that of `executor.run.Run`.

    Forward in training mode is recorded on a tape, on which backward runs.

    Parameters
    ----------
    inference
        What is known about shapes and dtypes before the graph runs.
    heads, keys
        The outputs, and the executor's keys for them.
    bound
        The arrays of the variables.
    wanted
        The variables that have a gradient.
    device
        Where random numbers are drawn.
    """

    def __init__(
        self,
        inference: Inference,
        heads: Sequence[Head],
        keys: Sequence[Key],
        bound: Mapping[SymbolNode, NDArray],
        wanted: Sequence[SymbolNode],
        device: Device,
    ) -> None:
        self._inference, self._heads, self._keys, self._bound = inference, tuple(heads), list(keys), bound
        self._wanted, self._device = wanted, device
        self._function = Staged("executor", heads)
        self._recorded: tuple[bool, dict[SymbolNode, NDArray], list[NDArray]] | None = None

    def parts(self, training: bool) -> list[Part]:
        """No part is compiled before its shapes are known."""
        return []

    def blank(self, keys: Sequence[Key]) -> list[NDArray]:
        """The outputs before the first run: zeros, and no elements along axes of unknown size."""
        known = [self._inference.of(h) for h in self._heads]
        return [zeros(tuple(n or 0 for n in k.shape or (0,)), k.dtype or "float32", self._device) for k in known]

    def forward(self, training: bool, keep: bool) -> dict[Key, object]:
        """The outputs by key, as contents; with ``keep`` recorded for `backward`."""
        self._recorded = None
        if not keep:
            with Scope(False, training):
                return dict(zip(self._keys, self._function(self._arrays({}), self._device), strict=True))
        # copies, so that a write into an argument before backward does not reach what that reads
        marked = {v: self._bound[v].copy() for v in self._wanted}
        for array in marked.values():
            array.attach_grad()
        with Scope(False, None), Scope(True, training):  # on a tape of its own
            contents = self._function(self._arrays(marked), self._device)
        self._recorded = training, marked, [wrap(NDArray, c) for c in contents]
        return {key: wrap(NDArray, c).detach().copy()._v for key, c in zip(self._keys, contents, strict=True)}

    def _arrays(self, replaced: Mapping[SymbolNode, NDArray]) -> list[NDArray]:
        return [replaced[v] if v in replaced else self._bound[v] for v in self._function.variables]

    def backward(self, training: bool, heads: Iterable[tuple[Key, object]]) -> dict[Key, object]:
        """Gradients of the variables that the outputs depend on, by key. Runs forward first if there is no forward of this mode."""
        if self._recorded is None or self._recorded[0] != training:
            self.forward(training, keep=True)
        assert self._recorded is not None
        (_, marked, outputs), self._recorded = self._recorded, None
        given = [(out, head) for out, (_, head) in zip(outputs, heads, strict=True) if _is_tracked(out)]
        recs = [record_of(out, "backward") for out, _ in given]
        found = run_backward(recs, [None if h is None else wrap(NDArray, h) for _, h in given], NDArray) if recs else []
        assign(found)
        reached = {variable for variable, _ in found}
        return {("arg", v.name): a.grad._v for v, a in marked.items() if a._g in reached}

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of all inner values, computed again."""
        nodes = [n for n in topological(self._heads) if not n.is_variable]
        inner = [Head(n, k) for n in nodes for k in range(n.visible)]
        function = Staged("executor", inner)
        arrays = dict(zip([Head(v, 0) for v in function.variables], [self._bound[v] for v in function.variables], strict=True))
        with Scope(False, training):
            arrays |= {h: wrap(NDArray, c) for h, c in zip(inner, function(list(arrays.values()), self._device), strict=True)}
        for node in nodes:
            for name, head in zip(names_of_inputs(node), node.inputs, strict=True):
                if head.node.is_variable:
                    yield head.node.name, True, arrays[head]
                yield f"{node.name}_{name}", True, arrays[head]
            for k in range(node.visible):
                yield node.output_name(k), False, arrays[Head(node, k)]


def _is_tracked(array: NDArray) -> bool:
    v = array._v
    return v.__class__ is Value and v.rec is not None and v.rec.node.tracked

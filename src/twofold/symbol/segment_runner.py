"""Runs a bound graph in segments: for symbols with shapes that depend on values, or with sparse values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..device import Device
from ..executor.part import Key, Part
from ..executor.transport import content_on, zeros_in
from ..imperative.array import adopted, record_of
from ..imperative.backward import run_backward
from ..imperative.cell import Content, Value, alias, wrap
from ..imperative.guards import is_differentiated
from ..imperative.invoke import data_of, host_of
from ..imperative.row_gradients import gradient_array
from ..imperative.scope import Scope
from ..imperative.storage import CELLS, SparseValue, array_of, converted, dense_array, empty_array, sparse_array
from ..ndarray.array import NDArray
from ..opdef import Sparse
from ..ops.storage_rules import stored_of
from .inference import Inference
from .monitored_names import monitored_inputs
from .node import Head, SymbolNode, topological
from .segments import SegmentedGraph
from .storage_types import StorageTypes, with_spare_rows


class SegmentRunner:
    """The state of an executor whose graph runs in segments; the interface is that of `executor.part_runner.PartRunner`.

    Forward in training mode is recorded on a tape, on which backward runs.

    Parameters
    ----------
    inference
        What is known about shapes and dtypes before the graph runs.
    heads, keys
        The outputs, and the executor's keys for them.
    bound
        The arrays of the variables.
    types
        The storage types of the graph's values.
    wanted
        The variables that have a gradient, and its storage type.
    device
        Where random numbers are drawn.
    """

    def __init__(
        self,
        inference: Inference,
        heads: Sequence[Head],
        keys: Sequence[Key],
        bound: Mapping[SymbolNode, NDArray],
        types: StorageTypes,
        wanted: Mapping[SymbolNode, str],
        device: Device,
    ) -> None:
        self._inference, self._heads, self._keys, self._bound = inference, tuple(heads), list(keys), bound
        self._types, self._wanted, self._device = types, wanted, device
        self._function = SegmentedGraph("executor", heads, stored=types.stored)
        self._spared = with_spare_rows(types, inference.order, heads)
        self._recorded: tuple[bool, dict[SymbolNode, NDArray], list[NDArray]] | None = None

    def parts(self, training: bool) -> list[Part]:
        """No parts: nothing is compiled before its operands are known."""
        return []

    def blank(self, keys: Sequence[Key]) -> list[NDArray]:
        """The outputs before the first run: zeros; axes of unknown size have size 0."""
        known = [(self._types.of(h), self._inference.of(h)) for h in self._heads]
        return [zeros_in(stype, tuple(n or 0 for n in k.shape or (0,)), k.dtype or "float32", self._device) for stype, k in known]

    def forward(self, training: bool, keep: bool) -> dict[Key, object]:
        """The outputs by key, as contents; with ``keep`` recorded for `backward`."""
        self._release()
        if not keep:
            with Scope(False, training):
                return self._delivered(self._function(self._arrays({}), self._device))
        marked = {v: _marked(self._bound[v], stype, v in self._spared) for v, stype in self._wanted.items()}
        with Scope(False, None), Scope(True, training):  # on a tape of its own
            contents = self._function(self._arrays(marked), self._device)
        self._recorded = training, marked, [array_of(c) for c in contents]
        # The caller may write to the arrays that it gets, while `backward` still needs the recorded values.
        return self._delivered([_detached(c) for c in contents])

    def _delivered(self, contents: Sequence[Content]) -> dict[Key, object]:
        """The outputs by key, in the storage types that they always have."""
        stypes = [self._types.of(h) for h in self._heads]
        return {key: converted(array_of(c), stype)._content for key, c, stype in zip(self._keys, contents, stypes, strict=True)}

    def _arrays(self, replaced: Mapping[SymbolNode, NDArray]) -> list[NDArray]:
        return [replaced[v] if v in replaced else self._bound[v] for v in self._function.variables]

    def backward(self, training: bool, heads: Iterable[tuple[Key, object]]) -> dict[Key, object]:
        """Gradients of the variables that the outputs depend on, by key. Runs forward first if the last forward ran in another mode."""
        if self._recorded is None or self._recorded[0] != training:
            self.forward(training, keep=True)
        assert self._recorded is not None
        _, marked, outputs = self._recorded
        try:
            given = [_stored_head(out, head) for out, (_, head) in zip(outputs, heads, strict=True)]
            # An output that no wanted variable reaches is not on the tape.
            given = [(out, head) for out, head in given if _is_tracked(out)]
            entries = [record_of(out, "backward") for out, _ in given]
            found = dict(run_backward(entries, [head for _, head in given], NDArray) if entries else [])
            variables = [(("arg", v.name), a._gradient) for v, a in marked.items()]
            return {key: _own_rows(gradient_array(NDArray, g, found[g])._content) for key, g in variables if g in found}
        finally:
            self._release()

    def _release(self) -> None:
        """Free the recorded graph now instead of by the garbage collector, so that the bound arrays are written in place again."""
        if self._recorded is not None:
            for array in self._recorded[1].values():
                array._gradient.cell = None
            self._recorded = None

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of all inner values, computed again."""
        nodes = [n for n in topological(self._heads) if not n.is_variable]
        inner = [Head(n, k) for n in nodes for k in range(n.count)]
        function = SegmentedGraph("executor", inner, stored=self._types.stored)
        arrays = dict(zip([Head(v, 0) for v in function.variables], [self._bound[v] for v in function.variables], strict=True))
        with Scope(False, training):
            # So far `arrays` has the variables only, in the order in which the function takes them.
            arrays |= {h: array_of(c) for h, c in zip(inner, function(list(arrays.values()), self._device), strict=True)}
        for node in nodes:
            for name, head in zip(monitored_inputs(node), node.inputs, strict=True):
                if head.node.is_variable:
                    yield head.node.name, True, arrays[head]
                yield name, True, arrays[head]
            for k in range(node.count):
                yield node.output_name(k), False, arrays[Head(node, k)]

    def gradients(self, training: bool, heads: Iterable[tuple[Key, object]]) -> Iterator[tuple[str, NDArray]]:
        """None: segments do not keep the gradients between them."""
        return iter(())


def _marked(array: NDArray, stype: str, spared: bool) -> NDArray:
    """An array with the content of another one, as a variable whose gradient has a storage type.

    They share memory: a write into the other array, before `backward` has read what was recorded, goes into a copy.
    With ``spared`` a row-sparse array becomes a copy with padding rows after its own. Each batch may store another number of rows of a
    weight; padding reduces these to a few different numbers, so that batches use the programs of earlier batches.
    """
    if array.stype not in ("default", stype):
        array = dense_array(array)
    if array.stype == "default":
        twin = _twin(array)
    elif spared and stype == "row_sparse":
        array._content.hosts()  # raises for parts that do not fit together
        twin = sparse_array(CELLS.spare_rows(array._content.sparse), checked=True)
    else:
        twin = sparse_array(array._content.sparse.with_values(_twin(array._content.sparse.values)), checked=array._content.checked)
    # `backward` takes the gradients from the tape directly, and never writes the variable's gradient array
    twin._attach(twin if stype == "default" else empty_array(stype, array.shape, array._dtype, array.context), "write")
    return twin


def _twin(array: NDArray) -> NDArray:
    v = array._capture()
    return wrap(NDArray, alias(data_of(v), v))


def _own_rows(content: Content) -> Content:
    """A gradient without the padding rows that `_marked` has added to the variable."""
    if not isinstance(content, SparseValue) or content.sparse.stype != "row_sparse":
        return content
    found = content.sparse
    indices = host_of(found.indices)
    count = int((indices < found.shape[0]).sum())
    if count == len(indices):
        return content
    values = CELLS.take_slice(found.values, 0, count, 0)
    rows = adopted(NDArray, indices[:count].copy(), content.device)
    return SparseValue(Sparse("row_sparse", found.shape, values, rows), checked=True)


def _detached(content: Content) -> Content:
    """A content without its history, in separate memory."""
    array = array_of(content).detach()
    return (array.copy() if array.stype == "default" else array)._content


def _stored_head(out: NDArray, head: Content | None) -> tuple[NDArray, NDArray | None]:
    """The recorded array of an output (the stored values of a sparse output), and its head gradient; None means ones."""
    given = None if head is None else wrap(NDArray, content_on(wrap(NDArray, head), out.context))
    if out.stype == "default":
        return out, given
    stored = out._content.sparse
    return stored.values, None if given is None else stored_of(CELLS, given, stored)


def _is_tracked(array: NDArray) -> bool:
    v = array._content
    return v.__class__ is Value and is_differentiated(v)

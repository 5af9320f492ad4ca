"""Inserts casts into a symbol's graph, given which operators compute in which precision."""

from collections.abc import Callable, Collection, Iterable

from ...dtype import HALVES, MXNET_CODES
from ...errors import MXNetError
from ...ops.mixed_precision import CAST, amp_cast, amp_multicast
from ...symbol.inference_rules import infer_dtypes
from ...symbol.node import Head, SymbolNode
from ...symbol.partial_types import PartialType
from ...symbol.rebuild import copied, rebuilt
from .listing import Rules


def cast_graph(heads: Iterable[Head], rules: Rules, excluded: Collection[str], data: Collection[str] | None, optional: bool) -> list[Head]:
    """A copy of a graph in mixed precision, whose float outputs are float32.

    Parameters
    ----------
    heads
        The graph.
    rules
        What operators compute in.
    excluded
        Names of nodes that compute in float32.
    data
        Names of the variables that are no parameters; None: unknown, and no dtype is written into the variables.
    optional
        Whether parameters that only 16-bit operators read become 16-bit variables.
    """
    casts = _Casts(rules, {*excluded}, None if data is None else {*data}, optional)
    out = [casts.wide(head) for head in rebuilt(heads, casts.change)]
    casts.declare()
    return out


class _Casts:
    """The casts inserted so far. The dtypes of variables count as unknown, as they may be bound to arrays of any dtype."""

    def __init__(self, rules: Rules, excluded: set[str], data: set[str] | None, optional: bool) -> None:
        self.rules, self.excluded, self.data, self.optional = rules, excluded, data, optional
        self._dtypes: dict[Head, str | None] = {}
        self._made: dict[tuple[Head, str], Head] = {}
        self._variables: dict[SymbolNode, bool] = {}

    def change(self, node: SymbolNode, inputs: tuple[Head, ...]) -> Callable[[int], Head] | None:
        """The outputs of the node in the new graph; see `rebuilt`."""
        new = copied(node, inputs) if node.is_variable or node.op is None or node.special is not None else self._with_casts(node, inputs)
        if new.is_variable:
            self._variables.setdefault(new, False)
        elif new.op is not None and new.special is None:
            self._infer(new)
        return lambda place: Head(new, place)

    def _with_casts(self, node: SymbolNode, inputs: tuple[Head, ...]) -> SymbolNode:
        kind = self._kind(node)
        # a state that the operator writes must stay the variable itself: writes to a cast would be lost
        cast = {k: h for k, h in enumerate(inputs) if k not in node.written}
        if kind == "half":
            changed = {k: self._half(h) for k, h in cast.items()}
        elif kind == "single":
            changed = {k: h if h.node.is_variable else self.wide(h) for k, h in cast.items()}
        elif kind == "widest":
            changed = self._widest(cast)
        else:
            changed = {}
        return copied(node, tuple([changed.get(k, h) for k, h in enumerate(inputs)]))

    def _kind(self, node: SymbolNode) -> str:
        """What an operator computes in: see `Rules.kind`."""
        params = node.bind().params
        return "single" if node.name in self.excluded else self.rules.kind(node.op_name, lambda key: str(params.get(key)))

    def _half(self, head: Head) -> Head:
        variable = head.node.is_variable
        if variable and self.optional and self.data is not None and head.node.name not in self.data:
            self._variables[head.node] = True  # the variable itself is declared 16-bit
            return head
        dtype = self._dtypes.get(head)
        return self._cast(head, self.rules.dtype) if dtype is None or dtype == "float32" else head

    def wide(self, head: Head) -> Head:
        """The output as float32 if it is a float."""
        dtype = self._dtypes.get(head)
        return self._cast(head, "float32") if dtype is None or dtype in HALVES else head

    def _widest(self, heads: dict[int, Head]) -> dict[int, Head]:
        half = self.rules.dtype
        # a value that already has a cast to 16 bits can be read through it
        dtypes = {k: self._dtypes.get(h) or (half if (h, half) in self._made else None) for k, h in heads.items()}
        found = {d for d in dtypes.values() if d is None or d in CAST}
        # the widest dtype is known only when the symbol is bound: an operator finds it then
        if None in found and len(heads) > 1:
            return self._multicast(heads)
        if "float32" in found and len(found) > 1:
            return {k: self._cast(h, "float32") if dtypes[k] in HALVES else h for k, h in heads.items()}
        return {k: self._made.get((h, half), h) if dtypes[k] == half else h for k, h in heads.items()}

    def _multicast(self, heads: dict[int, Head]) -> dict[int, Head]:
        first = next(iter(heads.values()))
        name = f"{first.node.output_name(first.place)}_amp_multicast"
        node = SymbolNode(amp_multicast.title, name, {"num_outputs": str(len(heads))}, list(heads.values()))
        return {k: Head(node, place) for place, k in enumerate(heads)}

    def _cast(self, head: Head, dtype: str) -> Head:
        # several readers of one value share its cast
        if (head, dtype) not in self._made:
            name = f"{head.node.output_name(head.place)}_amp_cast_{dtype}"
            new = Head(SymbolNode(amp_cast.title, name, {"dtype": dtype}, [head]), 0)
            self._made[head, dtype] = new
            self._dtypes[new] = dtype
        return self._made[head, dtype]

    def _infer(self, node: SymbolNode) -> None:
        """Note the dtypes of the node's outputs, as far as they follow from those of its inputs."""
        inputs = [PartialType(None, self._dtypes.get(h)) for h in node.inputs]
        outputs = [PartialType(None, None) for _ in range(node.visible)]
        # computed in float32, whatever dtype a variable declares: the code that binds parameters casts them
        own = {"single": "float32", "half": self.rules.dtype}.get(self._kind(node))
        for known in inputs:
            known.dtype = known.dtype or own
        try:
            infer_dtypes(node, inputs, outputs)
        except MXNetError:
            return  # it is for binding to say so, when the dtypes of variables are known
        for place, known in enumerate(outputs):
            self._dtypes[Head(node, place)] = known.dtype
        # a parameter that has the dtype of the data, such as the slopes of a PReLU
        for head, known in zip(node.inputs, inputs, strict=True):
            if own is None and head.node.is_variable and known.dtype == self.rules.dtype:
                self._variables[head.node] = True

    def declare(self) -> None:
        """Write the dtypes of the parameters into them."""
        for variable, is_half in self._variables.items():
            if self.data is not None and variable.name not in self.data:
                variable.attrs["__dtype__"] = str(MXNET_CODES[self.rules.dtype if is_half else "float32"])

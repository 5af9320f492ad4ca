"""`CachedGraph`: a traced block as one operation, which is recorded, deferred, compiled and differentiated as a whole.

For each training mode the graph becomes an operator (see `graph_operator`), whose programs are cached by the types of its inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config import recomputes
from ..device import Device
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.cell import Value, wrap
from ..imperative.generator import STREAMS
from ..imperative.invoke import invoke
from ..imperative.record import tls
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS, span
from ..symbol.bound import inferred
from ..symbol.eager import evaluated
from ..symbol.node import Head
from ..symbol.node import topological as nodes_below
from .copies import RENEWALS
from .graph_operator import GraphOperator
from .parameter import Parameter

__all__ = ["CachedGraph"]

#: What is called with the name, the operator and the value of what is inside a graph.
Callback = Callable[[str, str, NDArray], Any]


class CachedGraph:
    """A graph of symbols over inputs and parameters, as a function of arrays.

    Parameters
    ----------
    name
        What messages call it.
    heads
        The outputs.
    inputs
        Names of the variables that are inputs, in the order in which they are given.
    params
        The parameters that other variables stand for, by name.
    mirror
        Whether backward computes most of what is inside again, instead of keeping it from forward (see `graph.recompute`).

    Raises
    ------
    ParameterError
        If a variable is neither an input nor a parameter.
    """

    def __init__(
        self, name: str, heads: Sequence[Head], inputs: Sequence[str], params: Mapping[str, Parameter], mirror: bool = False
    ) -> None:
        self.name, self.heads, self.mirror = name, tuple(heads), mirror
        self.order = nodes_below(self.heads)
        self.variables = [n for n in self.order if n.is_variable]
        place = {n: k for k, n in enumerate(inputs)}
        strange = [n.name for n in self.variables if n.name not in place and n.name not in params]
        if strange:
            raise ParameterError(
                f"{name}: the traced graph reads variables that are no inputs and no parameters",
                ", ".join(strange),
                "make them parameters with params.get",
            )
        self._given = [(k, place[n.name]) for k, n in enumerate(self.variables) if n.name in place]
        self.params = [(k, params[n.name]) for k, n in enumerate(self.variables) if n.name not in place]
        self._forms: dict[bool, GraphOperator] = {}
        self._known: tuple[int, Device | None, list[Any]] = -1, None, []

    def __call__(self, arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
        """The outputs for inputs.

        Parameters
        ----------
        arrays
            One per input.
        device
            Whose copies of the parameters are used.

        Raises
        ------
        DeferredInitializationError
            If a parameter waits for its shape.
        ShapeError, DTypeError
            If the arrays do not fit; the message names the node.
        """
        cells = self._cells(arrays, device)
        form = self._forms.get(tls.training)
        try:
            if form is None:
                form = self._forms[tls.training] = self._operator(cells)
            operands = self._operands(form, cells, device) if form.draws or form.objects else cells
            if LISTENERS:
                with span("", "", device, symbolic=True):
                    contents = invoke(form.sig, operands)
            else:
                contents = invoke(form.sig, operands)
        except (ShapeError, DTypeError):
            self._explain(cells)
            raise
        count = len(self.heads)
        if form.written:
            for k, new in zip(form.written, contents[count:], strict=False):
                cells[k]._rebind(new)
        return [wrap(NDArray, c) for c in contents[:count]]

    def _operands(self, form: GraphOperator, cells: list[Any], device: Device) -> list[Any]:
        """Arrays, keys of random draws, and users' objects on the arrays of their states."""
        own = dict(zip(self.variables, cells, strict=True))
        objects = [o.make(device, [own[v] for v in o.states]) for o in form.objects]
        return [*cells, *_keys(form.draws, device), *objects]

    def _operator(self, cells: Sequence[NDArray]) -> GraphOperator:
        types = [(c.shape, c._dtype) for c in cells]
        return GraphOperator(self.name, self.heads, self.order, self.variables, types, tls.training, self.mirror or recomputes())

    def _cells(self, arrays: Sequence[NDArray], device: Device) -> list[Any]:
        """One array per variable; those of the parameters are remembered until some are made anew."""
        count, where, known = self._known
        if where is not device or count != RENEWALS.count:
            known = list[Any]([None] * len(self.variables))
            for k, param in self.params:
                known[k] = param._on(device)
            self._known = RENEWALS.count, device, known
        cells = known.copy()
        for k, place in self._given:
            cells[k] = arrays[place]
        return cells

    def _explain(self, cells: Sequence[NDArray]) -> None:
        """Raise the error of inference, which names the node, if there is one."""
        named = {n.name: c for n, c in zip(self.variables, cells, strict=True)}
        inferred(self.heads, {n: c.shape for n, c in named.items()}, {n: c._dtype for n, c in named.items()}, self.name)

    def watched(self, arrays: Sequence[NDArray], device: Device, callback: Callback, everything: bool) -> list[NDArray]:
        """As a call, but operator by operator, with every value shown to a callback.

        Parameters
        ----------
        arrays, device
            See `__call__`.
        callback
            Called with the value's name, its operator's name and the value.
        everything
            Whether to show what operators read, too.
        """
        cells = self._cells(arrays, device)
        inner = [n for n in self.order if not n.is_variable]
        heads = [Head(n, k) for n in inner for k in range(n.visible)]
        values = dict(zip([*self.heads, *heads], evaluated([*self.heads, *heads], self._named(cells), tls.training), strict=True))
        values |= {Head(n, 0): c for n, c in zip(self.variables, cells, strict=True)}
        for node in inner:
            for name, head in zip(node.input_names, node.inputs, strict=True) if everything else ():
                callback(f"{node.name}_{name}", node.op_name, values[head])
            for k in range(node.visible):
                callback(node.output_name(k), node.op_name, values[Head(node, k)])
        return [values[h] for h in self.heads]

    def _named(self, cells: Sequence[NDArray]) -> dict[str, NDArray]:
        return {n.name: c for n, c in zip(self.variables, cells, strict=True)}


def _keys(count: int, device: Device) -> list[Any]:
    """Keys of random draws, taken now, on the device."""
    return [Value(STREAMS.next_key(device), device=device) for _ in range(count)]

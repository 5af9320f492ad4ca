"""Tracing: running a block's computation on symbols to get its graph."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from .. import symbol as sym
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..symbol.symbol import Symbol
from .cached_graph import CachedGraph
from .structure import Format, flatten, to_tuples, unflatten

__all__ = ["ARRAYS", "Traced", "arrays_in", "parameter_names", "traced"]

ARRAYS = (NDArray, ndarray, Symbol)


class Traced:
    """A traced block.

    Parameters
    ----------
    block
        The block, whose parameters the symbol's variables stand for.
    names, inputs
        Names of the variables that stand for inputs, and the nesting of the inputs.
    symbol, outputs
        The outputs, and their nesting.
    mirror
        See `CachedGraph`.

    Attributes
    ----------
    graph
        Computes the outputs.
    """

    def __init__(self, block: Any, names: Sequence[str], inputs: Format, symbol: Symbol, outputs: Format, mirror: bool = False) -> None:
        self.names, self.inputs, self.symbol, self.outputs = list(names), inputs, symbol, outputs
        self.graph = CachedGraph(block.name, symbol.heads, self.names, dict(block.collect_params().items()), mirror)

    def warn_of_unused(self, params: Iterable[str]) -> None:
        """Warn about inputs and parameters that no output depends on."""
        used = set(self.symbol.list_inputs())
        inputs = [f"The {k}-th input to HybridBlock" for k, name in enumerate(self.names) if name not in used]
        for what in [*inputs, *(f"Parameter {name}" for name in params if name not in used)]:
            warnings.warn(f"{what} is not used by any computation. Is this intended?", UserWarning, stacklevel=7)

    def record(self) -> dict[str, Any]:
        """The record of the traced graph in files."""
        inputs = [sym.var(name).tojson() for name in self.names]
        return {"in_format": self.inputs, "out_format": self.outputs, "inputs": inputs, "symbol": self.symbol.tojson()}

    @staticmethod
    def from_record(block: Any, record: dict[str, Any], mirror: bool) -> "Traced | None":
        """The traced graph of a file's record; None if its variables do not match the names of the block's parameters."""
        symbol = sym.load_json(record["symbol"])
        names = [str(sym.load_json(text).name) for text in record["inputs"]]
        if not set(symbol.list_inputs()) <= {*names, *block.collect_params()}:
            return None
        return Traced(block, names, to_tuples(record["in_format"]), symbol, to_tuples(record["out_format"]), mirror)


def traced(block: Any, args: Sequence[Any], mirror: bool) -> Traced:
    """Trace a block for inputs that are nested like these.

    Parameters
    ----------
    block
        The block.
    args
        Inputs: arrays or symbols, nested lists of them, None.
    mirror
        See `CachedGraph`.
    """
    while args and args[-1] is None:
        args = args[:-1]
    flat, inputs = flatten(args, ARRAYS, "input")
    names = ["data"] if len(flat) == 1 else [f"data{k}" for k in range(len(flat))]
    out = block._compose(*unflatten([sym.var(name) for name in names], inputs))
    heads, outputs = flatten(out, (Symbol,), "output")
    symbol = heads[0] if len(heads) == 1 else sym.Group(heads)
    return Traced(block, names, inputs, symbol, _group(heads, outputs), mirror)


def _group(heads: Sequence[Symbol], form: Format) -> Format:
    """The nesting of outputs, where a symbol with several outputs counts as a list."""
    counts = iter([len(h.heads) for h in heads])

    def visit(part: Format) -> Format:
        if isinstance(part, tuple):
            return tuple(visit(p) for p in part)
        count = next(counts) if part == 0 else 1
        return part if count == 1 else (0,) * count

    return visit(form)


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays and symbols inside nested lists."""
    for value in values:
        if isinstance(value, ARRAYS):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from arrays_in(value)


@cache
def parameter_names(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Names of a function's parameters, and whether it takes any keyword."""
    params = inspect.signature(function).parameters.values()
    return frozenset(p.name for p in params if p.kind is not p.VAR_POSITIONAL), any(p.kind is p.VAR_KEYWORD for p in params)

"""Tracing: running a block's computation on symbols to get its graph."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypedDict
from weakref import WeakKeyDictionary

from .. import symbol as sym
from ..errors import FormatError
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..origin import warn
from ..symbol.symbol import Symbol
from .cached_graph import CachedGraph
from .parameter_dict import ParameterDict
from .structure import ARRAY, Format, flatten, to_tuples, unflatten

ARRAYS = (NDArray, ndarray, Symbol)


class TraceRecord(TypedDict):
    """A traced graph in the files of ``Block.save``: the formats as lists, the variables and the graph as JSON."""

    in_format: Format
    out_format: Format
    inputs: list[str]
    symbol: str


class Trace:
    """The graph of a block.

    Parameters
    ----------
    name
        The block's name.
    params
        The parameters that the symbol's variables stand for.
    names, inputs
        Names of the variables that stand for inputs, and the nesting of the inputs.
    symbol, outputs
        The outputs, and their nesting.
    mirror, is_static
        See `CachedGraph`.

    Attributes
    ----------
    graph
        Computes the outputs.
    """

    def __init__(
        self,
        name: str,
        params: ParameterDict,
        names: Sequence[str],
        inputs: Format,
        symbol: Symbol,
        outputs: Format,
        mirror: bool = False,
        is_static: bool = False,
    ) -> None:
        self.names, self.inputs, self.symbol, self.outputs = list(names), inputs, symbol, outputs
        self._made_of = name, params, self.names, inputs, symbol, outputs, mirror, is_static
        self.graph = CachedGraph(name, symbol.heads, self.names, dict(params.items()), mirror, is_static)

    def __reduce__(self) -> tuple[object, ...]:
        # copies and pickles of a hybridized block compile their own graphs: programs can be neither copied nor pickled
        return Trace, self._made_of

    def warn_of_unused(self, params: Iterable[str]) -> None:
        """Warn about inputs and parameters that no output depends on."""
        used = set(self.symbol.list_inputs())
        inputs = [f"The {k}-th input to HybridBlock" for k, name in enumerate(self.names) if name not in used]
        for what in [*inputs, *(f"Parameter {name}" for name in params if name not in used)]:
            warn(f"{what} is not used by any computation. Is this intended?")

    def record(self) -> TraceRecord:
        """The record of the traced graph in files."""
        inputs = [sym.var(name).tojson() for name in self.names]
        return {"in_format": self.inputs, "out_format": self.outputs, "inputs": inputs, "symbol": self.symbol.tojson()}

    @staticmethod
    def from_record(name: str, params: ParameterDict, record: Mapping[str, object], mirror: bool, is_static: bool) -> "Trace | None":
        """The traced graph of a file's record; None if its variables do not match the names of the block's parameters.

        Raises
        ------
        FormatError
            If the record is damaged.
        """
        match record:
            case {"symbol": str(text), "inputs": [*texts], "in_format": given, "out_format": out} if all(isinstance(t, str) for t in texts):
                pass
            case _:
                raise FormatError(f"model: the entry of {name} has a damaged graph", f"{sorted(record)}", "save the model again")
        symbol = sym.load_json(text)
        names = [str(sym.load_json(t).name) for t in texts]
        # Automatic names count from the start of the process, so a file may have other names: the block is then traced again.
        if not set(symbol.list_inputs()) <= {*names, *params}:
            return None
        return Trace(name, params, names, to_tuples(given), symbol, to_tuples(out), mirror, is_static)


def trace(name: str, params: ParameterDict, compose: Callable[..., object], args: Sequence[object], mirror: bool, is_static: bool) -> Trace:
    """Trace a block for inputs that are nested like these.

    Parameters
    ----------
    name, params
        The block's name and parameters.
    compose
        Its computation on symbols.
    args
        Inputs: arrays or symbols, nested lists of them, None.
    mirror, is_static
        See `CachedGraph`.
    """
    while args and args[-1] is None:
        args = args[:-1]
    flat, inputs = flatten(args, ARRAYS, "input")
    # MXNet's names: exported graphs are loaded by them.
    names = ["data"] if len(flat) == 1 else [f"data{k}" for k in range(len(flat))]
    variables = [sym.var(n).as_np_ndarray() if is_traceable(a) else sym.var(n) for n, a in zip(names, flat, strict=True)]
    out = compose(*unflatten(variables, inputs))
    heads, outputs = flatten(out, (Symbol,), "output")
    symbol = heads[0] if len(heads) == 1 else sym.Group(heads)
    return Trace(name, params, names, inputs, symbol, _output_format(heads, outputs), mirror, is_static)


def is_traceable(value: object) -> bool:
    """Whether a value is an array of MXNet's NumPy dialect, whose functions symbols have too."""
    return isinstance(value, ndarray) and value._traceable


def _output_format(heads: Sequence[Symbol], form: Format) -> Format:
    """The nesting of outputs, where a symbol with several outputs counts as a list."""
    counts = iter([len(h.heads) for h in heads])

    def visit(part: Format) -> Format:
        if isinstance(part, tuple):
            return tuple(visit(p) for p in part)
        count = next(counts) if part == ARRAY else 1
        return part if count == 1 else (ARRAY,) * count

    return visit(form)


def iter_arrays(values: Iterable[object]) -> Iterator[NDArray | ndarray | Symbol]:
    """The arrays and symbols inside nested lists."""
    for value in values:
        if isinstance(value, ARRAYS):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from iter_arrays(value)


def shapes_of(args: Sequence[object]) -> list[tuple[int, ...]]:
    """The shapes of the arrays among inputs."""
    return [a.shape for a in iter_arrays(args) if not isinstance(a, Symbol)]


#: What `parameter_names` has found; a function that refers to a network goes with it.
_NAMES: WeakKeyDictionary[Callable[..., object], tuple[frozenset[str], bool]] = WeakKeyDictionary()


def parameter_names(function: Callable[..., object]) -> tuple[frozenset[str], bool]:
    """Names of a function's parameters, and whether it takes any keyword."""
    function = getattr(function, "__func__", function)
    found = _NAMES.get(function)
    if found is None:
        params = inspect.signature(function).parameters.values()
        names = frozenset(p.name for p in params if p.kind is not p.VAR_POSITIONAL)
        found = _NAMES[function] = names, any(p.kind is p.VAR_KEYWORD for p in params)
    return found

"""``mx.compile``: a symbol as a function of arrays, compiled once for each combination of input types."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import CPU, Device
from ..errors import DeviceError, DTypeError, MXNetError, ParameterError, ShapeError
from ..executor.function import TypedGraph, random_keys, user_objects, write_states
from ..executor.operation import Recordable, is_recorded
from ..graph.ir import Node, leaf
from ..graph.memory_plan import MemoryPlan
from ..graph.stabilise import stabilise
from ..graph.tables import bound_tables
from ..imperative.array import Array
from ..imperative.cell import PLAIN, Cell, Content, Value, is_view, wrap
from ..imperative.invoke import contents_of, data_of, device_of
from ..imperative.producer import Lost
from ..imperative.tape import tls
from ..ndarray.array import NDArray
from ..program.cache import Cache, CacheEntry, program_of
from ..program.compile import Program
from ..program.profiling import Title
from ..scheduler.streams import before_overwriting, run_on
from .binding import distinct_names
from .compose import group
from .inference import infer_all
from .replay import Replayer
from .symbol import Symbol

COMPILED = Title("compiled", symbolic=True)
#: The number of combinations of input types whose programs a compiled symbol holds. Large, because compiling one again may take a second.
HELD = 64


def compile(symbols: Symbol | Iterable[Symbol], donate: Sequence[str] = ()) -> "CompiledSymbol":
    """Compile symbols to a function of arrays by name.

    Parameters
    ----------
    symbols
        A symbol, or several to be computed together.
    donate
        Names of arguments whose memory may be reused for results. Their arrays cannot be read after the call.

    Examples
    --------
    >>> import twofold as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> f = mx.compile(a * b + 1)
    >>> f(a=mx.nd.array([1, 2]), b=mx.nd.array([3, 4])).asnumpy().tolist()
    [4.0, 9.0]
    """
    return CompiledSymbol(symbols if isinstance(symbols, Symbol) else group(symbols), donate)


class CompiledSymbol:
    """A symbol as a function of arrays; see `compile`.

    Attributes
    ----------
    arguments, states
        Names of the arrays that it takes. A call writes the states.
    """

    def __init__(self, symbol: Symbol, donate: Sequence[str] = ()) -> None:
        self.arguments, self.states = distinct_names(symbol.heads)
        self._replay = Replayer(symbol.heads)
        if eager := [n.name for n in self._replay.order if n.is_eager]:
            raise ParameterError(
                "compile: shapes that depend on values cannot be compiled", ", ".join(eager), "call bind, or hybridize a block"
            )
        self._recordable = Recordable("compiled symbol", self._replay)
        unknown = set(donate) - set(self.arguments)
        if unknown:
            raise ParameterError(
                "compile: donate contains an unknown argument", ", ".join(sorted(unknown)), f"the arguments are {', '.join(self.arguments)}"
            )
        self._donate = frozenset(donate)
        self._graphs = Cache(HELD)
        #: The program of the last call, for reports.
        self._last: Program | None = None

    def __call__(self, **arrays: NDArray) -> Any:
        """Compute the outputs for arrays by name: one array, or a list of several.

        While gradients are recorded, the call is one operation of the recorded graph.

        Raises
        ------
        ParameterError
            If an array is missing, or its name is unknown.
        ShapeError, DTypeError
            If the arrays do not match; the message names the node.
        """
        cells = self._cells(arrays)
        device = self._device(cells)
        contents = self._record(cells, device) if is_recorded(cells.values()) else self._run(cells, device)
        results = [wrap(NDArray, c) for c in contents]
        return results[0] if len(results) == 1 else results

    def _cells(self, arrays: dict[str, NDArray]) -> dict[str, NDArray]:
        """The arrays by name, in the order of the variables."""
        names = [*self.arguments, *self.states]
        wrong = [n for n in names if n not in arrays] or [n for n in arrays if n not in names]
        if wrong:
            raise ParameterError("compiled symbol: pass each of its arrays by name", ", ".join(arrays), f"it takes {', '.join(names)}")
        for name, array in arrays.items():
            if not isinstance(array, Array):
                raise ParameterError(f"compiled symbol: {name} must be an NDArray", type(array).__name__, "create one with mx.nd.array")
        # In the order of the typed graph's inputs, whatever the order of the call.
        return {v.name: arrays[v.name] for v in self._replay.variables}

    def _infer(self, cells: dict[str, NDArray]) -> None:
        """Raise an error that names the node if the arrays do not match."""
        infer_all(self._replay.heads, {n: c.shape for n, c in cells.items()}, {n: c._dtype for n, c in cells.items()}, "compile")

    def _record(self, cells: dict[str, NDArray], device: Device) -> list[Content]:
        try:
            return self._recordable(list(cells.values()), device)
        except (ShapeError, DTypeError):
            self._infer(cells)  # the symbol's inference names the node; the typed graph's error does not
            raise

    def _run(self, cells: dict[str, NDArray], device: Device) -> list[Content]:
        own = list(cells.values())
        # The revision of the settings is part of the key, because settings change how a program is compiled.
        key = tuple([(c.shape, c._dtype) for c in own]), tls.training, device.device_type, SETTINGS.revision
        found = self._graphs.get_or(key, partial(self._compile, cells, device, tls.training))
        program, graph = found.program, found.graph
        self._last = program
        backend = backend_for(device)
        contents = [c._content for c in own]
        data = [data_of(v) for v in contents]
        for k, (name, cell) in enumerate(cells.items()):
            if name in self._donate:
                # an array given twice is copied: the second argument would read memory that results have overwritten
                shared = sum(v is contents[k] for v in contents) > 1
                data[k] = backend.copy(data[k], device) if shared else self._take_donated(cell, program.leaves[k])
        if graph.keys or graph.objects:
            data += [*random_keys(len(graph.keys), device), *user_objects(graph.objects, device, own)]
        if self._donate and not device.is_host:
            before_overwriting(device)  # earlier kernels on other queues may still read the donated memory
        results = contents_of(run_on(device, program.run, data), device)
        if graph.written:
            # After the outputs a program returns the new values of states; see `_compile`.
            write_states(own, graph.written, results[len(graph.outputs) :])
        return results[: len(graph.outputs)]

    @staticmethod
    def _device(cells: dict[str, NDArray]) -> Device:
        """The device of the arrays.

        Raises
        ------
        DeviceError
            If they are on devices with different memories.
        """
        # All contexts of the host, such as pinned memory, are one memory.
        places = dict.fromkeys(CPU if c.context.is_host else c.context for c in cells.values())
        if len(places) > 1:
            where = ", ".join(f"{n} on {c.context}" for n, c in cells.items())
            raise DeviceError("compiled symbol: arrays are on different devices", where, "copy them to one with as_in_context")
        return next((c.context for c in cells.values()), CPU)

    @staticmethod
    def _take_donated(cell: Cell, node: Node) -> object:
        """The array of a donated argument, whose cell becomes unreadable; a copy if others see the memory.

        A view stays readable: its base owns the memory.
        """
        v = cell._content
        device, data = device_of(v), data_of(v)
        if is_view(cell):
            return backend_for(device).copy(data, device)
        # Another array, a tape or a window may still read this memory.
        if v.__class__ is not PLAIN and not v.exclusive:
            data = backend_for(device).copy(data, device)
        cell._content = Value(None, None, (_spent(), node), device)
        return data

    def _compile(self, cells: dict[str, NDArray], device: Device, training: bool) -> "_TypedProgram":
        bound_tables()  # before any node is made: a generation dropped midway would intern equal nodes twice
        self._infer(cells)
        leaves = [leaf(("arg", n), c.shape, c._dtype) for n, c in cells.items()]
        graph = self._replay(leaves, training)
        outputs = stabilise([*graph.outputs, *graph.written.values()])
        donated = [node for node, name in zip(leaves, cells, strict=True) if name in self._donate]
        given = [*leaves, *graph.keys, *[o.leaf for o in graph.objects]]
        program = program_of(outputs, given, backend_for(device), donated=donated, title=COMPILED, device=device)
        return _TypedProgram(program.for_owner(), graph)

    def _program(self) -> Program:
        if self._last is None:
            raise MXNetError(
                "compiled symbol: nothing is compiled yet", None, "call it once: compilation depends on the types of the arrays"
            )
        return self._last

    def explain(self) -> str:
        """The steps of the last call's program in order, fused ones joined by ``+``."""
        return self._program().explain()

    def memory_plan(self) -> MemoryPlan:
        """The memory plan of the last call's program."""
        return self._program().plan


@dataclass(eq=False)
class _TypedProgram(CacheEntry):
    """The program for one combination of input types, and its typed graph."""

    program: Program
    graph: TypedGraph


def _spent() -> Lost:
    """The producer of the Values of a donated array: every read raises an error."""
    return Lost(MXNetError("this array was donated to a compiled symbol", None, "copy it before the call if it is needed afterwards"))

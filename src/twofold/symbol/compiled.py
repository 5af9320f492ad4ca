"""``mx.compile``: symbols as a function of arrays, compiled once for each combination of types."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..backend.loader import backend_for
from ..device import CPU, Device
from ..errors import DeviceError, MXNetError, ParameterError
from ..graph.ir import Node, bound_tables, leaf
from ..graph.memory_plan import MemoryPlan
from ..graph.stabilise import stabilise
from ..imperative.array import Array, ViewMixin
from ..imperative.cell import PLAIN, Cell, Value, wrap
from ..imperative.generator import STREAMS
from ..imperative.invoke import content, data_of, device_of
from ..imperative.record import tls
from ..imperative.window import Window
from ..ndarray.array import NDArray
from ..program.compile import Program
from ..program.profiled import Title
from ..scheduler.streams import before_overwriting, run_on
from .binding import distinct_names
from .bound import inferred
from .compose import group
from .eager import evaluated, is_recorded
from .gradient import differentiated
from .node import Head, SymbolNode, topological, variables
from .replay import Replay
from .symbol import Symbol

COMPILED = Title("compiled", symbolic=True)


def compile(symbols: Symbol | Iterable[Symbol], donate: Sequence[str] = ()) -> "Compiled":
    """A function of arrays by name that computes symbols.

    Parameters
    ----------
    symbols
        A symbol, or several whose outputs are computed together.
    donate
        Names of arguments whose memory results may take: their arrays cannot be read after the call.

    Examples
    --------
    >>> import twofold as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> f = mx.compile(a * b + 1)
    >>> f(a=mx.nd.array([1, 2]), b=mx.nd.array([3, 4])).asnumpy().tolist()
    [4.0, 9.0]
    """
    return Compiled(symbols if isinstance(symbols, Symbol) else group(symbols), donate)


class Compiled:
    """Symbols as a function; see `compile`.

    Attributes
    ----------
    arguments, states
        Names of the arrays it takes; states are written.
    """

    def __init__(self, symbol: Symbol, donate: Sequence[str] = ()) -> None:
        self._heads = symbol.heads
        self._order = topological(self._heads)
        self.arguments, self.states = distinct_names(self._heads)
        self._variables = [v for vs in variables(self._order) for v in vs]
        unknown = set(donate) - set(self.arguments)
        if unknown:
            raise ParameterError(
                "compile: donate names no argument", ", ".join(sorted(unknown)), f"the arguments are {', '.join(self.arguments)}"
            )
        self._donate = frozenset(donate)
        self._programs: dict[Any, tuple[Program, Replay, list[str]]] = {}
        self._last: Program | None = None

    def __call__(self, **arrays: NDArray) -> Any:
        """The outputs for arrays by name: one array, or a list of several.

        While gradients are recorded, operators run one by one, so that the results are part of the recorded graph.

        Raises
        ------
        ParameterError
            If an array is missing, or belongs to nothing.
        ShapeError, DTypeError
            If the arrays do not fit; the message names the node.
        """
        cells = self._cells(arrays)
        recorded = is_recorded(cells.values())
        results = evaluated(self._heads, cells, tls.training) if recorded else self._run(cells)
        return results[0] if len(results) == 1 else results

    def _cells(self, arrays: dict[str, NDArray]) -> dict[str, NDArray]:
        names = [*self.arguments, *self.states]
        wrong = [n for n in names if n not in arrays] or [n for n in arrays if n not in names]
        if wrong:
            raise ParameterError("compiled symbol: give each of its arrays by name", ", ".join(arrays), f"it takes {', '.join(names)}")
        for name, array in arrays.items():
            if not isinstance(array, Array):
                raise ParameterError(f"compiled symbol: {name} must be an NDArray", type(array).__name__, "make one with mx.nd.array")
        return {name: arrays[name] for name in names}

    def _run(self, cells: dict[str, NDArray]) -> list[NDArray]:
        device = self._device(cells)
        key = tuple([(c.shape, c._dtype) for c in cells.values()]), tls.training, device.device_type
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = self._compiled(cells, device, tls.training)
        program, replay, written = found
        self._last = program
        backend = backend_for(device)
        data = [data_of(c._v) for c in cells.values()]
        contents = [c._v for c in cells.values()]
        for k, (name, cell) in enumerate(cells.items()):
            if name in self._donate:
                shared = sum(v is contents[k] for v in contents) > 1
                data[k] = backend.copy(data[k], device) if shared else self._taken(cell, program.leaves[k])
        arrays = [*data, *(STREAMS.next_key(device) for _ in replay.keys)]
        arrays += [o.make(device, [cells[v.name] for v in o.states]) for o in replay.objects]
        if self._donate and not device.is_host:
            before_overwriting(device)
        results = run_on(device, program.run, arrays)
        for name, new in zip(written, results[len(self._heads) :], strict=True):
            cells[name]._v = content(new, device)
        return [wrap(NDArray, content(r, device)) for r in results[: len(self._heads)]]

    @staticmethod
    def _device(cells: dict[str, NDArray]) -> Device:
        """Where all the arrays are.

        Raises
        ------
        DeviceError
            If they are in different memories.
        """
        places = dict.fromkeys(CPU if c.context.is_host else c.context for c in cells.values())
        if len(places) > 1:
            where = ", ".join(f"{n} on {c.context}" for n, c in cells.items())
            raise DeviceError("compiled symbol: arrays are on different devices", where, "copy them to one with as_in_context")
        return next((c.context for c in cells.values()), CPU)

    @staticmethod
    def _taken(cell: Cell, node: Node) -> Any:
        """The array of a donated argument, whose cell cannot be read from now on; a copy if somebody else sees the memory.

        A view stays as it is: its array owns the memory.
        """
        v = cell._v
        device, data = device_of(v), data_of(v)
        if isinstance(cell, ViewMixin):
            return backend_for(device).copy(data, device)
        if v.__class__ is not PLAIN and not v.exclusive:
            data = backend_for(device).copy(data, device)
        cell._v = Value(None, None, (_spent(device), node), device)
        return data

    def _compiled(self, cells: dict[str, NDArray], device: Device, training: bool) -> tuple[Program, Replay, list[str]]:
        bound_tables()
        dtypes = {n: c._dtype for n, c in cells.items()}
        inference = inferred(self._heads, {n: c.shape for n, c in cells.items()}, dtypes, "compile")
        wanted = differentiated(self._order)
        leaves = {v: leaf(("arg", v.name), cells[v.name].shape, dtypes[v.name], v in wanted) for v in self._variables}
        values = {Head(v, 0): node for v, node in leaves.items()}
        replay = Replay(inference, training, values).run(self._order)
        written: dict[SymbolNode, Node] = replay.written
        outputs = stabilise([values[h] for h in self._heads] + list(written.values()))
        donated = [node for v, node in leaves.items() if v.name in self._donate]
        given = [*leaves.values(), *replay.keys, *[o.leaf for o in replay.objects]]
        program = Program(outputs, given, backend_for(device), donated=donated, title=COMPILED, device=device)
        return program, replay, [v.name for v in written]

    def _program(self) -> Program:
        if self._last is None:
            raise MXNetError("compiled symbol: nothing is compiled yet", None, "call it once: the types of its arrays decide")
        return self._last

    def explain(self) -> str:
        """What the last call ran: the steps in order, fused ones joined by ``+``."""
        return self._program().explain()

    def memory_plan(self) -> MemoryPlan:
        """The memory of the last call's program."""
        return self._program().plan


def _spent(device: Device) -> Window:
    """A finished window whose error says that an array was donated."""
    window = Window(device)
    window.taken.acquire()
    window.error = MXNetError("this array was donated to a compiled symbol", None, "copy it before the call if it is needed afterwards")
    window.done.release()
    return window

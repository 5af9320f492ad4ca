"""`CachedGraph`: a traced block as one operation, on its inputs and the arrays of its parameters on a device."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config import recomputes
from ..device import CPU, Device
from ..errors import DTypeError, ParameterError, ShapeError
from ..executor.fixed_inputs import FixedInputs, fixed_inputs, hold
from ..executor.operation import Recordable
from ..executor.part import MonitoredName
from ..imperative.cell import Content, wrap
from ..imperative.scope import tls
from ..imperative.storage import is_sparse_array
from ..ndarray.array import NDArray
from ..scheduler.observers import LISTENERS
from ..symbol.inference import infer_all
from ..symbol.monitored_names import hooked_output, monitored_inputs
from ..symbol.node import Head
from ..symbol.replay import Replayer
from ..symbol.segments import ByStorage, GraphFunction, function_of
from ..symbol.storage_types import is_sparse
from .copies import RENEWALS
from .parameter import Parameter
from .signatures import OpHook

#: Calls that predict after the first, from which on what depends on parameters alone is computed once: of a static graph, and of any
#: other; and how many times as many it takes each time, as parameters or the types of inputs have changed since.
SOON, LATE, LESS_OFTEN = 1, 100, 4


class CachedGraph:
    """A symbolic graph over inputs and parameters as a function of arrays.

    Parameters
    ----------
    name
        Its name in messages.
    heads
        The outputs.
    inputs
        Names of the variables that are inputs, in the order of the call's arguments.
    params
        The parameters that the other variables stand for, by name.
    mirror
        Whether backward recomputes most inner values instead of saving them in forward (see `graph.recompute`).
    is_static
        Whether many calls with inputs of the same types are expected: then what depends on parameters alone is computed once from the
        second call on that predicts, else from the hundredth on (see `executor.fixed_inputs`).

    Raises
    ------
    ParameterError
        If a variable is neither an input nor a parameter.
    """

    def __init__(
        self,
        name: str,
        heads: Sequence[Head],
        inputs: Sequence[str],
        params: Mapping[str, Parameter],
        mirror: bool = False,
        is_static: bool = False,
    ) -> None:
        self.name, self.mirror = name, mirror or recomputes()
        self._replay = Replayer(heads)
        self.variables = self._replay.variables
        place = {n: k for k, n in enumerate(inputs)}
        unknown = [n.name for n in self.variables if n.name not in place and n.name not in params]
        if unknown:
            raise ParameterError(
                f"{name}: the traced graph reads variables that are neither inputs nor parameters",
                ", ".join(unknown),
                "make them parameters with params.get",
            )
        # (place among the variables, place among the inputs), and (place among the variables, parameter)
        self._inputs = [(k, place[n.name]) for k, n in enumerate(self.variables) if n.name in place]
        self.params = [(k, params[n.name]) for k, n in enumerate(self.variables) if n.name not in place]
        self._function = function_of(name, self._replay.heads, self.mirror)
        self._stored = ByStorage(name, self._replay.heads, self.mirror)
        self._stores = is_sparse(self._replay.order, {})
        self._with_inner_values: dict[bool, GraphFunction] = {}
        # Count of renewals, device, and the parameters' arrays there with None in the places of inputs. One tuple, set by one assignment:
        # threads that run the block on several devices replace each other's entry, but never see half of one.
        self._cache: tuple[int, Device | None, list[Any]] = -1, None, []
        #: The graph with the parameters as they are and the count of renewals of these, the calls since they have changed or were recorded,
        #: and how many it takes.
        self._fixed: tuple[int, FixedInputs] | None = None
        self._calls, self._patience = 0, SOON if is_static else LATE

    def __call__(self, arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
        """Compute the outputs for inputs.

        Parameters
        ----------
        arrays
            One per input.
        device
            The device whose copies of the parameters are used.

        Raises
        ------
        DeferredInitializationError
            If the shape of a parameter is not known yet.
        ShapeError, DTypeError
            If the arrays do not match; the message names the node.
        """
        contents = None
        try:
            if tls.tape is not None or tls.training:
                self._fixed, self._calls = None, 0  # the optimizer may write the parameters in place
            elif device is CPU and not LISTENERS:
                if self._fixed is None and self._calls + 1 < self._patience:
                    self._calls += 1
                else:
                    contents = self._predicted(arrays)
            if contents is None:
                cells = self._cells(arrays, device)
                if self._stores or any(map(is_sparse_array, cells)):
                    return self._stored(cells, device)
                contents = self._function(cells, device)
        except (ShapeError, DTypeError):
            self._check_types(self._cells(arrays, device))  # raises an error that names the node, which the compiled program cannot
            raise
        outputs = []  # not a comprehension, which would enter another frame in each call
        for content in contents:
            outputs.append(wrap(NDArray, content))  # noqa: PERF401
        return outputs

    def _predicted(self, arrays: Sequence[NDArray]) -> list[Content] | None:
        """The outputs with the parameters as they are; None if it is too early for that, or if it cannot be."""
        kept, count = self._fixed, RENEWALS.count  # read before the arrays that it is the count of
        if kept is None:
            if self._calls < self._patience:  # the next call may be the first
                cells = self._cells(arrays, CPU)
                hold([cells[k] for k, _ in self.params])
                self._calls += 1
                return None
            fixed = self._with_fixed_parameters(arrays)
            self._fixed = None if fixed is None else (count, fixed)
        else:
            fixed = kept[1]
            if kept[0] != count or not fixed.is_current():
                self._fixed = fixed = None
                self._calls = 0
        contents = None if fixed is None else fixed([arrays[place] for _, place in self._inputs])
        if fixed is not None and contents is None:  # inputs of other types, which may have become the usual ones
            self._calls += 1
            if self._calls >= self._patience:
                self._fixed = None
        return contents

    def _with_fixed_parameters(self, arrays: Sequence[NDArray]) -> FixedInputs | None:
        cells, operation = self._cells(arrays, CPU), None
        if isinstance(self._function, Recordable):
            operation = self._function.predicting
            if operation is None:
                return None  # it has not been called yet
        self._calls, self._patience = 0, LESS_OFTEN * self._patience
        if operation is None or self._stores or any(map(is_sparse_array, cells)):
            return None
        return fixed_inputs(operation, cells, [k for k, _ in self.params])

    def _cells(self, arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
        """One array per variable. Those of the parameters are cached until some are replaced."""
        count, where, cached = self._cache
        if where is not device or count != RENEWALS.count:
            count = RENEWALS.count  # read first: arrays that another thread replaces meanwhile make the entry stale, not wrong
            cached = self._arrays_of_parameters(device)
            self._cache, self._fixed = (count, device, cached), None
        # a copy: threads that run the block at the same time must not see each other's inputs
        cells = cached.copy()
        for k, place in self._inputs:
            cells[k] = arrays[place]
        return cells

    def _arrays_of_parameters(self, device: Device) -> list[Any]:
        arrays: list[Any] = [None] * len(self.variables)
        for k, param in self.params:
            arrays[k] = param._on(device)
        return arrays

    def _check_types(self, cells: Sequence[NDArray]) -> None:
        """Raise the error of type inference, which names the node."""
        named = {n.name: c for n, c in zip(self.variables, cells, strict=True)}
        infer_all(self._replay.heads, {n: c.shape for n, c in named.items()}, {n: c._dtype for n, c in named.items()}, self.name)

    def with_hook(self, callback: OpHook, monitor_all: bool) -> Callable[[Sequence[NDArray], Device], list[NDArray]]:
        """The same function, passing every inner value to a callback.

        Parameters
        ----------
        callback
            Called with the name of the value, the name of its operator and the value; names have a method ``decode``.
        monitor_all
            Whether to pass the inputs of operators too.
        """
        nodes = [n for n in self._replay.order if not n.is_variable]
        read = {*self._replay.heads, *(h for n in nodes for h in n.inputs)}
        # as in MXNet, which computes outputs that nothing reads, with hidden ones, only for backward
        recording = tls.tape is not None
        inner = {n: [h for k in range(n.count) if (h := Head(n, k)) in read or recording] for n in nodes}
        outputs, shown = self._replay.heads, [h for heads in inner.values() for h in heads]
        # Another program, in which inner values are outputs too: they are neither fused away nor freed.
        if recording not in self._with_inner_values:
            self._with_inner_values[recording] = function_of(self.name, [*outputs, *shown], self.mirror)
        function, stored = self._with_inner_values[recording], ByStorage(self.name, [*outputs, *shown], self.mirror)

        def run(arrays: Sequence[NDArray], device: Device) -> list[NDArray]:
            cells = self._cells(arrays, device)
            goes_by_storage = self._stores or any(map(is_sparse_array, cells))
            found = stored(cells, device) if goes_by_storage else [wrap(NDArray, c) for c in function(cells, device)]
            values = dict(zip([*outputs, *shown], found, strict=True))
            values |= {Head(n, 0): c for n, c in zip(self.variables, cells, strict=True)}
            for node in nodes:
                for name, head in zip(monitored_inputs(node), node.inputs, strict=True) if monitor_all else ():
                    callback(MonitoredName(name), MonitoredName(node.op_name), values[head])
                for head in inner[node]:
                    callback(MonitoredName(hooked_output(node, head.place)), MonitoredName(node.op_name), values[head])
            return [values[h] for h in outputs]

        return run

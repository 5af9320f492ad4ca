"""``Executor``: a graph bound to arrays. Forward, backward, the arrays by name, and what was decided about the programs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..backend.loader import backend_for
from ..device import Device
from ..errors import DTypeError, MXNetError, ParameterError, ShapeError
from ..graph.memory_plan import MemoryPlan
from ..imperative.array import from_host
from ..imperative.cell import Cell, Value, wrap
from ..imperative.generator import STREAMS
from ..imperative.invoke import content, data_of, invoke
from ..imperative.record import Tape
from ..imperative.transfer import on_device
from ..ndarray.array import NDArray
from ..op.registry import OPS
from .part import Key, Part

ADD = OPS["add"].sig()
Monitor = Callable[[str, NDArray], None]


class Source(Protocol):
    """Where an executor comes from: what it asks of the layer that knows symbols."""

    def parts(self, training: bool) -> list[Part]:
        """The typed graph, one part for each stretch of nodes on one device."""
        ...

    def rebound(self, executor: "Executor", shapes: Mapping[str, Any], partial_shaping: bool, allow_up_sizing: bool) -> "Executor":
        """An executor of the same graph for other shapes."""
        ...

    def debug_str(self) -> str:
        """The graph as text."""
        ...


class Kept(NamedTuple):
    """What a training forward left for backward: per part the arrays that it reads; the tape keeps arguments from being overwritten."""

    training: bool
    arrays: list[list[Any]]
    tape: Tape


class Executor:
    """A graph bound to arrays: made by ``Symbol.bind`` and ``Symbol.simple_bind``.

    Parameters
    ----------
    source
        Makes the typed graph.
    device
        Where it runs, and where arrays without a group live.
    arguments, gradients, states
        Arrays by name, in order; None where no gradient is wanted.
    requests
        ``"write"``, ``"add"`` or ``"null"`` for each argument.
    output_names, output_keys
        The outputs: names, and which exchanged values they are.

    Attributes
    ----------
    arg_dict, grad_dict, aux_dict
        The arrays by name. They are read by each run: write new values into them.
    """

    def __init__(
        self,
        source: Source,
        device: Device,
        arguments: dict[str, NDArray],
        gradients: dict[str, NDArray | None],
        states: dict[str, NDArray],
        requests: dict[str, str],
        output_names: Sequence[str],
        output_keys: Sequence[Key],
    ) -> None:
        self._source, self._device, self._requests = source, device, requests
        self.arg_dict, self.grad_dict, self.aux_dict = arguments, gradients, states
        self._output_names, self._output_keys = list(output_names), list(output_keys)
        self._parts: dict[bool, list[Part]] = {}
        self._outputs: list[NDArray] | None = None
        self._kept: Kept | None = None
        self._random_keys: list[list[Any]] = []
        self._monitor: tuple[Monitor, bool] | None = None

    # arrays

    @property
    def arg_arrays(self) -> list[NDArray]:
        """The arguments' arrays in order."""
        return list(self.arg_dict.values())

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """The gradients' arrays in the order of the arguments; None where none is wanted."""
        return list(self.grad_dict.values())

    @property
    def aux_arrays(self) -> list[NDArray]:
        """The auxiliary states' arrays in order."""
        return list(self.aux_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs: the same array objects after every run, zeros before the first."""
        if self._outputs is None:
            made = {key: (node, part.device) for part in self._parts_of(False) for key, node in part.makes}
            self._outputs = [zeros(made[key][0].shape, made[key][0].dtype, made[key][1]) for key in self._output_keys]
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._output_names, self.outputs, strict=True))

    # running

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train
            Whether operators run in training mode; `backward` then needs no second pass.
        **kwargs
            New values of arguments, by name: arrays of the arguments' shapes.

        Returns
        -------
        list
            The outputs.

        Raises
        ------
        DTypeError
            If a name is not an argument, or a value not an array.
        ShapeError
            If a value has another shape than its argument.
        """
        for name, value in kwargs.items():
            self._feed(name, value)
        self._kept, self._random_keys = None, []
        self._run(bool(is_train), bool(is_train) and self._has_backward())
        if self._monitor is not None:
            self._watch(bool(is_train))
        return self.outputs

    def _feed(self, name: str, value: Any) -> None:
        if name not in self.arg_dict:
            raise DTypeError(f"Unknown argument {name}", None, f"the arguments are {', '.join(self.arg_dict)}")
        target = self.arg_dict[name]
        if not isinstance(value, (NDArray, np.ndarray)):
            raise DTypeError("forward: only accepts NDArray and numpy.ndarray", f"{name}: {type(value).__name__}", "make an array of it")
        if tuple(value.shape) != target.shape:
            raise ShapeError(f"Shape not match! Argument {name}, need: {target.shape}", f"received: {value.shape}", "reshape the executor")
        target[:] = value

    def _has_backward(self) -> bool:
        return any(r != "null" for r in self._requests.values())

    def _parts_of(self, training: bool) -> list[Part]:
        found = self._parts.get(training)
        if found is None:
            found = self._parts[training] = self._source.parts(training)
        return found

    def _run(self, training: bool, keep: bool) -> None:
        made: dict[Key, Cell] = {}
        kept: list[list[Any]] = []
        tape = Tape()
        for number, part in enumerate(self._parts_of(training)):
            cells = [self._cell(key, made) for key, _ in part.reads]
            leaves = [_data_on(cell, part.device) for cell in cells] + self._keys_of(number, part)
            program = part.training.forward if keep else part.inference
            results = program.run(leaves)
            shared = set(part.training.kept) if keep else ()
            for k, (key, _) in enumerate(part.makes):
                made[key] = wrap(NDArray, _shared(results[k], part.device) if k in shared else content(results[k], part.device))
            for (name, _), new in zip(part.written, results[len(part.makes) :], strict=False):
                self.aux_dict[name]._v = content(new, part.device)
            if keep:
                kept.append(self._saved(part, cells, leaves, results, tape))
        for cell, key in zip(self.outputs, self._output_keys, strict=True):
            cell._v = made[key]._v
        if keep:
            self._kept = Kept(training, kept, tape)

    def _cell(self, key: Key, made: Mapping[Key, Cell]) -> Cell:
        kind, name = key
        return self.arg_dict[name] if kind == "arg" else self.aux_dict[name] if kind == "aux" else made[key]

    def _keys_of(self, number: int, part: Part) -> list[Any]:
        """The part's random keys: drawn once for each forward, so that running it again for backward draws the same."""
        while len(self._random_keys) <= number:
            self._random_keys.append([])
        keys = self._random_keys[number]
        backend = backend_for(part.device)
        keys += [backend.from_host(STREAMS.of(part.device).next_key(), part.device) for _ in part.keys[len(keys) :]]
        return keys

    @staticmethod
    def _saved(part: Part, cells: Sequence[Cell], leaves: Sequence[Any], results: Sequence[Any], tape: Tape) -> list[Any]:
        """The arrays that the part's backward reads; arguments among them are not written in place while the tape lives."""
        training = part.training
        for k in training.reads:
            if k < len(cells):
                cells[k]._capture().lend(tape)
        return [leaves[k] for k in training.reads] + [results[k] for k in training.kept]

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute the gradients of the arguments into the gradient arrays, and write what operators update when backward runs.

        Parameters
        ----------
        out_grads
            Head gradients: one array, a list of one for each output, or a dictionary by the outputs' names; ones where None or left out.
            Loss operators such as SoftmaxOutput do not read theirs.
        is_train
            Whether the gradients are those of training mode. If the last forward was of the other mode, it is run again.

        Raises
        ------
        ShapeError
            If a head gradient has another shape than its output.
        """
        heads = self._head_gradients(out_grads)
        if not self._has_backward():
            return
        if self._kept is None or self._kept.training != bool(is_train):
            self._run(bool(is_train), keep=True)
        kept, self._kept = self._kept, None
        assert kept is not None
        grads: dict[Key, Any] = {}
        for key, head, out in zip(self._output_keys, heads, self.outputs, strict=True):
            _add_to(grads, key, head._v if head is not None else _filled(1, out))
        parts = self._parts_of(kept.training)
        for part, arrays in zip(parts[::-1], kept.arrays[::-1], strict=True):
            self._backward_of(part, arrays, grads)
        for name, request in self._requests.items():
            if request != "null" and ("arg", name) in grads:
                self._assign(name, request, wrap(Cell, grads["arg", name]))

    def _backward_of(self, part: Part, arrays: list[Any], grads: dict[Key, Any]) -> None:
        training = part.training
        for k in training.heads:
            key, node = part.makes[k]
            found = grads.get(key)
            head = _zeros(node.shape, node.dtype, part.device) if found is None else _data_on(wrap(Cell, found), part.device)
            arrays.append(head)
        results = training.backward.run(arrays)
        for key, result in zip(training.wanted, results, strict=False):
            _add_to(grads, key, content(result, part.device))
        for (name, _), new in zip(part.updates, results[len(training.wanted) :], strict=True):
            self.aux_dict[name]._v = content(new, part.device)

    def _assign(self, name: str, request: str, grad: Cell) -> None:
        target = self.grad_dict[name]
        assert target is not None
        grad._v = on_device(grad, target.context) if grad_is_elsewhere(grad, target) else grad._v
        target._v = invoke(ADD, (target, grad))[0] if request == "add" else grad._v

    def _head_gradients(self, given: Any) -> list[Cell | None]:
        if isinstance(given, Mapping):
            unknown = set(given) - set(self._output_names)
            if unknown:
                raise ParameterError("backward: not an output", ", ".join(sorted(unknown)), f"the outputs are {', '.join(self._output_names)}")
            given = [given.get(name) for name in self._output_names]
        heads = [given] if isinstance(given, Cell) else [None] * len(self.outputs) if given is None else list(given)
        heads += [None] * (len(self.outputs) - len(heads))
        if len(heads) > len(self.outputs):
            raise ParameterError("backward: more head gradients than outputs", f"{len(heads)} for {len(self.outputs)}", "give one for each output")
        for head, out, name in zip(heads, self.outputs, self._output_names, strict=True):
            if head is not None and head.shape != out.shape:
                raise ShapeError(f"backward: the head gradient of {name} has another shape", f"{head.shape} for {out.shape}", "give one of its shape")
        return heads

    # changes

    def copy_params_from(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray] | None = None, allow_extra_params: bool = False
    ) -> None:
        """Copy values into the arguments' and states' arrays.

        Parameters
        ----------
        arg_params, aux_params
            Arrays by name; cast to the dtype of those they are copied into.
        allow_extra_params
            Whether names that the executor does not have are passed over.

        Raises
        ------
        ParameterError
            For such a name otherwise.
        """
        for what, given, own in (("arguments", arg_params, self.arg_dict), ("auxiliary states", aux_params or {}, self.aux_dict)):
            for name, array in given.items():
                if name in own:
                    array.astype(own[name].dtype, copy=False).copyto(own[name])
                elif not allow_extra_params:
                    raise ParameterError(f'Find name "{name}" that is not in the {what}', None, "pass allow_extra_params=True to leave such out")

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> "Executor":
        """An executor of the same graph for other shapes; arrays whose shape stays are shared.

        Parameters
        ----------
        partial_shaping
            Whether arguments that are not named may change their shapes too.
        allow_up_sizing
            Whether arrays may become larger.
        **kwargs
            New shapes of arguments.

        Raises
        ------
        ShapeError
            If an argument changes in a way that is not allowed.
        """
        return self._source.rebound(self, kwargs, partial_shaping, allow_up_sizing)

    # looking in

    def set_monitor_callback(self, callback: Monitor | None, monitor_all: bool = False) -> None:
        """Have a function called with the name and the value of every inner output after each forward.

        Parameters
        ----------
        callback
            ``callback(name, array)``; None for none.
        monitor_all
            Whether what nodes read is shown too, as ``<node>_<input>``.
        """
        self._monitor = None if callback is None else (callback, monitor_all)

    def _watch(self, training: bool) -> None:
        callback, everything = self._monitor or (None, False)
        made: dict[Key, Cell] = {}
        for number, part in enumerate(self._parts_of(training)):
            leaves = [_data_on(self._cell(key, made), part.device) for key, _ in part.reads] + self._keys_of(number, part)
            for (key, _), result in zip(part.makes, part.inference.run(leaves), strict=False):
                made[key] = wrap(NDArray, content(result, part.device))
            for internal, result in zip(part.internals, part.inner.run(leaves), strict=True):
                if callback is not None and (everything or not internal.is_input):
                    callback(internal.name, wrap(NDArray, content(result, part.device)))

    def debug_str(self) -> str:
        """The graph as text."""
        return self._source.debug_str()

    def explain(self) -> str:
        """What runs: for each device and direction the steps in order, fused ones joined by ``+``, and the memory they need."""
        lines = []
        for part in self._parts_of(True) if self._has_backward() else self._parts_of(False):
            programs = {"forward": part.inference}
            if self._has_backward():
                programs = {"forward, training": part.training.forward, "backward": part.training.backward}
            for name, program in programs.items():
                lines += [f"{name} on {part.device}: {len(program.steps)} steps, {len(program.kernels)} fused kernels"]
                lines += [f"  {line}" for line in program.explain().splitlines()]
                lines += [f"  {line}" for line in str(program.plan).splitlines()]
        return "\n".join(lines)

    def memory_plan(self) -> dict[str, MemoryPlan]:
        """The memory plans of the programs, by direction and device: ``"forward on cpu(0)"``."""
        plans: dict[str, MemoryPlan] = {}
        for number, part in enumerate(self._parts_of(False)):
            place = f"{part.device}" + (f", part {number}" if number else "")
            plans[f"forward on {place}"] = part.inference.plan
        for number, part in enumerate(self._parts_of(True) if self._has_backward() else ()):
            place = f"{part.device}" + (f", part {number}" if number else "")
            plans[f"training forward on {place}"] = part.training.forward.plan
            plans[f"backward on {place}"] = part.training.backward.plan
        return plans


def grad_is_elsewhere(grad: Cell, target: NDArray) -> bool:
    """Whether a gradient was computed on another device than the array that receives it."""
    v = grad._v
    return v.__class__ is Value and v.device is not target.context


def _data_on(cell: Cell, device: Device) -> Any:
    """The array of a cell, copied if its memory is another device's."""
    v = cell._v
    if v.__class__ is Value and v.device is not device and not (v.device.is_host and device.is_host):
        v = on_device(cell, device)
    elif v.__class__ is not Value and not device.is_host:
        v = on_device(cell, device)
    return data_of(v)


def _shared(data: Any, device: Device) -> Value:
    """An output that backward reads too: a write into it makes a copy."""
    value = Value(data, device=device)
    value.share()
    return value


def _zeros(shape: tuple[int, ...], dtype: str, device: Device, value: float = 0) -> Any:
    backend = backend_for(device)
    return backend.copy(backend.constant(value, shape, dtype), device)


def zeros(shape: tuple[int, ...], dtype: str, device: Device) -> NDArray:
    """A new array of zeros."""
    return wrap(NDArray, content(_zeros(shape, dtype, device), device))


def _filled(value: float, like: NDArray) -> Any:
    return content(_zeros(like.shape, like._dtype, like.context, value), like.context)


def _add_to(grads: dict[Key, Any], key: Key, grad: Any) -> None:
    """Add a contribution to a value's gradient, on the device of the first."""
    before = grads.get(key)
    if before is None:
        grads[key] = grad
        return
    first, second = wrap(Cell, before), wrap(Cell, grad)
    device = before.device if before.__class__ is Value else None
    if device is not None and not device.is_host:
        second._v = on_device(second, device)
    elif grad.__class__ is Value and not grad.device.is_host:
        second._v = on_device(second, Device("cpu"))
    grads[key] = invoke(ADD, (first, second))[0]


__all__ = ["Executor", "MXNetError", "from_host", "zeros"]

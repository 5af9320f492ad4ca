"""Twofold as a backend of ONNX: the interface of ``onnx.backend.base``, which ONNX's own tests drive.

Sizes, and inputs that shapes depend on, may differ from run to run: a graph is read for each new combination, and kept.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...device import CPU, Device, interned
from ...dtype import NUMPY
from ...errors import FormatError, ParameterError
from ...imperative.array import from_host
from ...ndarray.array import NDArray
from ...symbol.compose import group
from ...symbol.symbol import Symbol
from .graph_reader import GraphReader
from .values import NotConstant, Tensor

if TYPE_CHECKING:
    from onnx import ModelProto

#: A graph that is read for too many combinations of sizes and constants keeps the last ones only.
_MOST_GRAPHS = 16


def supports_device(device: str) -> bool:
    """Whether models can be run on a device: ``"CPU"``, or ``"CUDA:0"`` where an adapter for GPUs is installed."""
    from ...context import num_gpus

    kind, _, number = device.partition(":")
    return kind == "CPU" or (kind == "CUDA" and int(number or 0) < num_gpus())


def is_compatible(model: "ModelProto", device: str = "CPU", **kwargs: object) -> bool:
    """Whether a model could be run: it can be read, or could be with the values of inputs that decide about shapes."""
    try:
        GraphReader(model).run()
    except NotConstant:
        return True
    except FormatError:
        return False
    return True


class _Graph(NamedTuple):
    """A graph for one combination of sizes and constant inputs."""

    outputs: list[Tensor]
    symbol: Symbol | None
    params: dict[str, NDArray]


class Prepared:
    """A model that can be run.

    Parameters
    ----------
    model
        The protocol buffer.
    device
        Where it runs.
    """

    def __init__(self, model: "ModelProto", device: Device) -> None:
        self.model, self.device = model, device
        given = {t.name for t in model.graph.initializer}
        self.names = [v.name for v in model.graph.input if v.name not in given]
        self._constant: set[str] = set()
        self._graphs: dict[object, _Graph] = {}

    def run(self, inputs: Sequence[object] | object, **kwargs: object) -> tuple[np.ndarray, ...]:
        """The outputs for inputs in the model's order.

        Raises
        ------
        ParameterError
            If there are too few or too many inputs.
        FormatError
            If a node is not supported; the message names it.
        """
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(given) > len(self.names):
            raise ParameterError("onnx: too many inputs", f"{len(given)} of {len(self.names)}", f"pass {', '.join(self.names)}")
        if any(isinstance(a, (list, tuple)) or a is None for a in given):
            raise ParameterError("onnx: an input is not an array", ", ".join(type(a).__name__ for a in given), "pass arrays")
        arrays = {n: np.asarray(a) for n, a in zip(self.names, given, strict=False)}
        graph = self._graph(arrays)
        computed: list[np.ndarray] = []
        if graph.symbol is not None:
            args = {n: self._placed(a) for n, a in arrays.items()} | graph.params
            states = set(graph.symbol.list_auxiliary_states())
            bound = graph.symbol.bind(
                self.device, {n: args[n] for n in graph.symbol.list_arguments()}, aux_states={n: args[n] for n in states}
            )
            computed = [a.asnumpy() for a in bound.forward()]
        values = iter(computed)
        return tuple(t.array if t.array is not None else self._typed(next(values), t) for t in graph.outputs)

    def _placed(self, array: np.ndarray) -> NDArray:
        return from_host(NDArray, array, self.device)

    @staticmethod
    def _typed(array: np.ndarray, tensor: Tensor) -> np.ndarray:
        return array if tensor.dtype is None else array.astype(NUMPY[tensor.dtype], copy=False)

    def _graph(self, arrays: dict[str, np.ndarray]) -> _Graph:
        while True:
            known = {n: a for n, a in arrays.items() if n in self._constant}
            # Inputs that decide about shapes count with their elements, all others with their types only.
            key = tuple((n, a.shape, str(a.dtype), a.tobytes() if n in known else b"") for n, a in arrays.items())
            if key in self._graphs:
                return self._graphs[key]
            reader = GraphReader(self.model, known, arrays)
            try:
                outputs = reader.run()
            except NotConstant as error:
                # the graph is read again with the elements of the inputs that decide about shapes; each round names at least one more
                if not set(error.roots) - self._constant:
                    raise
                self._constant.update(error.roots)
                continue
            computed = [t.symbol for t in outputs if t.array is None]
            if len(self._graphs) >= _MOST_GRAPHS:
                self._graphs.clear()
            self._graphs[key] = _Graph(outputs, group(computed) if computed else None, dict(reader.params))
            return self._graphs[key]


def prepare(model: "ModelProto", device: str = "CPU", **kwargs: object) -> Prepared:
    """A model that can be run, on a device such as ``"CPU"`` or ``"CUDA:0"``.

    Raises
    ------
    ParameterError
        If there is no such device.
    """
    if not supports_device(device):
        raise ParameterError("onnx: there is no such device", device, "pass CPU, or CUDA:0 with an adapter for GPUs")
    kind, _, number = device.partition(":")
    return Prepared(model, CPU if kind == "CPU" else interned("gpu", int(number or 0)))


def run_model(model: "ModelProto", inputs: Sequence[object], device: str = "CPU", **kwargs: object) -> tuple[np.ndarray, ...]:
    """The outputs of a model for inputs in its order."""
    return prepare(model, device).run(inputs)

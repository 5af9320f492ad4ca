"""``mx.contrib.tensorboard``: metrics as curves of TensorBoard, parameters and gradients as histograms, networks as graphs."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import Any, Self
from weakref import finalize

from ..checkpoint import BatchEndParam
from ..errors import DTypeError, MissingDependency
from ..gluon.block import Block
from ..gluon.numpy_arrays import as_legacy
from ..gluon.symbol_block import symbol_of
from ..module.module import Module
from ..ndarray.array import NDArray
from ..symbol.inference import Inference, inside_shape
from ..symbol.node import SymbolNode
from ..symbol.symbol import Symbol

__all__ = ["LogMetricsCallback", "LogParametersCallback", "SummaryWriter"]

#: Packages whose ``SummaryWriter`` writes TensorBoard's files, in order of preference; MXNet used the first.
WRITERS = ("mxboard", "tensorboardX")
#: Seconds until an added value is in the file.
FLUSHED = 5


class LogMetricsCallback:
    """A callback that writes the metric to TensorBoard's files, for the end of batches or of an evaluation.

    Parameters
    ----------
    logging_dir
        The folder of the files; a new one for each run, so that TensorBoard shows runs side by side.
    prefix
        Prefix of the metrics' names, such as ``"train"``.

    Raises
    ------
    MissingDependency
        If neither ``mxboard`` nor ``tensorboardX`` is installed.

    Notes
    -----
    The horizontal axis is the epoch. ``tensorboard --logdir=…`` shows the curves.
    """

    def __init__(self, logging_dir: str | PathLike[str], prefix: str | None = None) -> None:
        self.prefix = prefix
        package = next((name for name in WRITERS if find_spec(name) is not None), None)
        if package is None:
            raise MissingDependency.of("tensorboardX", "LogMetricsCallback", "tensorboardX")
        self.summary_writer: Any = import_module(package).SummaryWriter(logging_dir)

    def __call__(self, param: BatchEndParam) -> None:
        """Write the metric's values."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)


class LogParametersCallback:
    """A callback that writes histograms of parameters and gradients to TensorBoard's files, for the end of epochs or of batches.

    Parameters
    ----------
    logging_dir
        The folder of the files.
    network
        The module that is trained, or the block.
    has_gradients
        Whether to write the gradients of the last backward too.

    Raises
    ------
    MissingDependency
        If ``tensorboardX`` is not installed.

    Notes
    -----
    The horizontal axis is the epoch, even if histograms are written at the end of each batch.
    """

    def __init__(self, logging_dir: str | PathLike[str], network: "Module | Block", has_gradients: bool = True) -> None:
        self.network, self.has_gradients = network, has_gradients
        self.writer = SummaryWriter(logging_dir)

    def __call__(self, param: BatchEndParam | int, *state: object) -> None:
        """Write the histograms of an epoch, whose number is the first argument of callbacks at its end."""
        epoch = param.epoch if isinstance(param, BatchEndParam) else param
        self.writer.add_parameters(self.network, epoch, self.has_gradients)


class SummaryWriter:
    """Writes files for TensorBoard, with the package ``tensorboardX``.

    Parameters
    ----------
    logging_dir
        The folder of the files; a new one for each run, so that TensorBoard shows runs side by side.

    Raises
    ------
    MissingDependency
        If ``tensorboardX`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import twofold as mx
    >>> net = mx.gluon.nn.Dense(3, in_units=4)
    >>> net.initialize()
    >>> with mx.contrib.tensorboard.SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     writer.add_graph(net, {"data": (1, 4)})
    ...     for epoch in range(2):
    ...         writer.add_scalar("loss", 1 / (epoch + 1), epoch)
    ...         writer.add_parameters(net, epoch, has_gradients=False)
    """

    def __init__(self, logging_dir: str | PathLike[str]) -> None:
        if find_spec("tensorboardX") is None:
            raise MissingDependency.of("tensorboardX", "SummaryWriter", "twofold[tensorboard]")
        self._writer: Any = import_module("tensorboardX").SummaryWriter(str(logging_dir), flush_secs=FLUSHED)
        # when the process exits, tensorboardX loses values that its thread has not written
        self._closing = finalize(self, self._writer.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing()

    def add_scalar(self, tag: str, value: "float | NDArray", global_step: int) -> None:
        """Add a point to a curve.

        Parameters
        ----------
        tag
            The curve's name; curves with the same text before a slash are shown together.
        value
            The number, or an array of one element.
        global_step
            The point's position on the horizontal axis.
        """
        self._writer.add_scalar(tag, float(value), global_step)

    def add_histogram(self, tag: str, values: NDArray, global_step: int) -> None:
        """Add a histogram of an array's elements.

        Parameters
        ----------
        tag
            Its name.
        values
            The array.
        global_step
            Where the histogram is on the time axis.
        """
        self._writer.add_histogram(tag, values.asnumpy(), global_step)

    def add_parameters(self, network: "Module | Block", global_step: int, has_gradients: bool = True) -> None:
        """Add histograms of all parameters, and of their gradients as ``name/gradient``.

        Parameters
        ----------
        network
            A bound module, or a block, whose parameters without values are left out. Values are those on the first device.
        global_step
            Where the histograms are on the time axis.
        has_gradients
            Whether to add the gradients of the last backward.

        Raises
        ------
        DTypeError
            If ``network`` is neither.
        """
        for name, value, gradient in _parameters_of(network):
            self.add_histogram(name, value, global_step)
            if has_gradients and gradient is not None:
                self.add_histogram(f"{name}/gradient", gradient, global_step)

    def add_graph(self, network: "Module | Block | Symbol", shape: Mapping[str, Sequence[int]] | None = None) -> None:
        """Add the graph of a network, in groups: the part of a name before an underscore, as in ``stage1_conv0``, names a group.

        Parameters
        ----------
        network
            A symbol, a module, or a block that can be called with symbols.
        shape
            Shapes of inputs by name, to label the graph with all shapes; see `viz.plot_network`.

        Raises
        ------
        DTypeError
            If ``network`` is none of these.
        """
        symbol = (
            symbol_of(network, shape or {}) if isinstance(network, Block) else network.symbol if isinstance(network, Module) else network
        )
        if not isinstance(symbol, Symbol):
            raise DTypeError("add_graph: network is no network", type(network).__name__, "pass a Block, a Module or a Symbol")
        known = {name: inside_shape(size) for name, size in (shape or {}).items()}
        found = Inference(symbol.heads, known, {}).run()
        graph = _proto("graph").GraphDef(node=[_node_def(node, found) for node in found.order])
        self._writer.file_writer.add_event(_proto("event").Event(graph_def=graph.SerializeToString()))


def _parameters_of(network: object) -> Iterator[tuple[str, NDArray, NDArray | None]]:
    """Name, value and gradient of a network's parameters."""
    if isinstance(network, Module):
        group = network._exec_group
        values = network.get_params()[0]
        for name, gradients in zip(group.param_names, group.grad_arrays, strict=True):
            yield name, values[name], gradients[0]
    elif isinstance(network, Block):
        for name, p in network.collect_params().items():
            if p._data is not None:
                yield name, as_legacy(p.list_data()[0]), as_legacy(p.list_grad()[0]) if p.grad_req != "null" else None
    else:
        raise DTypeError("tensorboard: network has no parameters", type(network).__name__, "pass a Block or a Module")


def _proto(name: str) -> Any:
    """A module of TensorFlow's messages, whose classes are made when it is imported."""
    return import_module(f"tensorboardX.proto.{name}_pb2")


def _node_def(node: SymbolNode, found: Inference) -> object:
    """A node in TensorFlow's form."""
    AttrValue, Shape = _proto("attr_value").AttrValue, _proto("tensor_shape").TensorShapeProto
    attributes = {name: AttrValue(s=str(value).encode()) for name, value in node.attrs.items()}
    if all(known.is_shaped for known in found.known[node]):
        shapes = [Shape(dim=[Shape.Dim(size=n) for n in known.sizes]) for known in found.known[node]]
        attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=shapes))
    inputs = [_grouped(head.node.name) + (f":{head.place}" if head.place else "") for head in node.inputs]
    return _proto("node_def").NodeDef(
        name=_grouped(node.name), op="Input" if node.is_variable else node.op_name, input=inputs, attr=attributes
    )


def _grouped(name: str) -> str:
    # TensorBoard's groups are paths
    return name.strip("_").replace("_", "/")

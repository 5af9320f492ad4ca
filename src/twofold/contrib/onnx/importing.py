"""``import_model``, ``import_to_gluon`` and ``get_model_metadata``: ONNX files as symbols, blocks and descriptions."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from ... import symbol as sym
from ...device import Device
from ...errors import FormatError
from ...gluon.symbol_block import SymbolBlock
from ...ndarray.array import NDArray
from ...symbol.symbol import Symbol
from .files import load_model
from .graph_reader import GraphReader

if TYPE_CHECKING:
    from onnx import ModelProto

Path = str | PathLike[str]
Model = tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]


def import_model(model_file: Path) -> Model:
    """A network in an ONNX file as a symbol with its parameters.

    Parameters
    ----------
    model_file
        The path of the file.

    Returns
    -------
    tuple
        The symbol, its parameters and its auxiliary states by name.

    Raises
    ------
    MissingDependency
        If the package ``onnx`` is not installed.
    MissingFileError, FileAccessError
        If the file cannot be read.
    FormatError
        If it is damaged, or a node of it is not supported; the message names the node and its operator.

    Examples
    --------
    >>> import os, tempfile
    >>> import twofold as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "net.onnx")
    >>> _ = mx.onnx.export_model(mx.sym.relu(mx.sym.Variable("data"), name="relu"), {}, [(2, 3)], onnx_file_path=path)
    >>> symbol, args, aux = mx.contrib.onnx.import_model(path)
    >>> symbol.eval(data=mx.nd.array([[-1, 0, 1]]), **args, **aux)[0].asnumpy()
    array([[0., 0., 1.]], dtype=float32)
    """
    return read_model(load_model(model_file))


def read_model(model: "ModelProto") -> Model:
    """The symbol, parameters and states of a protocol buffer; see `import_model`."""
    reader = GraphReader(model)
    outputs = reader.run()
    symbol = sym.Group([t.symbol for t in outputs]) if len(outputs) != 1 else outputs[0].symbol
    states = set(symbol.list_auxiliary_states())
    used = set(symbol.list_inputs())
    params = {n: a for n, a in reader.params.items() if n in used}
    return symbol, {n: a for n, a in params.items() if n not in states}, {n: a for n, a in params.items() if n in states}


def import_to_gluon(model_file: Path, ctx: Device | Sequence[Device]) -> SymbolBlock:
    """A network in an ONNX file as a block that can be run and trained. It takes the file's inputs in their order.

    Parameters
    ----------
    model_file
        The path of the file.
    ctx
        The device or devices of its parameters.

    Raises
    ------
    MissingDependency, MissingFileError, FileAccessError, FormatError
        As `import_model`.
    """
    return block_of(load_model(model_file), ctx)


def block_of(model: "ModelProto", ctx: Device | Sequence[Device]) -> SymbolBlock:
    """A protocol buffer as a block, whose parameters are on a device or devices."""
    symbol, args, states = read_model(model)
    values = {**args, **states}
    # the block takes what the file lists, in that order: the symbol lists its inputs by the operators that read them
    block = SymbolBlock(symbol, [sym.var(name) for name in _inputs_of(model.graph)])
    params = block.collect_params()
    for name, array in values.items():
        params[name].shape = array.shape
        params[name].dtype = array.dtype
    params.initialize(ctx=ctx)
    for name, array in values.items():
        params[name].set_data(array)
    return block


def get_model_metadata(model_file: Path) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of the inputs and outputs of a network in an ONNX file; a size that may vary is 0.

    Parameters
    ----------
    model_file
        The path of the file.

    Returns
    -------
    dict
        Pairs of name and shape under ``input_tensor_data`` and ``output_tensor_data``.

    Raises
    ------
    MissingDependency, MissingFileError, FileAccessError, FormatError
        As `import_model`.
    """
    return described(load_model(model_file).graph)


def described(graph: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of a graph's inputs and outputs."""
    inputs = _inputs_of(graph)
    return {
        "input_tensor_data": [_pair(v) for v in graph.input if v.name in inputs],
        "output_tensor_data": [_pair(v) for v in graph.output],
    }


def _inputs_of(graph: Any) -> list[str]:
    """Names of the inputs that are no parameters."""
    params = {t.name for t in graph.initializer}
    return [v.name for v in graph.input if v.name not in params]


def _pair(value: Any) -> tuple[str, tuple[int, ...]]:
    if not value.type.HasField("tensor_type"):
        raise FormatError(f"onnx: {value.name!r} is not an array", value.type.WhichOneof("value"), "only arrays can be described")
    return value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim)

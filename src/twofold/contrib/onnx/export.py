"""``export_model``: a symbol with its parameters as an ONNX file."""

import logging
import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import ndarray as nd
from ... import symbol as sym
from ...dtype import DTypeLike, dtype_name
from ...errors import FormatError, InternalError, ParameterError
from ...formats.files import write_file
from ...ndarray.array import NDArray
from ...opdef import NAMES
from ...ops.onnx_forms import loading as loading
from ...symbol.symbol import Symbol
from .assembly import Sizes, model_of
from .free_sizes import Varying, all_free_sizes, asked_sizes
from .package import checked_opset, onnx_package
from .tracing import inferred, written
from .varying import generalized

if TYPE_CHECKING:
    from onnx import ModelProto

Shape = tuple[int, ...]
Arrays = Mapping[str, NDArray]
Path = str | PathLike[str]
#: The largest file of a protocol buffer.
LARGEST = 2**31 - 1


def export_model(
    sym: Symbol | Path,
    params: Arrays | Sequence[Arrays] | Path,
    in_shapes: Sequence[Shape] | None = None,
    in_types: DTypeLike | Sequence[DTypeLike] = np.float32,
    onnx_file_path: Path = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Sizes] | None = None,
    run_shape_inference: bool = False,
    input_type: DTypeLike | Sequence[DTypeLike] | None = None,
    input_shape: Sequence[Shape] | None = None,
    opset_version: int | None = None,
) -> str:
    """Write a network as an ONNX file, for inference.

    Parameters
    ----------
    sym
        The symbol, or the path of its JSON file.
    params
        Its parameters by name, with or without the prefixes ``arg:`` and ``aux:``; several such dicts; or the path of their file.
    in_shapes
        The shapes of the inputs, in the order in which the symbol lists them. Labels of output layers may be left out.
    in_types
        The dtype of all inputs, or one for each.
    onnx_file_path
        Where the file is written.
    verbose
        Whether to log the nodes that are written.
    dynamic
        Whether sizes may vary: the sizes that are None or names in ``dynamic_input_shapes``, or without it all that the network leaves
        free.
    dynamic_input_shapes
        The shapes of the inputs with None or a name for each size that may vary. Equal names stand for equal sizes; sizes without a
        name are equal if the network needs it.
    run_shape_inference
        Whether to let ONNX infer the types of all values, and store them in the file.
    input_type, input_shape
        Older names of ``in_types`` and ``in_shapes``.
    opset_version
        The version of ONNX's operators, from 13 to the newest that the package ``onnx`` describes; 13 if None, as MXNet writes.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    MissingDependency
        If the package ``onnx`` is not installed.
    OperatorError
        If an operator has no counterpart in ONNX, or depends on a size that is to vary; the message names the node.
    ParameterError
        If shapes or parameters are missing or contradict each other.

    Examples
    --------
    >>> import os, tempfile
    >>> import twofold as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    >>> folder = tempfile.mkdtemp()
    >>> path = mx.onnx.export_model(net, params, [(1, 3)], onnx_file_path=os.path.join(folder, "fc.onnx"))
    >>> mx.contrib.onnx.get_model_metadata(path)
    {'input_tensor_data': [('data', (1, 3))], 'output_tensor_data': [('fc', (1, 2))]}
    """
    opset = checked_opset(opset_version)
    network = _network(sym, params)
    shapes = input_shape if input_shape is not None else in_shapes
    kinds = input_type if input_type is not None else in_types
    inputs = network.inputs(shapes, kinds)
    try:
        model = _model(network, inputs, opset, _varying(network, inputs, dynamic_input_shapes) if dynamic else None)
    except UnicodeEncodeError as error:
        what = "export_model: a name contains half of a surrogate pair, which no file can hold"
        raise ParameterError(what, ascii(error.object), "choose another name") from None
    onnx = onnx_package("export_model")
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise InternalError(f"export_model: the model that was written is not valid: {error}", None, "please report it") from error
    write_file(onnx_file_path, [_bytes(model)])
    if verbose:
        count = len(model.graph.node)
        logging.getLogger(__name__).info("%s: %d nodes, version %d of the operators", fspath(onnx_file_path), count, opset)
    return fspath(onnx_file_path)


def _bytes(model: "ModelProto") -> bytes:
    if model.ByteSize() > LARGEST:
        size = f"{model.ByteSize()} bytes"
        raise FormatError("export_model: the model is too large for a file of ONNX", size, "export it in parts, or in 16-bit floats")
    return model.SerializeToString()


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Names of the operators of `mx.sym` that have an ONNX form; the others are written as their definitions.

    Parameters
    ----------
    opset_version
        The version of ONNX's operators.
    """
    checked_opset(opset_version)
    return sorted(name for name, op in NAMES.items() if op.symbolic.onnx_rule is not None)


# the network


#: How names of parameters end, and those of the weights of single gates, which `mx.rnn.save_rnn_checkpoint` writes.
OF_PARAMETERS = ("weight", "bias", "gamma", "beta", "parameters", "moving_mean", "moving_var", "running_mean", "running_var")
OF_GATE = re.compile("_[ih]2h_[a-z]_(weight|bias)$")


class Types(NamedTuple):
    """Shapes and dtypes of a network's inputs by name."""

    shapes: dict[str, Shape]
    dtypes: dict[str, str]


class Network(NamedTuple):
    """A symbol with its parameters, and the names of given arrays that are none."""

    symbol: Symbol
    params: dict[str, NDArray]
    unused: list[str]

    def inputs(self, shapes: Sequence[Shape] | None, dtypes: DTypeLike | Sequence[DTypeLike]) -> Types:
        """The inputs, which are the variables without parameters, with their types."""
        names = [n for n in self.symbol.list_inputs() if n not in self.params]
        given = [] if shapes is None else [tuple(int(n) for n in s) for s in shapes]
        if len(given) < len(names):
            # as in MXNet: labels, which inference does not read, need no shape
            names = [n for n in names if not n.endswith("label")]
        if len(given) < len(names):
            self._check_parameters(names)
        if len(given) != len(names):
            what = "export_model: one shape is needed for each input"
            raise ParameterError(what, f"{len(given)} shapes for {', '.join(names) or 'no inputs'}", "pass in_shapes in that order")
        kinds = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes] * len(names)
        if len(kinds) != len(names):
            what = "export_model: one dtype is needed for each input"
            raise ParameterError(what, f"{len(kinds)} dtypes for {', '.join(names)}", "pass in_types in that order")
        return Types(dict(zip(names, given, strict=True)), dict(zip(names, map(dtype_name, kinds), strict=True)))

    def _check_parameters(self, names: Sequence[str]) -> None:
        """Raise if variables without an array are parameters, by their names, rather than inputs."""
        missing = [n for n in names if n.endswith(OF_PARAMETERS)]
        if missing:
            todo = "pass params that have them, or in_shapes for all of the inputs"
            if any(OF_GATE.search(n) for n in self.unused):
                todo = "pass the symbol and the arrays that mx.rnn.load_rnn_checkpoint returns: the file has the weights of each gate"
            raise ParameterError("export_model: parameters of the graph are missing from params", ", ".join(missing), todo)

    def types(self, inputs: Types) -> dict[str, tuple[Shape, str]]:
        """Types of the inputs and of the parameters."""
        known = {n: (a.shape, dtype_name(a.dtype)) for n, a in self.params.items()}
        return known | {n: (shape, inputs.dtypes[n]) for n, shape in inputs.shapes.items()}


def _network(symbol: Symbol | Path, params: Arrays | Sequence[Arrays] | Path) -> Network:
    graph = symbol if isinstance(symbol, Symbol) else sym.load(fspath(symbol))
    if isinstance(params, (str, PathLike)):
        loaded = nd.load(fspath(params))
        if loaded and not isinstance(loaded, dict):
            raise ParameterError("export_model: the file of parameters has no names", fspath(params), "save a dict of arrays")
        params = loaded or {}  # the file of a network without parameters is an empty list
    several = [params] if isinstance(params, Mapping) else list(params)
    arrays = {k.removeprefix("arg:").removeprefix("aux:"): v for given in several for k, v in given.items()}
    used = set(graph.list_inputs())
    return Network(graph, {n: a for n, a in arrays.items() if n in used}, [n for n in arrays if n not in used])


# the model


def _varying(network: Network, inputs: Types, given: Sequence[Sizes] | None) -> Varying:
    params = {n: a.shape for n, a in network.params.items()}
    heads = network.symbol.heads
    if given is None:
        return all_free_sizes(heads, inputs.shapes, inputs.dtypes, params)
    return asked_sizes(heads, inputs.shapes, inputs.dtypes, params, given)


def _model(network: Network, inputs: Types, opset: int, varying: Varying | None) -> "ModelProto":
    heads = network.symbol.heads
    graph, names = written(heads, network.types(inputs), opset)
    results = [inferred(heads, network.types(inputs)).of(h) for h in heads]
    sizes: list[list[Any]] = [list(r.shape or ()) for r in results]
    shown: Mapping[str, Sizes] = inputs.shapes
    if varying is not None:
        other = Types(varying.shapes, inputs.dtypes)
        second, _ = written(heads, network.types(other), opset)
        graph = generalized(graph, second)
        shown = varying.named
        for own, result in zip(sizes, [inferred(heads, network.types(other)).of(h) for h in heads], strict=True):
            own[:] = [n if n == m else _name_of(n, m, inputs, varying) for n, m in zip(own, result.shape or (), strict=True)]
    # A label that no written node reads is no input of the model: outside training, loss layers ignore it.
    read = {name for n in graph.nodes for name in n.inputs} | set(names)
    arguments = {n: (shown[n], inputs.dtypes[n]) for n in inputs.shapes if n in read or not n.endswith("label")}
    outputs = {n: (s, str(r.dtype)) for n, s, r in zip(names, sizes, results, strict=True)}
    arrays = {n: a.asnumpy() for n, a in network.params.items() if n in read}
    return model_of(graph, arguments, outputs, arrays)


def _name_of(size: int, other: int | None, inputs: Types, varying: Varying) -> str | None:
    """The name of a result's size: the name of an input's size that equals it in both choices; None without one."""
    for name, sizes in varying.named.items():
        for k, label in enumerate(sizes):
            if isinstance(label, str) and (inputs.shapes[name][k], varying.shapes[name][k]) == (size, other):
                return label
    return None

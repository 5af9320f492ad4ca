"""Converts Gluon networks to 8-bit weights and values."""

import inspect
import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ... import ndarray as nd
from ... import symbol as sym
from ...device import CPU, Device
from ...errors import ParameterError, WrongType
from ...gluon.data.loader import DataLoader
from ...gluon.hybrid_block import HybridBlock
from ...gluon.symbol_block import SymbolBlock
from ...imperative.array import Array
from ...io.iterator import DataBatch, DataDesc, DataIter, describe
from ...ndarray.array import NDArray
from ...symbol.node import topological
from .calibration import run_layers
from .conversion import calib_graph, quantize_graph, rows_up_to
from .graph import form_of

#: Batches, which begin with the inputs of the network.
Samples = DataIter | DataLoader


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Samples | None = None,
    data_shapes: Sequence[DataDesc] | Sequence[tuple[int, ...]] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Device = CPU,
    LayerOutputCollector: Any = None,
    logger: logging.Logger | None = None,
) -> SymbolBlock:
    """A network with 8-bit weights and values, calibrated on sample data.

    Parameters
    ----------
    network
        The float32 network, which is hybridized.
    quantized_dtype, quantize_mode, quantize_granularity, logger
        See `quantize_graph`.
    exclude_layers, exclude_layers_match, exclude_operators
        The parts that remain in float32: nodes of the network's graph by name (``"conv0_fwd"``), those whose names contain one of these
        texts, and operators (``"Convolution"``).
    calib_data, num_calib_examples
        Sample data, a `DataLoader` or a `DataIter`, and how many rows of them to use; all if None. Labels in batches are passed over.
    data_shapes
        Descriptions or shapes of the inputs, if there are no sample data.
    calib_mode
        ``"none"``: ranges are computed while running, and batch normalization remains in float32; ``"naive"``: those of the sample data;
        ``"entropy"``: thresholds by least loss of information; ``"custom"``: those of the given collector.
    ctx
        The device that quantizes the weights and runs the network.
    LayerOutputCollector
        The collector of the mode ``"custom"``: it has ``collect(name, array)`` and the ranges by name in ``min_max_dict``.

    Raises
    ------
    WrongType
        If the network is not a `HybridBlock`.
    ParameterError
        If an option is unknown, or sample data are missing.

    Examples
    --------
    >>> import numpy as np
    >>> import twofold as mx
    >>> from twofold.contrib.quantization import quantize_net
    >>> net = mx.gluon.nn.Dense(2, in_units=3, prefix="dense_")
    >>> net.initialize(mx.init.One())
    >>> small = quantize_net(net, data_shapes=[(1, 3)])
    >>> small.collect_params()["dense_weight_quantize"].data().dtype is np.int8
    True
    >>> small(mx.nd.array([[1, 2, 3]])).asnumpy().round(1).tolist()
    [[6.0, 6.0]]
    """
    if not isinstance(network, HybridBlock):
        raise WrongType("quantize_net: the network is no HybridBlock", type(network).__name__, "only hybrid blocks have a graph to convert")
    if calib_data is None and data_shapes is None:
        raise ParameterError("At least one of data_shapes or calib_data has to be provided", None, "pass shapes of the inputs")
    uncalibrated = calib_mode in ("none", None)
    if calib_data is None and not uncalibrated:
        raise ParameterError(f"calib_data must be provided when calib_mode={calib_mode}", None, "pass a DataLoader or a DataIter")
    graph = _traced(network, _inputs(network, calib_data, data_shapes, ctx))
    symbol, known = graph.symbol, network.collect_params()
    arrays = {name: known[name]._reduce() for name in symbol.list_inputs() if name in known}
    # running means and variances are states; only weights are stored quantized
    states = {name: array for name, array in arrays.items() if name in symbol.list_auxiliary_states()}
    weights = {name: array for name, array in arrays.items() if name not in states}
    parts = [*(exclude_layers_match or ())]
    names = [node.name for node in topological(symbol.heads) if any(part in node.name for part in parts)]
    if uncalibrated:
        forms = [(node.name, form_of(node)) for node in topological(symbol.heads)]
        # Their 8-bit forms cannot compute a range while running, so without calibration they stay in float32.
        names += [name for name, form in forms if form is not None and form.calibrated]
    excluded = [*(exclude_layers or ()), *names], [*(exclude_operators or ())]
    how = (calib_mode, quantized_dtype, quantize_mode, quantize_granularity, LayerOutputCollector, logger)
    new, args, aux, collector = quantize_graph(symbol, weights, states, ctx, *excluded, *how)
    if collector is not None:
        rows = rows_up_to(_batches(calib_data, len(graph.names)), num_calib_examples)
        run_layers(symbol, arrays, (dict(zip(graph.names, batch, strict=True)) for batch in rows), ctx, collector)
        new, args, aux = calib_graph(new, args, aux, collector, calib_mode, quantized_dtype, logger)
    converted = SymbolBlock(new, [sym.var(name) for name in graph.names])
    for name, param in converted.collect_params().items():
        array = args[name] if name in args else aux[name]
        param.cast(array.dtype)
        param._load_init(array, ctx)
        param.grad_req = known[name].grad_req if name in known else "null"  # integers have no gradient
    return converted


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Samples | None = None,
    data_shapes: Sequence[DataDesc] | Sequence[tuple[int, ...]] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Device = CPU,
    logger: logging.Logger | None = None,
) -> SymbolBlock:
    """A network with 8-bit weights and values; parameters as for `quantize_net_v2`, with one scale for each array."""
    excluded = (exclude_layers, exclude_layers_match, exclude_operators)
    samples = (calib_data, data_shapes, calib_mode, num_calib_examples)
    return quantize_net_v2(network, quantized_dtype, quantize_mode, "tensor-wise", *excluded, *samples, ctx, logger=logger)


def _traced(network: HybridBlock, inputs: Sequence[NDArray]) -> Any:
    """The graph of a network for such inputs."""
    network.hybridize()
    network(*inputs)
    return network._trace


def _inputs(network: HybridBlock, data: Samples | None, shapes: Sequence[Any] | None, ctx: Device) -> list[NDArray]:
    """Inputs of the network: zeros of the given shapes or of the iterator's shapes, or a batch of the loader."""
    described: Sequence[Any] | None = describe(data.provide_data) if shapes is None and isinstance(data, DataIter) else shapes
    if described is None:
        first = next(iter(_batches(data, None)), None)
        if first is None:
            raise ParameterError("quantize_net: calib_data has no batches", None, "pass sample data")
        arrays = [array.as_in_context(ctx) for array in first]
    else:
        arrays = [_zeros(each, ctx) for each in described]
    return arrays[: _most_inputs(network)]


def _zeros(described: Any, ctx: Device) -> NDArray:
    """Zeros of a shape, or as a description has them."""
    if isinstance(described, DataDesc):
        return nd.zeros(described.shape, ctx=ctx, dtype=described.dtype)
    return nd.zeros(described, ctx=ctx)


def _most_inputs(network: HybridBlock) -> int | None:
    """How many inputs a network takes; the other arrays of a batch are labels. None for any number."""
    if isinstance(network, SymbolBlock):
        return len(network._graph().names)
    is_plain = type(network).forward is HybridBlock.forward
    method = type(network).hybrid_forward if is_plain else type(network).forward
    params = list(inspect.signature(method).parameters.values())[2 if is_plain else 1 :]
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return None
    return len([p for p in params if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY) and p.name not in network._reg_params])


def _batches(data: object, count: int | None) -> Iterator[list[Any]]:
    """The inputs of each batch: its first arrays.

    Raises
    ------
    ParameterError
        If ``data`` is neither an iterator nor a loader.
    """
    if not isinstance(data, (DataIter, DataLoader)):
        what = "quantize_net: calib_data must be of DataLoader or DataIter type"
        raise ParameterError(what, type(data).__name__, "pass a gluon.data.DataLoader")
    for batch in data:
        arrays = batch.data if isinstance(batch, DataBatch) else [batch] if isinstance(batch, Array) else list(_flat(batch))
        yield list(arrays)[:count]


def _flat(batch: Any) -> Iterator[Any]:
    """The arrays of nested lists, in order."""
    return chain.from_iterable(_flat(part) if isinstance(part, (list, tuple)) else (part,) for part in batch)

"""Converts models to 8-bit weights and values, and calibrates their ranges."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...device import CPU, Device
from ...errors import MXNetError, ParameterError
from ...io import DataIter
from ...ndarray.array import NDArray
from ...symbol.node import topological
from ...symbol.symbol import Symbol
from .calibration import HistogramCollector, RangeCollector, ranges_of, run_layers
from .graph import calibrated_value, form_of, quantized_graph

Arrays = Mapping[str, NDArray]
Model = tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]


def _check(quantized_dtype: str, calib_mode: str | None, excluded: object, quantize_mode: str, granularity: str) -> None:
    if quantized_dtype not in ("int8", "uint8", "auto"):
        raise ParameterError("unknown quantized_dtype", quantized_dtype, "expected `int8`, `uint8` or `auto`")
    if calib_mode not in (None, "none", "naive", "entropy", "custom"):
        raise ParameterError("unknown calibration mode", calib_mode, "expected `none`, `naive`, or `entropy`")
    if isinstance(excluded, str) or not isinstance(excluded, (list, tuple, set, type(None))):
        what = "excluded_sym_names must be a list of strings representing the names of the symbols that will not be quantized"
        raise ParameterError(what, type(excluded).__name__, "pass a list")
    if quantize_mode not in ("full", "smart"):
        raise MXNetError("unrecognized quantize mode", quantize_mode, "pass full or smart")
    if granularity not in ("tensor-wise", "channel-wise"):
        raise ParameterError("unknown quantize_granularity", granularity, "expected `tensor-wise` or `channel-wise`")


def quantize_graph(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    ctx: Device = CPU,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: object = None,
    logger: logging.Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], Any]:
    """A quantized model without calibration, and the collector to calibrate it with; see `calib_graph`.

    Parameters
    ----------
    sym, arg_params, aux_params
        The float32 model.
    ctx
        Where the weights are quantized.
    excluded_sym_names, excluded_op_names
        Names of nodes and of operators that remain in float32.
    calib_mode
        ``"none"``; ``"naive"``: ranges; ``"entropy"``: thresholds by least loss of information; ``"custom"``: the given collector.
    quantized_dtype
        ``"int8"``, ``"uint8"``, or ``"auto"``: uint8 for values that are never negative.
    quantize_mode
        ``"full"``: all operators that have a quantized form; ``"smart"``: cheap ones only between convolutions and dense layers.
    quantize_granularity
        ``"tensor-wise"`` or ``"channel-wise"``; as in MXNet, only operators fused by oneDNN have one scale per channel.
    LayerOutputCollector
        The collector of the mode ``"custom"``.
    logger
        Receives what was quantized.

    Returns
    -------
    tuple
        The symbol, its arguments, its states, and the collector (None without calibration), whose ``collect(name, array)`` takes
        the outputs of the float32 network's layers by name.
    """
    _check(quantized_dtype, calib_mode, excluded_sym_names, quantize_mode, quantize_granularity)
    smart = quantize_mode == "smart"
    made = quantized_graph(sym.heads, arg_params, excluded_sym_names or (), excluded_op_names or (), quantized_dtype, smart)
    new = Symbol(made.heads)
    if logger is not None:
        logger.info("quantized %d parameters; %d values are quantized while running", len(made.params), len(made.inputs))
    if calib_mode == "custom" and LayerOutputCollector is None:
        raise ParameterError("quantize_graph: there is no collector", "calib_mode=custom", "pass LayerOutputCollector")
    # Each takes the names of the values whose ranges are needed; a user's own collector decides by itself.
    collectors = {"naive": RangeCollector, "entropy": HistogramCollector, "custom": lambda wanted: LayerOutputCollector}
    collector = collectors[calib_mode](set(made.inputs)) if calib_mode in collectors else None
    return new, quantized_params(new, {**arg_params, **_units(sym, arg_params)}, made.params, ctx), dict(aux_params), collector


def calib_graph(
    qsym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> Model:
    """A quantized model with the ranges that a collector has seen.

    Parameters
    ----------
    qsym, arg_params, aux_params, collector
        What `quantize_graph` returned, after the collector has taken in the values of the float32 network. Float32 parameters are
        quantized. A collector of another class has the ranges in ``min_max_dict``, and for ``"entropy"`` histograms, as of
        `combine_histogram`, in ``hist_dict``.
    calib_mode, quantized_dtype
        As there.
    logger
        Receives the ranges.
    """
    if calib_mode not in ("naive", "entropy", "custom"):
        raise ParameterError("unknown calibration mode", calib_mode, "expected `naive`, `entropy` or `custom`")
    ranges = ranges_of(collector.hist_dict, quantized_dtype) if calib_mode == "entropy" else dict(collector.min_max_dict)
    stored = [n.removesuffix("_quantize") for n in qsym.list_arguments() if n.endswith("_quantize") and n not in arg_params]
    return with_ranges(qsym, ranges, logger), quantized_params(qsym, arg_params, stored, CPU), dict(aux_params)


def with_ranges(qsym: Symbol, ranges: Mapping[str, tuple[float, float]], logger: Any = None) -> Symbol:
    """A quantized symbol with the ranges of values by name; a logger receives them."""
    new = qsym.__copy__()
    for node in topological(new.heads):
        name = calibrated_value(node)
        if name is not None and name in ranges:
            low, high = (float(np.ravel(end)[0]) for end in ranges[name])  # thresholds are arrays (1,)
            # With six digits, as MXNet's files have them.
            node.set_attrs({"min_calib_range": f"{low:.6f}", "max_calib_range": f"{high:.6f}"})
            if logger is not None:
                logger.debug("%s: from %f to %f", name, low, high)
    return new


def quantize_model(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Device = CPU,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | None = None,
) -> Model:
    """A model with 8-bit weights and values, calibrated on sample data: its symbol, arguments and states.

    Parameters
    ----------
    sym, arg_params, aux_params
        The float32 model, as `mx.model.load_checkpoint` returns it.
    data_names, label_names
        Names of the inputs in the order of a batch's arrays, and of the labels, which are not used.
    calib_data, num_calib_examples
        The sample data, and the number of samples to use; all if None.
    ctx, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype, quantize_mode, quantize_granularity, logger
        See `quantize_graph`.

    Raises
    ------
    ParameterError
        If an option is unknown, or sample data are missing or no iterator.
    """
    options = (excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype, quantize_mode, quantize_granularity)
    if calib_mode == "custom":
        raise ParameterError("unknown calibration mode", calib_mode, "expected `none`, `naive`, or `entropy`; see quantize_graph")
    new, args, aux, collector = quantize_graph(sym, arg_params, aux_params, ctx, *options, logger=logger)
    if collector is None:
        return new, args, aux
    if calib_data is None:
        raise ParameterError(f"calib_data must be provided when calib_mode={calib_mode}", None, "pass a DataIter")
    if not isinstance(calib_data, DataIter):
        what = f"calib_data must be of DataIter type when calib_mode={calib_mode}"
        raise ParameterError(what, type(calib_data).__name__, "pass a DataIter")
    batches = (dict(zip(data_names, arrays, strict=False)) for arrays in rows_up_to((b.data for b in calib_data), num_calib_examples))
    run_layers(sym, {**arg_params, **aux_params}, batches, ctx, collector)
    return calib_graph(new, args, aux, collector, str(calib_mode), quantized_dtype, logger)


#: MXNet's form for its fused operators of oneDNN, which need no form of their own here.
quantize_model_mkldnn = quantize_model


def rows_up_to(batches: Iterable[Sequence[NDArray]], count: int | None) -> Iterator[Sequence[NDArray]]:
    """The first of several batches, as many as have ``count`` rows; all if it is None."""
    done = 0
    for arrays in batches:
        if count is not None and done >= count:
            return
        yield arrays
        done += arrays[0].shape[0]


def _units(symbol: Symbol, params: Arrays) -> dict[str, NDArray]:
    """Ones for the parameters that count as 1 (`Quantizes.unit`), such as the factors of batch normalizations."""
    found = {}
    for node in topological(symbol.heads):
        form = form_of(node)
        if form is not None and form.unit is not None and node.bind().params[form.unit[0]]:
            name = node.inputs[form.unit[1]].node.name
            found |= {name: nd.ones_like(params[name])} if name in params else {}
    return found


def quantized_params(symbol: Symbol, params: Arrays, stored: Iterable[str], ctx: Device) -> dict[str, NDArray]:
    """The parameters of a quantized symbol: those that are stored quantized with their ranges, and the others that it has."""
    used = {*symbol.list_arguments()}
    found = {name: array for name, array in params.items() if name in used}
    for name in stored:
        array = params[name].as_in_context(ctx)
        value, low, high = nd.contrib.quantize(array, array.min(), array.max(), out_type="int8")
        found |= {f"{name}_quantize": value, f"{name}_quantize_min": low, f"{name}_quantize_max": high}
    return found

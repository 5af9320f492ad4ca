"""Private names of ``mxnet.contrib.quantization`` that scripts import to calibrate and convert networks by themselves."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from logging import Logger
from typing import Any

import numpy as np

from ..contrib.quantization.calibration import Collector, Histogram, HistogramCollector, RangeCollector, is_unsigned, threshold_of
from ..contrib.quantization.conversion import quantized_params, with_ranges
from ..contrib.quantization.graph import quantized_graph
from ..device import CPU, Device
from ..errors import InvalidValue, ParameterError, WrongArgument
from ..io.iterator import DataBatch, DataDesc, DataIter
from ..module.module import Module
from ..ndarray import NDArray, array
from ..ndarray import load as load_arrays
from ..symbol.functions import load as load_symbol
from ..symbol.symbol import Symbol

__all__: list[str] = []

#: A batch of a loader.
Batch = NDArray | Sequence[NDArray]


class _DataIterWrapper(DataIter):
    """The batches of a loader, as data without labels.

    Parameters
    ----------
    calib_data
        A `DataLoader`, or a list of batches: arrays, or lists of arrays.
    """

    def __init__(self, calib_data: Iterable[Batch]) -> None:
        super().__init__()
        self._loader = calib_data
        self.reset()
        data = _listed(next(iter(calib_data)))
        names = ["data"] if len(data) == 1 else [f"data{k}" for k in range(len(data))]
        # MXNet's names of two inputs
        names = ["data", "data0"] if len(data) == 2 else names
        self.batch_size = data[0].shape[0]
        self.provide_data = [DataDesc(name, x.shape, x.dtype) for name, x in zip(names, data, strict=True)]

    def reset(self) -> None:
        """Start again."""
        self._batches = iter(self._loader)

    def next(self) -> DataBatch:
        """The next batch."""
        return DataBatch(_listed(next(self._batches)))


def _listed(batch: Batch) -> list[NDArray]:
    return [batch] if isinstance(batch, NDArray) else list(batch)


def _as_data_iter(calib_data: DataIter | Iterable[Batch]) -> tuple[DataIter, list[DataDesc]]:
    """Data as an iterator, and the descriptions of its batches.

    Raises
    ------
    WrongArgument
        If they are no iterator, loader or list.
    """
    if isinstance(calib_data, DataIter):
        found = calib_data
    else:
        try:
            found: DataIter = _DataIterWrapper(calib_data)
        except TypeError as error:
            raise WrongArgument(f"calib_data is not a valid iterator. {error}", None, "pass a gluon.data.DataLoader") from error
    return found, found.provide_data


def _smooth_distribution(p: np.ndarray, eps: float = 0.0001) -> np.ndarray:
    """A distribution whose zeros are ``eps``, taken from its other elements in equal parts.

    Raises
    ------
    InvalidValue
        If all elements are 0.
    """
    # the divergence of distributions needs elements above 0
    zeros = p == 0
    others = p.size - np.count_nonzero(zeros)
    if not others:
        raise InvalidValue("The discrete probability distribution is malformed. All entries are 0.", None, "use more samples")
    taken = eps * np.count_nonzero(zeros) / others
    assert taken < 1, f"eps={eps} is too large for {p.size} elements, of which {others} are not 0"
    smooth = p.astype(np.float32) + np.float32(eps) * zeros - np.float32(taken) * ~zeros
    assert (smooth > 0).all(), f"eps={eps} is larger than an element"
    return smooth


Parameters = dict[str, NDArray]
_ROOT = logging.getLogger()


def _text(name: str | bytes) -> str:
    """The name of a value; MXNet's collectors get it from C, as bytes."""
    return name.decode() if isinstance(name, bytes) else name


class _LayerHistogramCollector:
    """Histograms of the values of layers by name, in ``hist_dict``: counts, edges, smallest, largest and largest absolute value.

    Parameters
    ----------
    num_bins
        Number of bins of a value's first histogram.
    include_layer
        Names of the values to collect.
    logger
        Called with each array.
    """

    def __init__(self, num_bins: int = 8001, include_layer: Collection[str] | None = None, logger: Logger | None = None) -> None:
        self.num_bins, self.include_layer, self.logger = num_bins, include_layer, logger
        self._collector = HistogramCollector(include_layer or (), num_bins)

    @property
    def hist_dict(self) -> dict[str, Histogram]:
        """The histograms by name."""
        return self._collector.hist_dict

    def collect(self, name: str | bytes, arr: NDArray) -> None:
        """Take in one array."""
        self._collector.collect(_text(name), arr)
        if self.logger is not None:
            self.logger.debug(f"Collecting layer {_text(name)} histogram of shape {arr.shape}")


class _LayerOutputMinMaxCollector:
    """The smallest and largest elements of the values of layers by name, in ``min_max_dict``.

    Parameters
    ----------
    quantized_dtype
        Kept as an attribute; the range of each value is the same for all.
    include_layer
        Names of the values to collect.
    logger
        Called with each array.
    """

    def __init__(self, quantized_dtype: str, include_layer: Collection[str] | None = None, logger: Logger | None = None) -> None:
        self.quantized_dtype, self.include_layer, self.logger = quantized_dtype, include_layer, logger
        self._collector = RangeCollector(include_layer or ())

    @property
    def min_max_dict(self) -> dict[str, tuple[float, float]]:
        """The ranges by name."""
        return self._collector.min_max_dict

    def collect(self, name: str | bytes, arr: NDArray) -> None:
        """Take in one array."""
        self._collector.collect(_text(name), arr)
        if self.logger is not None:
            self.logger.debug(f"Collecting layer {_text(name)} min_range and max_range")


def _get_optimal_threshold(
    hist_data: Histogram, quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Smallest and largest value of a histogram, the threshold (1,) that keeps most information, and the divergence (1,) that remains."""
    threshold, divergence = threshold_of(hist_data, quantized_dtype, num_quantized_bins)
    return hist_data[2], hist_data[3], threshold.asnumpy(), divergence.asnumpy()


def _get_optimal_thresholds(
    hist_dict: dict[str, Histogram], quantized_dtype: str, num_quantized_bins: int = 255, logger: Logger | None = None
) -> dict[str, tuple[Any, np.ndarray]]:
    """The range of each value for quantization by name; the histograms are taken out of the dictionary, as they need much memory."""
    found: dict[str, tuple[Any, np.ndarray]] = {}
    for name in list(hist_dict):
        low, high, bound, divergence = _get_optimal_threshold(hist_dict.pop(name), quantized_dtype, num_quantized_bins)
        found[name] = (0 if is_unsigned(low, quantized_dtype) else -bound), bound
        if logger is not None:
            logger.debug(f"layer={name}, min_val={low}, max_val={high}, th={bound}, divergence={divergence}")
    return found


# step by step, as `quantize_model` does

#: Takes in the values of layers by name.
_Collector = Collector | _LayerHistogramCollector | _LayerOutputMinMaxCollector


def _quantize_symbol(
    sym: Symbol,
    ctx: Device,
    excluded_symbols: Collection[str] | None = None,
    excluded_operators: Collection[str] | None = None,
    offline_params: Collection[str] | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
) -> tuple[Symbol, list[str]]:
    """A symbol with 8-bit operators, and the names of the values whose ranges calibration finds; see `quantize_graph`.

    Raises
    ------
    ParameterError
        If weights are to have a range for each channel, or the device is none.
    """
    if quantize_granularity != "tensor-wise" or not isinstance(ctx, Device):
        raise InvalidValue("_quantize_symbol: there is one range for each array", f"{quantize_granularity}, {ctx}", "pass tensor-wise")
    names = offline_params or (), excluded_symbols or (), excluded_operators or ()
    made = quantized_graph(sym.heads, *names, quantized_dtype, quantize_mode == "smart")
    return Symbol(made.heads), [*made.inputs, *made.sums]


def _quantize_params(qsym: Symbol, params: Mapping[str, NDArray], th_dict: Mapping[str, tuple[float, float]]) -> dict[str, NDArray]:
    """The parameters of a quantized symbol; ``th_dict`` has the ranges of values for which it has variables."""
    arguments = qsym.list_arguments()
    found = quantized_params(qsym, params, [n.removesuffix("_quantize") for n in arguments if n.endswith("_quantize")], CPU)
    for name in arguments:
        # variables for ranges are named after the value's node
        value, _, end = name.rpartition("_")
        if end in ("min", "max") and name not in found and f"{value}_output" in th_dict:
            found[name] = array([th_dict[f"{value}_output"][end == "max"]])
    return found


def _calibrate_quantized_sym(qsym: Symbol, th_dict: Mapping[str, tuple[float, float]] | None) -> Symbol:
    """A quantized symbol with ranges of values by name; the symbol itself if there are none."""
    return with_ranges(qsym, th_dict) if th_dict else qsym


def _collect_layer_statistics(
    mod: Module, data: DataIter, collector: _Collector, max_num_examples: int | None = None, logger: Logger | None = None
) -> int:
    """Run a module on data, and hand all values inside it to a collector; returns the number of rows.

    Raises
    ------
    ParameterError
        If the data is no iterator.
    """
    if not isinstance(data, DataIter):
        raise InvalidValue(f"Only supports data as a type of DataIter, while received type {type(data)}", None, "create an NDArrayIter")
    # the first device's values stand for all: each computes with other rows
    mod._exec_group.execs[0].set_monitor_callback(collector.collect, monitor_all=True)
    rows = batches = 0
    for batch in data:
        mod.forward(batch, is_train=False)
        batches, rows = batches + 1, rows + data.batch_size
        if max_num_examples is not None and rows >= max_num_examples:
            break
    if logger is not None:
        logger.info(f"Collected statistics from {batches} batches with batch_size={data.batch_size}")
    return rows


def _collect_layer_output_min_max(
    mod: Module,
    data: DataIter,
    quantized_dtype: str,
    include_layer: Collection[str] | None = None,
    max_num_examples: int | None = None,
    logger: Logger | None = None,
) -> tuple[dict[str, tuple[float, float]], int]:
    """The ranges of a module's values on data, and the number of rows."""
    collector = _LayerOutputMinMaxCollector(quantized_dtype, include_layer, logger)
    rows = _collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.min_max_dict, rows


def _collect_layer_histogram(
    mod: Module,
    data: DataIter,
    include_layer: Collection[str] | None = None,
    max_num_examples: int | None = None,
    logger: Logger | None = None,
) -> tuple[dict[str, Histogram], int]:
    """Histograms of a module's values on data, and the number of rows."""
    collector = _LayerHistogramCollector(include_layer=include_layer, logger=logger)
    rows = _collect_layer_statistics(mod, data, collector, max_num_examples, logger)
    return collector.hist_dict, rows


def _load_sym(sym: Symbol | str, logger: Logger = _ROOT) -> Symbol:
    """A symbol, loaded from a file if its path is given.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if isinstance(sym, Symbol):
        return sym
    if not isinstance(sym, str):
        text = f"_load_sym only accepts Symbol or path to the symbol file, while received type {type(sym)}"
        raise ParameterError(text, None, "pass one of them")
    logger.info(f"Loading symbol from file {sym}")
    return load_symbol(sym)


def _load_params(params: object, logger: Logger = _ROOT) -> tuple[Parameters, Parameters]:
    """Parameters and auxiliary states, loaded from a file if its path is given.

    Raises
    ------
    ParameterError
        If it is neither a path nor a pair of dictionaries.
    """
    if isinstance(params, str):
        logger.info(f"Loading params from file {params}")
        parts: dict[str, Parameters] = {"arg": {}, "aux": {}}
        arrays = load_arrays(params)
        for key, array in arrays.items() if isinstance(arrays, dict) else ():
            kind, name = key.split(":", 1)
            if kind in parts:
                parts[kind][name] = array
        return parts["arg"], parts["aux"]
    if isinstance(params, (tuple, list)) and len(params) == 2:
        return params[0], params[1]
    text = "Unsupported params provided. Must be either a path to the param file or a pair of dictionaries"
    raise ParameterError(f"{text} representing arg_params and aux_params", type(params).__name__, "pass one of them")

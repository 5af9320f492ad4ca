"""Private names of ``mxnet.contrib.quantization`` that scripts import to calibrate networks by themselves."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..contrib.quantization.calibration import Histogram, HistogramCollector, RangeCollector, is_unsigned, threshold_of
from ..ndarray import NDArray

__all__: list[str] = []


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

    def __init__(self, num_bins: int = 8001, include_layer: Collection[str] | None = None, logger: Any = None) -> None:
        self.num_bins, self.include_layer, self.logger = num_bins, include_layer, logger
        self._collector = HistogramCollector(include_layer or (), num_bins)

    @property
    def hist_dict(self) -> dict[str, Histogram]:
        """The histograms by name."""
        return self._collector.histograms

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

    def __init__(self, quantized_dtype: str, include_layer: Collection[str] | None = None, logger: Any = None) -> None:
        self.quantized_dtype, self.include_layer, self.logger = quantized_dtype, include_layer, logger
        self._collector = RangeCollector(include_layer or ())

    @property
    def min_max_dict(self) -> dict[str, tuple[float, float]]:
        """The ranges by name."""
        return self._collector.ranges

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
    hist_dict: dict[str, Histogram], quantized_dtype: str, num_quantized_bins: int = 255, logger: Any = None
) -> dict[str, tuple[Any, np.ndarray]]:
    """The range of each value for quantization by name; the histograms are taken out of the dictionary, as they need much memory."""
    found: dict[str, tuple[Any, np.ndarray]] = {}
    for name in list(hist_dict):
        low, high, bound, divergence = _get_optimal_threshold(hist_dict.pop(name), quantized_dtype, num_quantized_bins)
        found[name] = (0 if is_unsigned(low, quantized_dtype) else -bound), bound
        if logger is not None:
            logger.debug(f"layer={name}, min_val={low}, max_val={high}, th={bound}, divergence={divergence}")
    return found

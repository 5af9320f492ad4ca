"""Ranges of a network's values on sample data: smallest and largest, or the threshold that keeps most information."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from ... import ndarray as nd
from ...device import Device
from ...ndarray.array import NDArray
from ...symbol import Group
from ...symbol.symbol import Symbol

Histogram = tuple[np.ndarray, np.ndarray, float, float, float]


class Collector(Protocol):
    """Takes the values of a network's layers."""

    def collect(self, name: str, array: NDArray) -> None:
        """Take in one array."""


def combine_histogram(old_hist: Histogram, arr: np.ndarray, new_min: float, new_max: float, new_th: float) -> Histogram:
    """A histogram with more data; it grows by bins of the same width if the data exceed it.

    Parameters
    ----------
    old_hist
        Counts (n,), edges (n + 1,) around 0, the smallest and the largest value, and the largest absolute one.
    arr
        The new data (any shape).
    new_min, new_max, new_th
        Their smallest, largest and largest absolute value.
    """
    hist, edges, low, high, bound = old_hist
    if new_th <= bound:
        more, _ = np.histogram(arr, bins=len(hist), range=(-bound, bound))
        return hist + more, edges, min(low, new_min), max(high, new_max), bound
    step = 2 * bound / len(hist)
    # bins are added on both sides, so that the range stays symmetric about 0 and the counts of the old bins stay whole
    added = int((new_th - bound) // step + 1)
    bound = added * step + bound
    more, edges = np.histogram(arr, bins=2 * added + len(hist), range=(-bound, bound))
    more[added : len(more) - added] += hist
    return more, edges, min(low, new_min), max(high, new_max), bound


def threshold_of(histogram: Histogram, dtype: str, bins: int = 255) -> tuple[NDArray, NDArray]:
    """The threshold (1,) that keeps most information in a quantized type, and the divergence (1,) that remains.

    Parameters
    ----------
    histogram
        As of `combine_histogram`.
    dtype
        ``"int8"``, ``"uint8"``, or ``"auto"``, which is uint8 for numbers that are not negative.
    bins
        Number of levels.
    """
    hist, edges, low, _, _ = histogram
    if is_unsigned(low, dtype):
        # numbers that are not negative fill one half of the histogram, so that its levels are half as wide
        bins = 2 * bins + 1
    threshold, divergence = nd.contrib.calibrate_entropy(nd.array(hist), nd.array(edges), num_quantized_bins=bins)
    return threshold, divergence


def ranges_of(histograms: Mapping[str, Histogram], dtype: str) -> dict[str, tuple[float, float]]:
    """The range of each value for quantization to ``dtype``, by name."""
    found = {}
    for name, histogram in histograms.items():
        bound = float(threshold_of(histogram, dtype)[0].asscalar())
        found[name] = 0.0 if is_unsigned(histogram[2], dtype) else -bound, bound
    return found


def is_unsigned(low: float, dtype: str) -> bool:
    """Whether values are quantized without a sign if ``low`` is the smallest; ``dtype`` as for `threshold_of`."""
    return low >= 0 and dtype != "int8"


class RangeCollector:
    """The smallest and the largest element of each value, in ``min_max_dict``.

    Parameters
    ----------
    wanted
        Names of the values; others are ignored.
    """

    def __init__(self, wanted: Collection[str]) -> None:
        self.wanted = wanted
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def collect(self, name: str, array: NDArray) -> None:
        """Take in one array."""
        if name not in self.wanted:
            return
        low, high = float(array.min().asscalar()), float(array.max().asscalar())
        old = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(old[0], low), max(old[1], high)


class HistogramCollector:
    """Histograms of each value in ``hist_dict``, for thresholds by least loss of information; see `contrib.calibrate_entropy`.

    Parameters
    ----------
    wanted
        Names of the values; others are ignored.
    bins
        Number of bins of a first array.
    """

    def __init__(self, wanted: Collection[str], bins: int = 8001) -> None:
        self.wanted, self.bins = wanted, bins
        self.hist_dict: dict[str, Histogram] = {}

    def collect(self, name: str, array: NDArray) -> None:
        """Take in one array."""
        if name not in self.wanted:
            return
        data = array.asnumpy()
        low, high = float(data.min()), float(data.max())
        bound = max(abs(low), abs(high))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], data, low, high, bound)
        else:
            # Symmetric about 0, as `calibrate_entropy` expects.
            hist, edges = np.histogram(data, bins=self.bins, range=(-bound, bound))
            self.hist_dict[name] = hist, edges, low, high, bound


def run_layers(
    symbol: Symbol,
    params: dict[str, NDArray],
    batches: Iterable[dict[str, NDArray]],
    ctx: Device,
    collector: Collector,
) -> None:
    """Run a symbol on batches (arrays by name) and hand the values that a collector wants to it, all to a user's own.

    Parameters
    ----------
    symbol, params
        The network, with its arguments and states.
    batches
        Sample data.
    ctx
        Where to run.
    collector
        Takes the values.
    """
    inner = symbol.get_internals()
    wanted = collector.wanted if isinstance(collector, (RangeCollector, HistogramCollector)) else inner.list_outputs()
    # In the order of the outputs: a set of names has another order in each process.
    names = [n for n in inner.list_outputs() if n in wanted]
    if not names:
        return
    group = Group([inner[n] for n in names])
    for batch in batches:
        given = {n: a for n, a in batch.items() if n in group.list_inputs()}
        shapes: dict[str, Any] = {n: a.shape for n, a in given.items()}
        executor = group.simple_bind(ctx, grad_req="null", **shapes)
        states = {n: a for n, a in params.items() if n in executor.aux_dict}
        executor.copy_params_from({n: a for n, a in params.items() if n in executor.arg_dict}, states)
        for name, array in zip(names, executor.forward(is_train=False, **given), strict=True):
            collector.collect(name, array)

"""Counts and sums of weights: of numbers, and in the bins of histograms."""

from typing import Any, TypeAlias

import numpy as np

from ...calls.host_calls import is_recorded, to_numpy
from ...errors import ParameterError
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike
from ...ops import primitive_gather
from ..array import ndarray
from ..creation import operand, zeros
from ..fallback import by_numpy
from ..forms import form_of
from ..indexing import add_at
from ..reductions import max, min, run, sum
from ..selecting import diff
from ..ufuncs import chosen, function_of
from .signals import linspace

Range: TypeAlias = tuple[float, float] | None


@form_of(np.bincount)
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> ndarray:
    """The sums of the weights of each number."""
    if is_followed(operand(x)):
        return _bincount_followed(operand(x), weights, minlength)
    places = np.asarray(to_numpy(x))
    if not places.size:
        return operand(np.bincount(places.astype(np.int64), minlength=minlength))
    counts = np.bincount(places, minlength=minlength)
    w = _weights(weights, places.shape)  # type: ignore[arg-type]  # nothing else can be recorded
    result = zeros(counts.shape, "float64", device=w.context)
    add_at(result, places, w.astype("float64", copy=False))
    return result


def _bincount_followed(x: ndarray, weights: ArrayLike | None, size: int) -> ndarray:
    """The sums for numbers whose values are not known: as many as ``size`` says. A larger number raises when the result is read.

    Raises
    ------
    ParameterError
        If the size is 0.
    """
    if not size:
        todo = "pass minlength: more than the largest number, as length of jax.numpy.bincount"
        raise ParameterError("bincount: the values are not known, and so is the size of the result", "minlength=0", todo)
    places = run(primitive_gather.checked_index, x.reshape(-1).astype("int64", copy=False), size=size, negative=False)
    if weights is None:
        result = zeros((size,), "int64", device=x.context)
        add_at(result, places, 1)
        return result
    w = _weights(weights, x.shape)
    result = zeros((size,), "float64", device=x.context)
    add_at(result, places, w.reshape(-1).astype("float64", copy=False))
    return result


def _weights(weights: ArrayLike, shape: tuple[int, ...]) -> ndarray:
    """The weights of `bincount`.

    Raises
    ------
    ParameterError
        If there is not one for each number.
    """
    w = operand(weights)
    if w.shape != shape:
        raise ParameterError("The weights and list don't have the same length.", f"{w.shape} for {shape}", "pass one for each")
    return w


@form_of(np.histogram)
def histogram(a: ArrayLike, bins: Any = 10, range: Any = None, density: bool | None = None, weights: ArrayLike | None = None) -> Any:
    """The sums of the weights in each bin, and the edges, which are constants."""
    if is_recorded((a, bins, range)):
        x = operand(a).reshape(-1)
        if isinstance(bins, str) or not is_followed(x):
            return NotImplemented
        return _histogram(x, _edges(x, operand(bins), range), density, weights)
    if weights is None:
        return NotImplemented
    host, w = np.asarray(to_numpy(a)).ravel(), operand(weights).reshape(-1)
    _, edges = np.histogram(host, to_numpy(bins), range, weights=host_of(w))
    # bins are half-open, except the last one, which includes its right edge
    inside = (host >= edges[0]) & (host <= edges[-1])
    places = np.minimum(np.searchsorted(edges, host[inside], "right") - 1, len(edges) - 2)
    totals = bincount(places, w[np.flatnonzero(inside)], len(edges) - 1).astype(w.dtype, copy=False)
    if density:
        totals = totals / np.diff(edges) / sum(totals)
    return totals, operand(edges, w.context)


def _histogram(x: ndarray, edges: ndarray, density: bool | None, weights: ArrayLike | None) -> tuple[ndarray, ndarray]:
    """The counts, or sums of the weights, in each bin for values that are not known."""
    places = by_numpy(np.searchsorted, (edges, x), {"side": "right"}) - 1
    count = edges.size - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    # an element at the last edge belongs to the last bin
    places = function_of("minimum")(function_of("maximum")(places, 0), count - 1)
    if weights is None:
        # elements outside of all bins are counted in one more, which is dropped
        totals = _bincount_followed(chosen(inside, places, count), None, count + 1)[:-1]
    else:
        w = operand(weights).reshape(-1)
        totals = bincount(places, chosen(inside, w, 0), count).astype(w.dtype, copy=False)
    return totals / diff(edges) / sum(totals) if density else totals, edges


@form_of(np.histogram_bin_edges)
def histogram_bin_edges(a: ArrayLike, bins: str | ArrayLike = 10, range: Range = None, weights: ArrayLike | None = None) -> object:
    """The edges of bins, evenly spaced from the smallest element to the largest if only their number is given."""
    return NotImplemented if isinstance(bins, str) else _edges(operand(a), operand(bins), range)


def _edges(x: ndarray, bins: ndarray, range: Range) -> ndarray:
    if bins.ndim:
        return bins
    if range is not None or not x.size:
        return operand(np.histogram_bin_edges(np.empty(0), int(bins), range), x.context)
    first, last = min(x), max(x)
    apart = chosen(first == last, 0.5, 0.0)  # equal elements get a bin of width 1
    return operand(linspace(first - apart, last + apart, int(bins) + 1))

"""Private functions of ``mxnet.test_utils``, which tests of libraries call."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ..device import Device
from ..ndarray import NDArray
from ..ndarray.types import DTypeLike
from ..symbol.symbol import Symbol
from .gradient_checks import Location, _arrays, _dtype_name, _states

__all__: list[str] = []

T = TypeVar("T")


def _sorted_items(d: Mapping[str, T]) -> list[tuple[str, T]]:
    """The items of a dictionary, by their keys."""
    return sorted(d.items(), key=lambda item: item[0])


def _sorted_dict(d: Mapping[str, T]) -> OrderedDict[str, T]:
    """A dictionary in the order of its keys."""
    return OrderedDict(_sorted_items(d))


def _parse_location(sym: Symbol, location: Location, ctx: Device, dtype: DTypeLike = np.float32) -> OrderedDict[str, NDArray]:
    """The arrays of a symbol's arguments by name, from arrays in a list or by name."""
    assert isinstance(location, (dict, list, tuple)), "location is a list of arrays, or a dictionary of them"
    return _sorted_dict(_arrays(sym, location, ctx, _dtype_name(dtype)))


def _parse_aux_states(sym: Symbol, aux_states: Location | None, ctx: Device, dtype: DTypeLike = np.float32) -> Mapping[str, NDArray] | None:
    """The arrays of a symbol's auxiliary states by name; None if none are given."""
    return None if aux_states is None else _states(sym, aux_states, ctx, _dtype_name(dtype))


def _find_max_violation(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> tuple[tuple[int, ...], float]:
    """Where two arrays differ most, and by how many times the tolerance."""
    error = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
    place = tuple(map(int, np.unravel_index(np.argmax(error), error.shape)))
    return place, error[place]

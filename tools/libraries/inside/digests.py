"""Arrays as a few numbers that two processes can compare, and parameters that both draw alike."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np


def draws(shape: tuple[int, ...], seed: str) -> np.ndarray:
    """Normal float32 numbers that depend on the seed's text alone."""
    return np.random.RandomState(zlib.crc32(seed.encode())).standard_normal(shape).astype("float32")


def digest(array: np.ndarray) -> dict[str, Any]:
    """The shape, the dtype, the norm and two projections of an array, by which two of them are compared."""
    flat = np.asarray(array, "float64").ravel()
    finite = np.where(np.isfinite(flat), flat, 0.0)
    signs = np.random.RandomState(flat.size % 9973).randint(0, 2, (2, flat.size)) * 2 - 1
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "norm": float(math.sqrt(finite @ finite)),
        "projections": [float(row @ finite) for row in signs],
        "strange": int(flat.size - np.isfinite(flat).sum()),
    }


def flattened(outputs: Any) -> list[Any]:
    """The arrays in nested lists and tuples, without what is None."""
    if outputs is None:
        return []
    if isinstance(outputs, (list, tuple)):
        return [array for part in outputs for array in flattened(part)]
    if isinstance(outputs, dict):
        return flattened(list(outputs.values()))
    return [outputs] if hasattr(outputs, "asnumpy") else []


def digests(arrays: Iterable[Any]) -> list[dict[str, Any]]:
    """The digests of arrays of MXNet."""
    return [digest(array.asnumpy()) for array in arrays]


def new_value(name: str, shape: tuple[int, ...], seed: str) -> np.ndarray:
    """The value of a parameter: as wide as a new network's, so that activations neither vanish nor explode."""
    drawn = draws(shape, seed)
    if name.endswith("gamma"):
        return 1 + drawn / 10
    if name.endswith("var"):
        return 1 + abs(drawn) / 10
    if len(shape) < 2:
        return drawn / 10
    return drawn * math.sqrt(1 / np.prod(shape[1:]))

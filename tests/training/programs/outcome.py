"""What a program returns, as JSON: arrays by shape, dtype and content; that something raises; numbers that JSON lacks as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return {"shape": list(value.shape), "dtype": np.dtype(value.dtype).name, "values": plain(value.asnumpy())}


def fails(action: Callable[[], Any]) -> bool:
    """Whether something raises an exception."""
    try:
        action()
    except Exception:
        return True
    return False

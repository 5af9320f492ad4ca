"""Whether an outcome of a probe on Twofold agrees with the real MXNet's."""

from __future__ import annotations

import math
from typing import Any


def agrees(found: Any, wanted: Any, rounding: float = 1e-4) -> bool:
    """Whether outcomes are the same up to rounding; an exception agrees if it derives from the class of the other one."""
    if isinstance(wanted, dict) and wanted.get("class") == "numpy.float64" and isinstance(found, float):
        wanted = wanted["of"][0]  # a number of NumPy's is a Python float too
    if isinstance(wanted, dict) and isinstance(found, dict):
        if "raises" in wanted:
            return wanted["raises"][0] in found.get("raises", ())
        rounding = 2e-3 if wanted.get("dtype") == "float16" else rounding
        return found.keys() == wanted.keys() and all(agrees(found[key], value, rounding) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(agrees(f, w, rounding) for f, w in zip(found, wanted, strict=True))
    if isinstance(wanted, float) and isinstance(found, float):
        return math.isclose(found, wanted, rel_tol=rounding, abs_tol=1e-5)
    return type(found) is type(wanted) and found == wanted

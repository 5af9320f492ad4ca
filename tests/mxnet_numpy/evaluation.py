"""Evaluates the expressions on the real MXNet and on Twofold alike, and gives their results as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as onp

if TYPE_CHECKING:
    from types import ModuleType


def namespace(mx: Any, np: Any, npx: Any) -> dict[str, Any]:
    """The names that expressions use."""

    def of(dtype: str, values: Any) -> Any:
        return np.array(onp.array(values).astype(dtype))

    a, i = of("float32", [[3, 1, 2], [6, 5, 4]]), of("int32", [[3, 1, 2], [6, 5, 4]])
    more = {"h": a.astype("float16"), "v": of("float32", [1, 2, 3]), "e": of("float32", onp.zeros((0, 3)))}
    return {"mx": mx, "np": np, "npx": npx, "onp": onp, "of": of, "a": a, "i": i, **more}


def result(expression: str, mx: Any, np: Any, npx: Any) -> Any:
    """The result of an expression, or the arrays after a statement, as JSON; ``"raises"`` for an exception."""
    names = namespace(mx, np, npx)
    try:
        with onp.errstate(all="ignore"):
            if not is_statement(expression):
                return plain(eval(expression, names))
            names["a"] = np.array(onp.arange(6.0, dtype="float32").reshape(2, 3))
            names["i"] = np.array(onp.arange(6, dtype="int32").reshape(2, 3))
            names["r"], names["v"] = None, np.array([1.0, 2.0, 3.0])
            exec(expression, names)
            return plain([names["a"], names["r"]])
    except Exception:
        return "raises"


def is_statement(expression: str) -> bool:
    """Whether it changes arrays or names a result."""
    try:
        compile(expression, "expression", "eval")
    except SyntaxError:
        return True
    return False


def plain(value: Any) -> Any:
    """A value as JSON: arrays with their dtype, shape and elements."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, (type, onp.dtype)):
        return onp.dtype(value).name if isinstance(value, onp.dtype) else value.__name__
    if hasattr(value, "asnumpy"):
        host = value.asnumpy()
        return {
            "array": str(value.dtype if isinstance(value.dtype, onp.dtype) else onp.dtype(value.dtype)),
            "shape": list(host.shape),
            "of": elements(host),
        }
    if isinstance(value, (onp.ndarray, onp.generic)):
        return {"numpy": str(value.dtype), "shape": list(value.shape), "of": elements(onp.asarray(value))}
    return type(value).__name__


def elements(host: onp.ndarray) -> Any:
    """The elements as numbers."""
    return [number(x) for x in host.reshape(-1).tolist()]


def number(x: Any) -> Any:
    """A number as JSON: rounded to the digits of single precision; nan and infinities as text."""
    if isinstance(x, float):
        return float(f"{x:.7g}") if math.isfinite(x) else str(x)
    return x if isinstance(x, (bool, int)) else str(x)


def differs(found: Any, expected: Any, rounding: float = 1e-4) -> bool:
    """Whether results differ by more than the rounding of their dtypes."""
    if isinstance(expected, dict) and isinstance(found, dict):
        rounding = 1e-3 if expected.get("array") == "float16" else rounding
        return found.keys() != expected.keys() or any(differs(found[k], v, rounding) for k, v in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) != len(expected) or any(differs(f, e, rounding) for f, e in zip(found, expected, strict=True))
    if isinstance(expected, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        return not math.isclose(found, expected, rel_tol=rounding, abs_tol=1e-5)
    return type(found) is not type(expected) or found != expected


def imported(package: ModuleType) -> tuple[Any, Any, Any]:
    """``(mx, np, npx)`` of the real MXNet, with NumPy's semantics."""
    mx: Any = package
    mx.npx.set_np()
    return mx, mx.np, mx.npx

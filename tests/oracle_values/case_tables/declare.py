"""The vocabulary of the case tables: seeded inputs and the declaration of one case. It runs nothing."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

GRID = 1024  # draws are multiples of 1/1024: exact in float16 below 2, short in the archive


@dataclass(frozen=True)
class Draw:
    """A random input whose values depend on its description and its slot only, so that cases share stored arrays."""

    shape: tuple[int, ...]
    low: float
    high: float
    dtype: str
    whole: bool = False

    def array(self, slot: int) -> np.ndarray:
        """The array for the input (or head gradient) number `slot` of a case."""
        seed = zlib.crc32(repr((self.shape, self.low, self.high, self.whole)).encode())
        generator = np.random.default_rng([seed, slot])
        if self.whole:
            return generator.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)
        steps = generator.integers(int(self.low * GRID), int(self.high * GRID), self.shape, endpoint=True)
        return (steps / GRID).astype(self.dtype)


@dataclass(frozen=True)
class CaseSpec:
    """One call of an operator: what goes in and what is asked."""

    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    path: str | None = None  # the function under `mx`; None = found from the operator's name
    train: bool = True
    grad: bool | tuple[int, ...] = True  # or the positions of the inputs that get a gradient
    outputs: int | None = None  # how many outputs are kept; None = all
    onednn: bool = False  # with oneDNN, where MXNet's own implementation is missing
    note: str = ""

    def arrays(self) -> list[np.ndarray | None]:
        """The inputs as NumPy arrays; None stands for an optional input left out."""
        return [item.array(slot) if isinstance(item, Draw) else item for slot, item in enumerate(self.inputs)]


def real(shape: tuple[int, ...], low: float = -2, high: float = 2, dtype: str = "float32") -> Draw:
    """Real numbers in [low, high] on a grid of 1/1024."""
    return Draw(shape, low, high, dtype)


def whole(shape: tuple[int, ...], low: int, high: int, dtype: str = "float32") -> Draw:
    """Whole numbers in [low, high)."""
    return Draw(shape, low, high, dtype, whole=True)


def given(values: Any, dtype: str = "float32") -> np.ndarray:
    """The values as written."""
    return np.array(values, dtype=dtype)


def ramp(*shape: int, dtype: str = "float32") -> np.ndarray:
    """0, 1, 2 … in C order: shows where each element of a rearranged array came from."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def case(
    op: str,
    *inputs: Any,
    path: str | None = None,
    train: bool = True,
    grad: bool | tuple[int, ...] = True,
    outputs: int | None = None,
    onednn: bool = False,
    note: str = "",
    **attrs: Any,
) -> CaseSpec:
    """Declares a case; keyword arguments that are not options of this function are the operator's attributes."""
    return CaseSpec(op, inputs, attrs, path, train, grad, outputs, onednn, note)

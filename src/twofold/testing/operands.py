"""Draws arrays for the samples declared with operators, the same ones in every run."""

from typing import Any
from zlib import crc32

import numpy as np

from ..dtype import NUMPY
from ..opdef import Op
from ..opdef.samples import Drawn, Sample

KEY = np.array([0, 5, 0, 0, 1, 0], np.uint64)


def make_operands(op: Op, sample: Sample, dtype: str = "float32", seed: int = 0) -> list[Any]:
    """Draw arrays for a sample's inputs (None if omitted); append a key for a random operator, and the scalar parameters."""
    draw = np.random.default_rng(seed + crc32(op.title.encode()))
    arrays: list[Any] = [None if d is None else _draw(d, draw, dtype) for d in sample.inputs]
    if not op.variadic:
        arrays += [None] * (len(op.arrays) - len(arrays))
    if op.random:
        arrays.append(KEY)
    return arrays + [op.params[s].value(sample.params.get(s, op.params[s].default), op.title) for s in op.scalars]


def _draw(d: Drawn, draw: np.random.Generator, dtype: str) -> np.ndarray:
    kind = NUMPY[d.dtype or dtype]
    if d.whole:
        return draw.integers(int(d.low), int(d.high), d.shape).astype(kind)
    if d.distinct:
        count = int(np.prod(d.shape, dtype=int))
        numbers = (d.low + (d.high - d.low) * (draw.permutation(count) + 0.5) / max(count, 1)).reshape(d.shape)
    else:
        numbers = draw.uniform(d.low, d.high, d.shape)
    return (numbers if d.then is None else d.then(np, numbers)).astype(kind)

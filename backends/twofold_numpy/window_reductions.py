"""Maxima and sums of windows, and their transposes: plane by plane in machine code, or by references, with the same bits."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from twofold.backend import workers
from twofold.backend.kernel import REFERENCES
from twofold.config import ON_CHANGE

from .jit.availability import is_loaded
from .memory import POOL, scratch_memory
from .window_tables import Kind, Part, Windows, table_of

#: What computes a part: called with the operand, what windows are given, the result, and scratch memory.
Code = Callable[..., None]
#: Functions from the adapter that return machine code for (kind, dtype, part, value of padding, pieces), or None if kernels are not
#: compiled.
IN_MACHINE_CODE: list[Callable[[Kind, np.dtype[np.generic], Part, float, int], Code | None]] = []
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
#: Nanoseconds of a reference, per call and per element, about; and those of all calls from which the compiler is worth loading.
CALL, ELEMENT, LOADED_FROM = 20_000, 5, 10_000_000
#: Elements of channels of an image that are computed together, so that they fit the cache; and of pieces of work for threads, at least.
BLOCK, PIECE = 1 << 15, 1 << 16
#: Elements of small planes that are computed together.
TOGETHER = 1 << 11
#: The kinds by the primitives' names.
KINDS: dict[str, Kind] = {
    "window_max": "max",
    "window_sum": "sum",
    "window_max_transposed": "max transposed",
    "window_sum_transposed": "sum transposed",
}


def compute(op: str, *operands: np.ndarray, **params: Any) -> np.ndarray:
    """One of the primitives of windows."""
    return bound(op, params, [a.shape for a in operands], operands[-1].dtype)(*operands)


def bound(op: str, params: dict[str, Any], shapes: Sequence[tuple[int, ...]], dtype: np.dtype[np.generic]) -> "Computation":
    """What computes a primitive of operands of these shapes."""
    return _bound(op, tuple(params.items()), tuple(shapes), dtype)


class _Work:
    """What references did before the compiler was loaded, in nanoseconds; that two threads may lose some of it does not matter."""

    done = 0


class Computation:
    """One of the primitives for operands of given shapes."""

    def __init__(self, op: str, params: dict[str, Any], shapes: Sequence[tuple[int, ...]], dtype: np.dtype[np.generic]) -> None:
        self._op, self._params, self._dtype = op, params, dtype
        self._kind: Kind = KINDS[op]
        facts = {name: value for name, value in params.items() if name != "lowest"}
        self.parts, self.shape = _parts(self._kind, shapes[-1], **facts)
        is_transposed = self._kind.endswith("transposed")
        self._covers = not is_transposed or all(p.windows.covers for p in self.parts)
        # transposes read a plane before they write it, but zeros are written first; maxima and sums may be written row by row
        self._writes_early = not (is_transposed and self._covers)
        self._nanoseconds = CALL + ELEMENT * (math.prod(self.shape) + math.prod(shapes[-1]))
        self._codes: list[tuple[Code, int]] = []

    def __call__(self, *operands: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Compute it, into ``out`` if that is given."""
        if not self._codes and not self._has_code():
            return self._by_reference(operands, out)
        given = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in operands]
        to = out
        if to is None or (self._writes_early and any(np.may_share_memory(to, a) for a in given)):
            to = POOL.empty(self.shape, self._dtype)
        if not self._covers:
            to.fill(0)
        for code, scratch in self._codes:
            code(given[-1], given[0], to, scratch_memory(scratch))
        if out is not None and to is not out:
            out[...] = to
        return to if out is None else out

    def _by_reference(self, operands: Sequence[np.ndarray], out: np.ndarray | None) -> np.ndarray:
        found = REFERENCES[self._op].function(np, *operands, **self._params)
        if out is None:
            return np.asarray(found, order="C")
        out[...] = found
        return out

    def _has_code(self) -> bool:
        """Whether there is machine code; the compiler is loaded only after references have worked for some time."""
        if not is_loaded() and _Work.done < LOADED_FROM:
            _Work.done += self._nanoseconds
            return False
        self._codes = list(self._made()) if self._dtype in DTYPES else []
        return bool(self._codes)

    def _made(self) -> Iterator[tuple[Code, int]]:
        lowest, threads = self._params.get("lowest", 0.0), workers.count()
        for part in self.parts:
            # small parts are not worth waking a helper
            pieces = max(1, min(part.planes, 4 * threads, part.elements // PIECE)) if threads > 1 else 1
            code = next(filter(None, (make(self._kind, self._dtype, part, lowest, pieces) for make in IN_MACHINE_CODE)), None)
            if code is None:
                return
            yield code, pieces * part.table.elements * self._dtype.itemsize


@lru_cache(1024)
def _bound(op: str, params: tuple[tuple[str, Any], ...], shapes: tuple[tuple[int, ...], ...], dtype: np.dtype[np.generic]) -> Computation:
    return Computation(op, dict(params), shapes, dtype)


ON_CHANGE.append(_bound.cache_clear)


def _parts(
    kind: Kind,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    before: tuple[int, ...],
    number: tuple[int, ...],
    channels_last: bool = False,
    size: tuple[int, ...] = (),
) -> tuple[list[Part], tuple[int, ...]]:
    """The parts of a computation for images (of a transposed sum, results) of a shape, and the result's shape."""
    end = len(shape) - channels_last
    begin = end - len(kernel)
    size, missing = size or shape[begin:end], 3 - len(kernel)
    small, large = (*shape[:begin], *number, *shape[end:]), (*shape[:begin], *size, *shape[end:])
    result = large if kind.endswith("transposed") else small
    if not math.prod(large) or not math.prod(small):
        return [], result
    ones = (1,) * missing
    w = Windows(ones + size, ones + kernel, ones + stride, (0,) * missing + before, ones + number)
    images = math.prod(shape[:begin])
    if channels_last:
        return list(_of_channels(kind, w, images, shape[-1])), result
    return list(_of_planes(kind, w, images)), result


def _of_channels(kind: Kind, w: Windows, images: int, channels: int) -> Iterator[Part]:
    """Parts of images with channels last: of as many channels as fit the cache, and of the rest."""
    width = min(channels, max(16, BLOCK // math.prod(w.size) // 16 * 16))
    whole, rest = divmod(channels, width)
    for first, blocks, inner in ((0, whole, width), (whole * width, 1, rest)):
        if inner:
            own = replace(w, step=channels, inner=inner)
            yield Part(own, table_of(own, kind), images, blocks, channels, first)


def _of_planes(kind: Kind, w: Windows, images: int) -> Iterator[Part]:
    """Parts of planes: as many small ones are computed at once as make work for vectors, and the rest."""
    is_plane = w.size[0] == w.kernel[0] == w.stride[0] == 1
    together = max(1, min(images, TOGETHER // math.prod(w.size))) if is_plane else 1
    whole, rest = divmod(images, together)
    for first, blocks, planes in ((0, whole, together), (whole * together, 1, rest)):
        if planes:
            # further frames of a volume that no window connects
            own = replace(w, size=(planes, *w.size[1:]), number=(planes, *w.number[1:])) if is_plane else w
            yield Part(own, table_of(own, kind), blocks, 1, 1, 0, first)

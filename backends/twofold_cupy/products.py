"""Matrix products by cuBLAS, or by a kernel of our own for dtypes that it lacks; einsum as a sequence of matrix products."""

import gc
import math
import weakref
from collections.abc import Sequence
from functools import cache

import cupy
import numpy as np
import opt_einsum

from twofold.backend.c_text import C_TYPES
from twofold.backend.kernel import Array, Namespace

from .cublas import KIND, Copy, Handle
from .dry_run import in_dry_run
from .launch import filled, function, run
from .library import memory as cupy_memory
from .operands import dtype_of
from .streams import Stream
from .views import strided, strides_of

#: Handles by stream; the workspace is freed with the stream. cuBLAS's part of a handle is never destroyed: that would synchronize
#: the whole device, and so break a capture in progress.
_handles: weakref.WeakKeyDictionary[Stream, Handle] = weakref.WeakKeyDictionary()


def matmul(stream: Stream, a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray, copy: Copy) -> None:
    """``out = a @ b`` over the last two axes, in the dtype of ``out``; ``stream`` is the current one."""
    if out.size == 0:
        return
    if a.shape[-1] == 0:
        if not in_dry_run():
            # an empty sum; zero bytes are the number 0 in all of these dtypes
            out.data.memset_async(0, out.nbytes, stream.cuda)
        return
    if dtype_of(out) not in KIND:
        _multiply(copy(_broadcast_batch(a, out)), copy(_broadcast_batch(b, out)), out)
        return
    prepare(stream).matmul(a, b, out, copy)


def prepare(stream: Stream) -> Handle:
    """The cuBLAS handle of the current stream. Call this once before a capture: a handle cannot be created during one."""
    found = _handles.get(stream)
    if found is None:
        try:
            found = _handles[stream] = Handle(stream)
        except cupy_memory.OutOfMemoryError:
            # `Memory` retries like this by itself, but the workspace is not allocated through it
            gc.collect()
            cupy.get_default_memory_pool().free_all_blocks()
            found = _handles[stream] = Handle(stream)
    return found


def _broadcast_batch(x: cupy.ndarray, out: cupy.ndarray) -> cupy.ndarray:
    """An operand with all batch axes of the result."""
    return cupy.broadcast_to(x, (*out.shape[:-2], *x.shape[-2:]))


def matmul_with(
    epilogue: str, stream: Stream, a: cupy.ndarray, b: cupy.ndarray, vector: cupy.ndarray, out: cupy.ndarray, copy: Copy
) -> bool:
    """A product with an epilogue as one kernel, of arrays of one dtype; returns False if the library has no such kernel.

    The leading axes of `a` are flattened into one.
    """
    if out.size == 0 or a.shape[-1] == 0 or dtype_of(out) not in KIND:
        return False
    if a.ndim > 2:
        a = (a if a._c_contiguous else copy(a)).reshape(-1, a.shape[-1])
    return prepare(stream).product(epilogue, a, b, vector, out.reshape(-1, out.shape[-1]), copy)


def _multiply(a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray) -> None:
    (m, n), k = out.shape[-2:], a.shape[-1]
    numbers = [np.int64(v) for v in (out.size, m, n, k)]
    run(function(kernel_source(dtype_of(out)), "tf_matmul"), out.size, *numbers, a, b, out)


@cache
def kernel_source(dtype: str) -> str:
    """The source of a product of integers or bools, one element per thread."""
    kind = C_TYPES[dtype]
    add = "sum = sum || (a[left] && b[right]);" if dtype == "bool" else f"sum = ({kind})(sum + a[left] * b[right]);"
    return filled({"KIND": kind, "ADD": add}, "matmul")


def einsum(xp: Namespace, subscripts: str, arrays: Sequence[Array]) -> Array:
    """``einsum``: pairwise contractions, in the order that opt_einsum finds."""
    left, right = subscripts.split("->")
    terms = left.split(",")
    operands = [_diagonal(x, term) for x, term in zip(arrays, terms, strict=True)]
    # each letter once: the diagonal has been taken
    terms = ["".join(dict.fromkeys(term)) for term in terms]
    shapes = [x.shape for x in operands]
    path = opt_einsum.contract_path(f"{','.join(terms)}->{right}", *shapes, shapes=True)[0]
    for group in path:
        picked = [(operands.pop(k), terms.pop(k)) for k in sorted(group, reverse=True)]
        remaining = "".join(dict.fromkeys("".join(terms) + right))
        while len(picked) > 1:
            (a, la), (b, lb) = picked.pop(), picked.pop()
            # a letter is summed out as soon as neither the result nor a remaining operand has it
            needed = remaining + "".join(t for _, t in picked)
            picked.append(_contract(xp, a, la, b, lb, "".join(c for c in dict.fromkeys(la + lb) if c in needed)))
        operands.append(picked[0][0])
        terms.append(picked[0][1])
    return _reorder(xp, operands[0], terms[0], right)


def _diagonal(x: Array, term: str) -> Array:
    """An operand with one axis per letter: the diagonal where a letter repeats."""
    if len(set(term)) == len(term):
        return x
    own = strides_of(x)
    letters = dict.fromkeys(term)
    shape = tuple(x.shape[term.index(c)] for c in letters)
    # a step along the diagonal is a step along each of its axes
    return strided(x, shape, tuple(sum(s for s, t in zip(own, term, strict=True) if t == c) for c in letters))


def _contract(xp: Namespace, a: Array, la: str, b: Array, lb: str, out: str) -> tuple[Array, str]:
    """The product of two operands, summed over the letters that are not in ``out``, and its letters."""
    whole_a, whole_b = dict(zip(la, a.shape, strict=True)), dict(zip(lb, b.shape, strict=True))
    a, la = _without_broadcast(xp, a, la, whole_b)
    b, lb = _without_broadcast(xp, b, lb, whole_a)
    a, la = _sum_out(xp, a, la, out + lb)
    b, lb = _sum_out(xp, b, lb, out + la)
    batch = [c for c in la if c in lb and c in out]
    inner = [c for c in la if c in lb and c not in out]
    rows, columns = [c for c in la if c not in lb], [c for c in lb if c not in la]
    size = dict(zip(la, a.shape, strict=True)) | dict(zip(lb, b.shape, strict=True))

    def matrices(x: Array, letters: str, *groups: list[str]) -> Array:
        moved = xp.permute_dims(x, axes=tuple(letters.index(c) for group in groups for c in group))
        return xp.reshape(moved, shape=tuple(math.prod(size[c] for c in group) for group in groups))

    product = xp.matmul(matrices(a, la, batch, rows, inner), matrices(b, lb, batch, inner, columns))
    letters = [*batch, *rows, *columns]
    return xp.reshape(product, shape=tuple(size[c] for c in letters)), "".join(letters)


def _without_broadcast(xp: Namespace, x: Array, letters: str, other: dict[str, int]) -> tuple[Array, str]:
    """An operand without its axes of size 1 that are longer in the other operand."""
    remaining = [k for k, c in enumerate(letters) if x.shape[k] != 1 or other.get(c, 1) == 1]
    if len(remaining) == len(letters):
        return x, letters
    return xp.reshape(x, shape=tuple(x.shape[k] for k in remaining)), "".join(letters[k] for k in remaining)


def _sum_out(xp: Namespace, x: Array, letters: str, remaining: str) -> tuple[Array, str]:
    gone = tuple(k for k, c in enumerate(letters) if c not in remaining)
    if not gone:
        return x, letters
    return xp.astype(xp.sum(x, axis=gone), dtype=xp.dtype_of(x)), "".join(c for c in letters if c in remaining)


def _reorder(xp: Namespace, x: Array, letters: str, right: str) -> Array:
    x, letters = _sum_out(xp, x, letters, right)
    return xp.contiguous(xp.permute_dims(x, axes=tuple(letters.index(c) for c in right)))

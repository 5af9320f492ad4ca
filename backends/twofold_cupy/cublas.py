"""Matrix products by cuBLAS, with a handle and workspace for each stream, so that they can be captured into graphs.

CuPy's own binding refuses to run while a stream is captured. This one calls the library by ctypes; NVIDIA's `cuda-pathfinder`, which
CuPy brings, finds it.
"""

import ctypes
from functools import cache
from typing import Any

import cupy
import numpy as np

from twofold.backend.strides import Sizes, merged
from twofold.errors import DeviceError, MissingDependency

from . import cublaslt
from .library import cuda_library, cuda_wheel
from .operands import dtype_of
from .rehearsal import rehearses
from .streams import Stream
from .views import strides_of

#: cuBLAS's codes: dtypes, and in what it computes with them.
KIND = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
COMPUTE = {"float32": 68, "float64": 70, "float16": 68, "bfloat16": 68}
PLAIN, TRANSPOSED, ANY_ALGORITHM = 0, 1, -1
#: Bytes of workspace that cuBLAS is given, from compute capability 9 on and before: what NVIDIA recommends.
WORKSPACE = {True: 32 << 20, False: 4 << 20}
#: What ``cublasGemmStridedBatchedEx_64``, which CUDA has from 12 on, takes: sizes, distances and counts of 64 bits.
_OPERAND = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_SIZES = (ctypes.c_int64,) * 3
GEMM = (
    *(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, *_SIZES, ctypes.c_void_p, *_OPERAND, *_OPERAND, ctypes.c_void_p, *_OPERAND),
    *(ctypes.c_int64, ctypes.c_int, ctypes.c_int),
)


@cache
def _library() -> Any:
    try:
        library = cuda_library("cublas")
    except Exception as error:
        raise MissingDependency.of("cublas", "a matrix product on a GPU", cuda_wheel()) from error
    pointer = ctypes.c_void_p
    library.cublasGemmStridedBatchedEx_64.argtypes = GEMM
    library.cublasSetStream_v2.argtypes = [pointer, pointer]
    library.cublasSetWorkspace_v2.argtypes = [pointer, pointer, ctypes.c_size_t]
    return library


class Handle:
    """cuBLAS on one stream.

    Parameters
    ----------
    stream
        The stream; it must be current.
    """

    def __init__(self, stream: Stream) -> None:
        self._handle = ctypes.c_void_p()
        _check(_library().cublasCreate_v2(ctypes.byref(self._handle)))
        _check(_library().cublasSetStream_v2(self._handle, stream.cuda.ptr))
        newer = int(cupy.cuda.Device(stream.device).compute_capability) >= 90
        self._workspace = cupy.ndarray((WORKSPACE[newer],), np.uint8)
        _check(_library().cublasSetWorkspace_v2(self._handle, self._workspace.data.ptr, self._workspace.nbytes))
        self._endings = cublaslt.Products(stream.cuda, self._workspace, KIND, COMPUTE) if cublaslt.library() is not None else None

    def product(self, epilogue: str, a: cupy.ndarray, b: cupy.ndarray, vector: cupy.ndarray, out: cupy.ndarray, copy: Any) -> bool:
        """A product of two matrices with an epilogue, in one step; whether cuBLASLt has it. See `cublaslt.Products.product`."""
        if self._endings is None:
            return False
        a, b = (x if _leading(x) else copy(x) for x in (a, b))
        return rehearses() or self._endings.product(epilogue, a, b, vector, out, _leading)

    def matmul(self, a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray, copy: Any) -> None:
        """``out = a @ b``: matrices in the last two axes, (…, m, k) and (…, k, n) to (…, m, n) in row-major order; others broadcast.

        `copy` gives an operand in row-major order, if it lies as cuBLAS takes none.
        """
        a, b = (x if _leading(x) else copy(x) for x in (a, b))
        if rehearses():
            return
        lead = out.shape[:-2]
        space = merged(lead, [_batch_strides(x, lead) for x in (a, b, out)])
        inner = [s[-1] if s else 0 for s in space.strides]
        count = space.sizes[-1] if space.sizes else 1
        for outer in np.ndindex(*space.sizes[:-1]):
            starts = [sum(p * s for p, s in zip(outer, own, strict=False)) for own in space.strides]
            self._batch(a, b, out, starts, inner, count)

    def _batch(self, a: Any, b: Any, out: Any, starts: list[int], strides: list[int], count: int) -> None:
        """Products of matrices at equal distances. cuBLAS counts columns first: there the product's transpose is b's times a's."""
        dtype = dtype_of(out)
        number = ctypes.c_double if dtype == "float64" else ctypes.c_float
        one, zero = number(1), number(0)
        size, (m, n), k = out.dtype.itemsize, out.shape[-2:], a.shape[-1]
        (op_a, lead_a), (op_b, lead_b) = _leading(a), _leading(b)  # type: ignore[misc]
        at = [x.data.ptr + start * size for x, start in zip((a, b, out), starts, strict=True)]
        kind = KIND[dtype]
        left, right = (at[1], kind, lead_b, strides[1]), (at[0], kind, lead_a, strides[0])
        status = _library().cublasGemmStridedBatchedEx_64(
            *(self._handle, op_b, op_a, n, m, k, ctypes.byref(one), *left, *right),
            *(ctypes.byref(zero), at[2], kind, n, strides[2], count, COMPUTE[dtype], ANY_ALGORITHM),
        )
        _check(status)


def _leading(x: cupy.ndarray) -> tuple[int, int] | None:
    """Whether a matrix is transposed for cuBLAS, and the distance of its rows; None if it lies otherwise."""
    (rows, columns), (down, right) = x.shape[-2:], strides_of(x)[-2:]
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return PLAIN, max(down if rows > 1 else columns, 1)
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return TRANSPOSED, max(right if columns > 1 else rows, 1)
    return None


def _batch_strides(x: cupy.ndarray, lead: Sizes) -> Sizes:
    own = strides_of(x)[:-2]
    missing = len(lead) - len(own)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(x.shape[:-2], own, strict=True))


def _check(status: int) -> None:
    if status:
        raise DeviceError("gpu: cuBLAS refused a matrix product", f"status {status}", "see CUBLAS_STATUS in NVIDIA's documentation")

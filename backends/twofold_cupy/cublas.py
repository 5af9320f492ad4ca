"""Matrix products by cuBLAS, with a handle and workspace per stream, so that they can be captured into graphs.

CuPy's own binding refuses to run during a capture. This one calls the library through ctypes; NVIDIA's `cuda-pathfinder`, a dependency
of CuPy, finds it.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np

from twofold.backend.kernel import Array
from twofold.backend.strides import broadcast_strides, merge_axes
from twofold.errors import DeviceError, MissingDependency

from . import cublaslt
from .dry_run import in_dry_run
from .library import cuda_library, cuda_wheel
from .operands import dtype_of
from .streams import Stream
from .views import strides_of

#: cuBLAS's codes of dtypes (cudaDataType) and of compute types (cublasComputeType_t).
KIND = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
COMPUTE = {"float32": 68, "float64": 70, "float16": 68, "bfloat16": 68}
PLAIN, TRANSPOSED, ANY_ALGORITHM = 0, 1, -1
#: Makes an operand contiguous.
Copy = Callable[[Array], Array]
#: A matrix' transpose flag and leading dimension.
Leading = tuple[int, int]
#: Bytes of workspace for compute capability 9 and newer, and for older devices: NVIDIA's recommendation.
WORKSPACE = {True: 32 << 20, False: 4 << 20}
#: Argument types of ``cublasGemmStridedBatchedEx_64`` (CUDA 12 and newer), with 64-bit sizes, strides and counts.
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
    """A cuBLAS handle bound to one stream.

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
        self._epilogues = cublaslt.Products(stream.cuda, self._workspace, KIND, COMPUTE) if cublaslt.library() is not None else None

    def product(self, epilogue: str, a: cupy.ndarray, b: cupy.ndarray, vector: cupy.ndarray, out: cupy.ndarray, copy: Copy) -> bool:
        """A matrix product with an epilogue by cuBLASLt; False if it has none. See `cublaslt.Products.product`."""
        if self._epilogues is None:
            return False
        (a, left), (b, right) = (_operand(x, copy) for x in (a, b))
        return in_dry_run() or self._epilogues.product(epilogue, a, b, vector, out, left, right)

    def matmul(self, a: cupy.ndarray, b: cupy.ndarray, out: cupy.ndarray, copy: Copy) -> None:
        """``out = a @ b``: (…, m, k) and (…, k, n) into contiguous (…, m, n); batch axes broadcast.

        `copy` makes an operand contiguous if cuBLAS cannot take its strides.
        """
        (a, left), (b, right) = (_operand(x, copy) for x in (a, b))
        if in_dry_run():
            return
        # One call per combination of outer batch indices; the innermost merged axis is the batch of the call. A broadcast operand has
        # stride 0 along these axes, so no copy is needed.
        lead = out.shape[:-2]
        space = merge_axes(lead, [broadcast_strides(x.shape[:-2], strides_of(x)[:-2], lead) for x in (a, b, out)])
        inner = [s[-1] if s else 0 for s in space.strides]
        count = space.sizes[-1] if space.sizes else 1
        for outer in np.ndindex(*space.sizes[:-1]):
            starts = [sum(p * s for p, s in zip(outer, own, strict=False)) for own in space.strides]
            at = [x.data.ptr + start * out.dtype.itemsize for x, start in zip((a, b, out), starts, strict=True)]
            self._batch(dtype_of(out), (out.shape[-2], out.shape[-1], a.shape[-1]), at, (left, right), inner, count)

    def _batch(
        self, dtype: str, sizes: tuple[int, int, int], at: list[int], leading: tuple[Leading, Leading], strides: list[int], count: int
    ) -> None:
        """A batch of products at constant strides. cuBLAS is column-major, so it computes the transpose: out.T = b.T @ a.T."""
        number = ctypes.c_double if dtype == "float64" else ctypes.c_float
        one, zero = number(1), number(0)
        (m, n, k), ((op_a, lead_a), (op_b, lead_b)), kind = sizes, leading, KIND[dtype]
        left, right = (at[1], kind, lead_b, strides[1]), (at[0], kind, lead_a, strides[0])
        status = _library().cublasGemmStridedBatchedEx_64(
            *(self._handle, op_b, op_a, n, m, k, ctypes.byref(one), *left, *right),
            *(ctypes.byref(zero), at[2], kind, n, strides[2], count, COMPUTE[dtype], ANY_ALGORITHM),
        )
        _check(status)


def _operand(x: cupy.ndarray, copy: Copy) -> tuple[cupy.ndarray, Leading]:
    """An operand that cuBLAS can take, itself or a contiguous copy, with its transpose flag and leading dimension."""
    found = _leading_dimension(x)
    return (copy(x), (PLAIN, max(x.shape[-1], 1))) if found is None else (x, found)


def _leading_dimension(x: cupy.ndarray) -> Leading | None:
    """CuBLAS's transpose flag and leading dimension of a matrix; None if neither of its axes has stride 1."""
    (rows, columns), (down, right) = x.shape[-2:], strides_of(x)[-2:]
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return PLAIN, max(down if rows > 1 else columns, 1)
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return TRANSPOSED, max(right if columns > 1 else rows, 1)
    return None


def _check(status: int) -> None:
    if status:
        raise DeviceError("gpu: cuBLAS refused a matrix product", f"status {status}", "see CUBLAS_STATUS in NVIDIA's documentation")

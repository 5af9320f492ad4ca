"""Matrix products with an epilogue by cuBLASLt: a bias, a bias and relu, or the row sums of the left matrix.

Descriptors, and the algorithm that the library's heuristic picks, are cached per shape, dtype and layout, so that a call launches one
kernel and can be captured. Where the heuristic has no algorithm, the caller runs separate kernels.
"""

import ctypes
from functools import cache
from typing import Any, NamedTuple

import cupy

from twofold.errors import DeviceError

from .library import cuda_library
from .operands import dtype_of

#: cuBLASLt's codes: BIAS and RELU_BIAS (over the rows of its column-major result), BGRADB (column sums of its right matrix).
EPILOGUES = {"bias": 4, "bias relu": 6, "sums": 512}
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
MAX_WORKSPACE, ALIGNMENT_A = 1, 5  # attributes of a preference; those of B, C and D follow A
#: Statuses for an unsupported product: CUBLAS_STATUS_INVALID_VALUE and CUBLAS_STATUS_NOT_SUPPORTED.
REFUSED = (7, 15)
#: The alignment in bytes of allocations; only views may have less.
MAX_ALIGNMENT = 256
#: Plans cached per stream.
MAX_PLANS = 512


@cache
def library() -> Any:
    """The library, loaded; None if it is not installed."""
    try:
        loaded = cuda_library("cublasLt")
    except Exception:  # the finder raises a different error for each reason
        return None
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    loaded.cublasLtMatrixLayoutCreate.argtypes = [pointer, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64]
    for name in ("cublasLtMatmulDescSetAttribute", "cublasLtMatmulPreferenceSetAttribute"):
        getattr(loaded, name).argtypes = [pointer, ctypes.c_int, pointer, size]
    loaded.cublasLtMatmulAlgoGetHeuristic.argtypes = [*[pointer] * 7, ctypes.c_int, pointer, pointer]
    loaded.cublasLtMatmulDescDestroy.argtypes = loaded.cublasLtMatrixLayoutDestroy.argtypes = [pointer]
    loaded.cublasLtMatmul.argtypes = [*[pointer] * 14, size, pointer]
    return loaded


class _Heuristic(ctypes.Structure):
    """The heuristic's result (``cublasLtMatmulHeuristicResult_t``)."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class _Description(ctypes.c_void_p):
    """A descriptor of an operation (``cublasLtMatmulDesc_t``), destroyed with this object."""

    def __del__(self) -> None:
        if self and library is not None:  # the process does not end
            library().cublasLtMatmulDescDestroy(self)


class _Layout(ctypes.c_void_p):
    """A matrix layout (``cublasLtMatrixLayout_t``), destroyed with this object."""

    def __del__(self) -> None:
        if self and library is not None:  # the process does not end
            library().cublasLtMatrixLayoutDestroy(self)


class Matrix(NamedTuple):
    """The layout of a matrix of a row-major product: its shape, whether it is transposed, and its leading dimension."""

    rows: int
    columns: int
    transposed: int
    row_stride: int


class PreparedProduct(NamedTuple):
    """The prepared form of a product, with a free list of its descriptors."""

    descriptions: list[_Description]
    layouts: tuple[_Layout, _Layout, _Layout]
    heuristic: _Heuristic
    one: Any
    zero: Any


MISSING: Any = object()
Key = tuple[str, str, Matrix, Matrix, tuple[int, ...]]


class Products:
    """A cuBLASLt handle for one stream, with cached plans.

    Parameters
    ----------
    stream
        CuPy's stream, whose device is current.
    workspace
        Scratch memory for the library; shared with cuBLAS, as the stream orders its uses.
    kind, compute
        The library's codes of dtypes, and of the type that each is computed in.
    """

    def __init__(self, stream: Any, workspace: cupy.ndarray, kind: dict[str, int], compute: dict[str, int]) -> None:
        self._stream, self._workspace, self._kind, self._compute = stream, workspace, kind, compute
        self._handle = ctypes.c_void_p()
        self._plans: dict[Key, PreparedProduct | None] = {}
        _check(library().cublasLtCreate(ctypes.byref(self._handle)))

    def product(
        self,
        epilogue: str,
        a: cupy.ndarray,
        b: cupy.ndarray,
        vector: cupy.ndarray,
        out: cupy.ndarray,
        leading_a: tuple[int, int],
        leading_b: tuple[int, int],
    ) -> bool:
        """``out = a @ b`` with an epilogue. Returns False, and launches nothing, if the library has no such product.

        Parameters
        ----------
        epilogue
            One of `EPILOGUES`.
        a, b, out
            Matrices; ``out`` is contiguous.
        vector
            The bias, or memory for the sums.
        leading_a, leading_b
            Transpose flag and leading dimension of each matrix.
        """
        left, right = Matrix(a.shape[0], a.shape[1], *leading_a), Matrix(b.shape[0], b.shape[1], *leading_b)
        # part of the key: the heuristic picks algorithms with wide loads only if the operands are aligned for them
        alignments = tuple(_alignment(x) for x in (b, a, out, vector))
        key = epilogue, dtype_of(out), left, right, alignments
        plan = self._plans.get(key, MISSING)
        if plan is MISSING:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._plan(*key)
        if plan is None:
            return False
        (x, y, d), result = plan.layouts, out.data.ptr
        # The descriptor holds the vector's address, so overlapping calls (from a signal handler, say) need one each: it is popped from
        # the free list while it is in use.
        try:
            description = plan.descriptions.pop()
        except IndexError:
            description = self._description(epilogue, dtype_of(out), left, right)
        _set(description, BIAS_POINTER, ctypes.c_void_p(vector.data.ptr))
        status = library().cublasLtMatmul(
            *(self._handle, description, ctypes.byref(plan.one), b.data.ptr, x, a.data.ptr, y, ctypes.byref(plan.zero)),
            *(result, d, result, d, plan.heuristic.algorithm, self._workspace.data.ptr, self._workspace.nbytes, self._stream.ptr),
        )
        plan.descriptions.append(description)
        if status in REFUSED:  # the heuristic picked an algorithm that does not run after all; nothing was launched
            self._plans[key] = None
            return False
        _check(status)
        return True

    def _plan(self, epilogue: str, dtype: str, left: Matrix, right: Matrix, alignments: tuple[int, ...]) -> PreparedProduct | None:
        """Describe a product to the library, which is column-major and so computes the transpose: the right matrix times the left."""
        kind = self._kind[dtype]
        description = self._description(epilogue, dtype, left, right)
        layouts = (_layout(kind, right), _layout(kind, left), _layout(kind, Matrix(left.rows, right.columns, 0, right.columns)))
        heuristic = self._best_algorithm(description, layouts, alignments)
        number = ctypes.c_double if dtype == "float64" else ctypes.c_float
        return None if heuristic is None else PreparedProduct([description], layouts, heuristic, number(1), number(0))

    def _description(self, epilogue: str, dtype: str, left: Matrix, right: Matrix) -> _Description:
        compute, wide, description = self._compute[dtype], dtype == "float64", _Description()
        _check(library().cublasLtMatmulDescCreate(ctypes.byref(description), compute, self._kind["float64" if wide else "float32"]))
        for attribute, value in ((TRANSPOSE_A, right.transposed), (TRANSPOSE_B, left.transposed), (EPILOGUE, EPILOGUES[epilogue])):
            _set(description, attribute, ctypes.c_int32(value))
        _set(description, BIAS_POINTER, ctypes.c_void_p(MAX_ALIGNMENT))  # a placeholder: the heuristic wants a non-null pointer
        return description

    def _best_algorithm(self, description: Any, layouts: tuple[Any, Any, Any], alignments: tuple[int, ...]) -> _Heuristic | None:
        preference = ctypes.c_void_p()
        _check(library().cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
        x, y, d, vector = alignments
        given = [(MAX_WORKSPACE, ctypes.c_uint64(self._workspace.nbytes))]
        given += [(ALIGNMENT_A + k, ctypes.c_uint32(n)) for k, n in enumerate((x, y, d, min(d, vector)))]
        for attribute, value in given:
            _check(library().cublasLtMatmulPreferenceSetAttribute(preference, attribute, ctypes.byref(value), ctypes.sizeof(value)))
        found, count = _Heuristic(), ctypes.c_int()
        a, b, c = layouts
        status = library().cublasLtMatmulAlgoGetHeuristic(
            self._handle, description, a, b, c, c, preference, 1, ctypes.byref(found), ctypes.byref(count)
        )
        library().cublasLtMatmulPreferenceDestroy(preference)
        return found if status == 0 and count.value and found.state == 0 else None


def _alignment(x: cupy.ndarray) -> int:
    # the lowest set bit of an address is the largest power of two that divides it
    return min(x.data.ptr & -x.data.ptr, MAX_ALIGNMENT)


def _layout(kind: int, matrix: Matrix) -> _Layout:
    """The layout of a row-major matrix, viewed as the column-major matrix that its memory also is."""
    made = _Layout()
    # row-major memory of (m, n) is column-major memory of (n, m)
    rows, columns = (matrix.rows, matrix.columns) if matrix.transposed else (matrix.columns, matrix.rows)
    _check(library().cublasLtMatrixLayoutCreate(ctypes.byref(made), kind, rows, columns, matrix.row_stride))
    return made


def _set(description: ctypes.c_void_p, attribute: int, value: Any) -> None:
    _check(library().cublasLtMatmulDescSetAttribute(description, attribute, ctypes.byref(value), ctypes.sizeof(value)))


def _check(status: int) -> None:
    if status:
        raise DeviceError("gpu: cuBLASLt refused a matrix product", f"status {status}", "see CUBLAS_STATUS in NVIDIA's documentation")

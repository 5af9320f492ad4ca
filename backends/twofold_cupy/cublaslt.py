"""Matrix products with what follows from them by cuBLASLt: a bias added, relu, or the sums of the left matrix' rows.

What a product needs (descriptors, and the algorithm that the library proposes for it) is made once for a shape, dtype and way to lie,
so that a call launches one kernel and may be captured. Where the library proposes none, there is no such product.
"""

import ctypes
from functools import cache
from typing import Any, NamedTuple

import cupy

from twofold.errors import DeviceError

from .library import cuda_library
from .operands import dtype_of

#: cuBLASLt's codes of epilogues: a bias for the rows of its column-major result, that and relu, the sums of its right matrix' columns.
EPILOGUES = {"bias": 4, "relu": 6, "sums": 512}
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
MAX_WORKSPACE, ALIGNMENT_A = 1, 5  # of a preference; B, C and D follow A
#: Statuses that say that there is no such product: an invalid value, not supported.
REFUSED = (7, 15)
#: Bytes to which memory lies that no view looks into.
ALIGNED = 256
#: How many kinds of products a stream keeps.
KEPT = 512


@cache
def library() -> Any:
    """The library; None where there is none."""
    try:
        loaded = cuda_library("cublasLt")
    except Exception:  # the finder has errors of its own for each way of not finding
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
    """What the library proposes (``cublasLtMatmulHeuristicResult_t``)."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class _Description(ctypes.c_void_p):
    """What is computed (``cublasLtMatmulDesc_t``); the library's own dies with it."""

    def __del__(self) -> None:
        if self and library is not None:  # the process does not end
            library().cublasLtMatmulDescDestroy(self)


class _Layout(ctypes.c_void_p):
    """How a matrix lies (``cublasLtMatrixLayout_t``); the library's own dies with it."""

    def __del__(self) -> None:
        if self and library is not None:  # the process does not end
            library().cublasLtMatrixLayoutDestroy(self)


class Matrix(NamedTuple):
    """How a matrix of a row-major product lies: whether transposed, and the distance of its rows."""

    rows: int
    columns: int
    turned: int
    distance: int


class Plan(NamedTuple):
    """A product as the library wants it described; descriptions that no call uses right now."""

    descriptions: list[_Description]
    layouts: tuple[_Layout, _Layout, _Layout]
    proposed: _Heuristic
    one: Any
    zero: Any


MISSING: Any = object()
Key = tuple[str, str, Matrix, Matrix, tuple[int, ...]]


class Products:
    """Products on one stream.

    Parameters
    ----------
    stream
        CuPy's stream, whose device is current.
    workspace
        Memory that the library may use on it.
    kind, compute
        The codes of dtypes, and in what each is computed.
    """

    def __init__(self, stream: Any, workspace: cupy.ndarray, kind: dict[str, int], compute: dict[str, int]) -> None:
        self._stream, self._workspace, self._kind, self._compute = stream, workspace, kind, compute
        self._handle = ctypes.c_void_p()
        self._plans: dict[Key, Plan | None] = {}
        _check(library().cublasLtCreate(ctypes.byref(self._handle)))

    def product(self, epilogue: str, a: cupy.ndarray, b: cupy.ndarray, vector: cupy.ndarray, out: cupy.ndarray, lies: Any) -> bool:
        """``out = a @ b`` of two matrices with an epilogue; whether the library has such a product.

        Parameters
        ----------
        epilogue
            One of `EPILOGUES`.
        a, b, out
            Matrices; ``out`` is in row-major order.
        vector
            The bias, or memory for the sums.
        lies
            Gives for a matrix whether it is transposed, and the distance of its rows.
        """
        left, right = (Matrix(*x.shape, *lies(x)) for x in (a, b))
        alignments = tuple(_alignment(x) for x in (b, a, out, vector))
        key = epilogue, dtype_of(out), left, right, alignments
        plan = self._plans.get(key, MISSING)
        if plan is MISSING:
            if len(self._plans) >= KEPT:
                self._plans.clear()
            plan = self._plans[key] = self._plan(*key)
        if plan is None:
            return False
        (x, y, d), result = plan.layouts, out.data.ptr
        try:  # the vector is part of the description: calls that overlap, as of a signal handler, have one each
            description = plan.descriptions.pop()
        except IndexError:
            description = self._description(epilogue, dtype_of(out), left, right)
        _set(description, BIAS_POINTER, ctypes.c_void_p(vector.data.ptr))
        status = library().cublasLtMatmul(
            *(self._handle, description, ctypes.byref(plan.one), b.data.ptr, x, a.data.ptr, y, ctypes.byref(plan.zero)),
            *(result, d, result, d, plan.proposed.algorithm, self._workspace.data.ptr, self._workspace.nbytes, self._stream.ptr),
        )
        plan.descriptions.append(description)
        if status in REFUSED:  # proposed, and not run all the same: nothing was launched
            self._plans[key] = None
            return False
        _check(status)
        return True

    def _plan(self, epilogue: str, dtype: str, left: Matrix, right: Matrix, alignments: tuple[int, ...]) -> Plan | None:
        """The library counts columns first: there the product's transpose is the right matrix times the left one."""
        kind = self._kind[dtype]
        description = self._description(epilogue, dtype, left, right)
        layouts = (_layout(kind, right), _layout(kind, left), _layout(kind, Matrix(left.rows, right.columns, 0, right.columns)))
        proposed = self._proposed(description, layouts, alignments)
        number = ctypes.c_double if dtype == "float64" else ctypes.c_float
        return None if proposed is None else Plan([description], layouts, proposed, number(1), number(0))

    def _description(self, epilogue: str, dtype: str, left: Matrix, right: Matrix) -> _Description:
        compute, wide, description = self._compute[dtype], dtype == "float64", _Description()
        _check(library().cublasLtMatmulDescCreate(ctypes.byref(description), compute, self._kind["float64" if wide else "float32"]))
        for attribute, value in ((TRANSPOSE_A, right.turned), (TRANSPOSE_B, left.turned), (EPILOGUE, EPILOGUES[epilogue])):
            _set(description, attribute, ctypes.c_int32(value))
        _set(description, BIAS_POINTER, ctypes.c_void_p(ALIGNED))  # that there is one counts for the choice
        return description

    def _proposed(self, description: Any, layouts: tuple[Any, Any, Any], alignments: tuple[int, ...]) -> _Heuristic | None:
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
    return min(x.data.ptr & -x.data.ptr, ALIGNED)


def _layout(kind: int, matrix: Matrix) -> _Layout:
    """A row-major matrix as the column-major one that its memory is."""
    made = _Layout()
    rows, columns = (matrix.rows, matrix.columns) if matrix.turned else (matrix.columns, matrix.rows)
    _check(library().cublasLtMatrixLayoutCreate(ctypes.byref(made), kind, rows, columns, matrix.distance))
    return made


def _set(description: ctypes.c_void_p, attribute: int, value: Any) -> None:
    _check(library().cublasLtMatmulDescSetAttribute(description, attribute, ctypes.byref(value), ctypes.sizeof(value)))


def _check(status: int) -> None:
    if status:
        raise DeviceError("gpu: cuBLASLt refused a matrix product", f"status {status}", "see CUBLAS_STATUS in NVIDIA's documentation")

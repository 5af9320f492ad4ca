"""Matrix products by cuBLAS: sizes that need 64 bits, and the choice of library."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cupy.conftest import simulated

cupy = pytest.importorskip("cupy")
cublas = pytest.importorskip("twofold_cupy.cublas")
own_library = pytest.importorskip("twofold_cupy.library")
BIG = 2**31 + 5


def nowhere(shape, strides):
    memory = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(1 << 40, 1, None, 0), 0)
    return cupy.ndarray(shape, np.float32, memory, tuple(4 * s for s in strides))


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        (((BIG, 4), (4, 1)), ((4, 3), (3, 1)), (3, BIG, 4, 3, 4, 3, 1)),
        (((2, 3), (BIG, 1)), ((3, 5), (BIG + 1, 1)), (5, 2, 3, BIG + 1, BIG, 5, 1)),
        (((2, 3), (3, 1)), ((3, BIG), (BIG, 1)), (BIG, 2, 3, BIG, 3, BIG, 1)),
        (((2, BIG), (BIG, 1)), ((BIG, 3), (3, 1)), (3, 2, BIG, 3, BIG, 3, 1)),
        (((BIG, 2, 3), (6, 3, 1)), ((BIG, 3, 5), (15, 5, 1)), (5, 2, 3, 5, 3, 5, BIG)),
    ],
)
def test_sizes_strides_and_counts_are_passed_in_64_bits(gpus, monkeypatch, a, b, given):
    """Without memory: only the arguments of the library's calls are checked."""
    told = []

    def gemm(handle, op_b, op_a, m, n, k, one, x, x_kind, ldx, x_step, y, y_kind, ldy, y_step, zero, c, c_kind, ldc, c_step, count, *rest):
        told.append((m, n, k, ldx, ldy, ldc, count))
        return 0

    called = ctypes.CFUNCTYPE(ctypes.c_int, *cublas.GEMM)(gemm)
    monkeypatch.setattr(cublas, "_library", lambda: SimpleNamespace(cublasGemmStridedBatchedEx_64=called))
    handle = object.__new__(cublas.Handle)
    handle._handle = ctypes.c_void_p()
    shape = (*a[0][:-1], b[0][-1])
    out = nowhere(shape, tuple(int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape))))
    handle.matmul(nowhere(*a), nowhere(*b), out, None)
    assert told == [given]


@simulated
def test_a_library_of_another_cuda_version_is_ignored(backend, monkeypatch):
    """If two versions are installed, the finder takes the newest."""
    from cuda import pathfinder

    opened = []
    monkeypatch.setattr(own_library.ctypes, "PyDLL", opened.append)
    for found in ("/a/libcublas.so.13", "/a/libcublas.so.12", "C:/a/cublas64_12.dll"):
        monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", lambda name, path=found: SimpleNamespace(abs_path=path))
        own_library.cuda_library("cublas")
    assert opened == ["libcublas.so.12", "/a/libcublas.so.12", "C:/a/cublas64_12.dll"]


@simulated
def test_libraries_are_reported(backend, monkeypatch):
    from cuda import pathfinder

    def missing(name):
        raise RuntimeError(name)

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", missing)
    report = dict(backend.target.libraries())
    assert set(report) == {"nvrtc", "cublas", "cublasLt", "cudnn"}
    assert report["cublas"] == "not found: matrix products need it; pip install 'cupy-cuda12x[ctk]' (RuntimeError)"

"""Compilers of generated C source for tests: NVRTC for GPUs, g++ for the host."""

import ctypes
import importlib.util
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import absent

#: A100, H100 and B200.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@cache
def nvrtc() -> ctypes.CDLL:
    """NVIDIA's run-time compiler, which needs no GPU."""
    found = importlib.util.find_spec("nvidia.cuda_nvrtc") if importlib.util.find_spec("nvidia") else None
    folders = found.submodule_search_locations or () if found else ()
    files = [file for folder in folders for file in sorted(Path(folder, "lib").glob("libnvrtc.so.*"))]
    if not files:
        absent("no NVRTC: install twofold[gpu_text]")
    return ctypes.CDLL(str(files[0]))


def compile_for_gpu(source: str, architecture: str) -> str:
    """Compile CUDA source and return the compiler's messages; fails the test if compilation fails."""
    library = nvrtc()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    status = library.nvrtcCompileProgram(program, len(options), options)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()
    return log.value.decode()


def compile_for_host(source: str, folder: Path) -> ctypes.CDLL:
    """Compile source as C++17 with g++ and load it."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++")
    text, library = folder / "kernels.cpp", folder / "kernels.so"
    text.write_text(source, encoding="utf-8")
    # -fwrapv: signed integers wrap, as NumPy's do
    command = [compiler, "-std=c++17", "-O1", "-fwrapv", "-fPIC", "-shared", "-o", str(library), str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def run_on_host(library: ctypes.CDLL, name: str, *arrays: np.ndarray) -> None:
    """Run a compiled kernel on C-contiguous arrays: inputs, then outputs."""
    assert all(a.flags.c_contiguous for a in arrays)
    getattr(library, name)(*[ctypes.c_void_p(a.ctypes.data) for a in arrays])

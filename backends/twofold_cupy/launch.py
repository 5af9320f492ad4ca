"""Kernel sources as functions that launch on the current device and stream: compiled once by content, without CuPy's front end.

A module is compiled at its first launch, or before that in the background if a dry run found that it will be launched.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import cupy

from twofold.backend.c_text import header

from .background import WORKERS, Job
from .dry_run import ACTIVE, in_dry_run
from .failures import compile_error
from .library import compiler, runtime

#: Without contraction into fused multiply-adds a fused kernel has the bits of its steps one by one.
OPTIONS = ("--std=c++17", "--fmad=false")
#: Threads of a block.
THREADS = 256
#: The largest grid along x, the only axis that grows with the data here; along y and z the limit is 65,535.
MAX_BLOCKS = 2**31 - 1


class Module:
    """A CUDA module: kernel source, compiled once per device. CuPy caches the binary on disk under the source's hash."""

    def __init__(self, source: str) -> None:
        self._module = cupy.RawModule(code=source, options=OPTIONS)
        self._jobs: dict[int, Job | None] = {}

    def compile_in_background(self) -> None:
        """Compile the module for the current device on another thread."""
        device = runtime.getDevice()
        if device not in self._jobs:
            self._jobs[device] = WORKERS.submit(partial(_compile, self._module, device))

    def kernel(self, name: str) -> Any:
        """CuPy's handle of one of the kernels, compiled and loaded on the current device.

        Raises
        ------
        KernelCompileError
            If the source does not compile.
        """
        device = runtime.getDevice()
        job = self._jobs.get(device)
        if job is not None:
            job.finish()
        try:
            self._module.compile()  # does nothing if the background job has compiled it
        except compiler.CompileException as error:
            raise compile_error(error, name) from error
        # the binary is loaded, so the next kernel of this module need not wait
        self._jobs[device] = None
        return self._module.get_function(name)


def _compile(module: Any, device: int) -> None:
    with cupy.cuda.Device(device):
        module.compile()


class Kernel:
    """A kernel, called with grid, block and arguments; the first call compiles it, and raises as `Module.kernel` does."""

    __slots__ = ("_launch", "_module", "_name")

    def __init__(self, module: Module, name: str) -> None:
        self._module, self._name = module, name
        self._launch: Any = None

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        """Launch the kernel; in a dry run, compile it in the background instead."""
        if ACTIVE and in_dry_run():
            self._module.compile_in_background()
            return
        if self._launch is None:
            self._launch = self._module.kernel(self._name)
        self._launch(grid, block, arguments)


@cache
def function(source: str, name: str) -> Kernel:
    """A kernel by its source and name; kernels of the same source share a module."""
    return Kernel(_module_of(source), name)


@cache
def _module_of(source: str) -> Module:
    return Module(source)


@cache
def cuda_text(name: str) -> str:
    """The content of a file of CUDA code in this package."""
    return (Path(__file__).parent / "cuda" / f"{name}.cu").read_text(encoding="utf-8")


def filled(parts: Mapping[str, str], *names: str) -> str:
    """Kernel source from files of CUDA code: the prelude, then the files' texts with their placeholders replaced in order."""
    template = "\n".join(map(cuda_text, names))
    for word, value in parts.items():
        template = template.replace(word, value)
    return header("c_prelude.h") + template


def each(name: str, parameters: Sequence[str], count: str, body: Sequence[str], before: Sequence[str] = ()) -> str:
    """The source of a kernel whose body runs for each ``i`` below a count; ``before`` is the text between the prelude and the kernel."""
    lines = [header("c_prelude.h"), *before, f"TF_KERNEL {name}({', '.join(parameters)}) {{", f"    TF_EACH(long long, i, {count}) {{"]
    return "\n".join([*lines, *[f"        {line}" for line in body], "    }", "}", ""])


def blocks_for(threads: int) -> tuple[int]:
    """The grid with at least this many threads, in blocks of `THREADS`."""
    return (-(-threads // THREADS),)


def grid_of(blocks: int) -> tuple[int]:
    """The grid of a kernel with a grid-stride loop over this many blocks' work: fewer blocks if a grid cannot hold them."""
    return (min(blocks, MAX_BLOCKS),)


def run(kernel: Kernel, threads: int, *arguments: Any) -> None:
    """Launch a kernel with at least this many threads; nothing for 0."""
    if threads:
        kernel(blocks_for(threads), (THREADS,), arguments)

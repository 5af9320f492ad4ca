"""Texts of kernels as functions that run on the current device and stream: compiled once by content, launched without CuPy's front end.

A text is compiled when one of its kernels is first launched, or ahead of that by other threads, if a rehearsal found that it will be.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import cupy

from twofold.backend.c_text import header

from .ahead import WORKERS, Job
from .failures import compile_error
from .library import compiler, runtime
from .rehearsal import ACTIVE, rehearses

#: Without contraction a fused kernel gives bit for bit what its steps give one by one.
OPTIONS = ("--std=c++17", "--fmad=false")
THREADS = 256
#: Blocks that a grid has room for along x, where all of ours lie; along y and z there are 65,535.
MOST_BLOCKS = 2**31 - 1


class Text:
    """A text, compiled once for each device. CuPy keeps its binary on disk under the text's hash."""

    def __init__(self, source: str) -> None:
        self._module = cupy.RawModule(code=source, options=OPTIONS)
        self._jobs: dict[int, Job | None] = {}

    def foresee(self) -> None:
        """Have it compiled for the current device by another thread."""
        device = runtime.getDevice()
        if device not in self._jobs:
            self._jobs[device] = WORKERS.begin(partial(_compile, self._module, device))

    def kernel(self, name: str) -> Any:
        """A kernel of it as CuPy has it, ready on the current device.

        Raises
        ------
        KernelCompileError
            If the compiler refuses the text.
        """
        device = runtime.getDevice()
        job = self._jobs.get(device)
        if job is not None:
            job.finish()
        try:
            self._module.compile()  # CuPy knows what the job has made
        except compiler.CompileException as error:
            raise compile_error(error, name) from error
        self._jobs[device] = None
        return self._module.get_function(name)


def _compile(module: Any, device: int) -> None:
    with cupy.cuda.Device(device):
        module.compile()


class Kernel:
    """A kernel of a text, called with grid, block and arguments; the first call raises as `Text.kernel` does."""

    __slots__ = ("_launch", "_name", "_text")

    def __init__(self, text: Text, name: str) -> None:
        self._text, self._name = text, name
        self._launch: Any = None

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        """Launch it; in a rehearsal, have it compiled."""
        if ACTIVE and rehearses():
            self._text.foresee()
            return
        if self._launch is None:
            self._launch = self._text.kernel(self._name)
        self._launch(grid, block, arguments)


@cache
def function(source: str, name: str) -> Kernel:
    """A kernel of a text."""
    return Kernel(_text(source), name)


@cache
def _text(source: str) -> Text:
    return Text(source)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A text of kernels: the prelude and a template, whose words are replaced one after another."""
    for word, value in parts.items():
        template = template.replace(word, value)
    return header("c_prelude.h") + template


def each(name: str, parameters: Sequence[str], count: str, body: Sequence[str], before: Sequence[str] = ()) -> str:
    """The text of a kernel that runs lines for each ``i`` below a count, after the prelude and other texts."""
    lines = [header("c_prelude.h"), *before, f"TF_KERNEL {name}({', '.join(parameters)}) {{", f"    TF_EACH(long long, i, {count}) {{"]
    return "\n".join([*lines, *[f"        {line}" for line in body], "    }", "}", ""])


def blocks_for(threads: int) -> tuple[int]:
    """The grid that has at least so many threads, in blocks of `THREADS`."""
    return (-(-threads // THREADS),)


def grid_of(blocks: int) -> tuple[int]:
    """The grid for so many blocks' work of a kernel whose blocks take every so many-th piece of it, where there are more than fit."""
    return (min(blocks, MOST_BLOCKS),)


def run(kernel: Kernel, threads: int, *arguments: Any) -> None:
    """Launch a kernel that wants so many threads; none if that is 0."""
    if threads:
        kernel(blocks_for(threads), (THREADS,), arguments)

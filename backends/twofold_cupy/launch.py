"""Texts of kernels as functions that run on the current device and stream: compiled once by content, launched without CuPy's front end."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import cupy

from twofold.backend.c_text import header

from .failures import compile_error
from .library import compiler

#: Without contraction a fused kernel gives bit for bit what its steps give one by one.
OPTIONS = ("--std=c++17", "--fmad=false")
THREADS = 256

Kernel = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]


@cache
def function(source: str, name: str) -> Kernel:
    """A kernel of a text, called with grid, block and arguments. CuPy keeps its binary on disk under the text's hash.

    Raises
    ------
    KernelCompileError
        If the compiler refuses the text.
    """
    module = cupy.RawModule(code=source, options=OPTIONS)
    try:
        module.compile()
    except compiler.CompileException as error:
        raise compile_error(error, name) from error
    return module.get_function(name)


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


def run(kernel: Kernel, threads: int, *arguments: Any) -> None:
    """Launch a kernel that wants so many threads; none if that is 0."""
    if threads:
        kernel(blocks_for(threads), (THREADS,), arguments)

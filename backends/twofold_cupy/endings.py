"""Matrix products with what follows from them, as programs run them: in one step where cuBLASLt has it, else one after another."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import cupy

from twofold.backend.kernel import ELEMENTWISE, ArrayType, KernelStep, Ref, RowProgram

from . import products
from .kernels import elementwise
from .library import runtime
from .operands import dtype_of
from .reductions import reduced


def with_ending(xp: Any, epilogue: str) -> Callable[..., None]:
    """A product with an epilogue as a function of the operands and the results' memory: see `Backend.product`."""
    return partial(_sums if epilogue == "sums" else _bias, xp, epilogue)


def _bias(xp: Any, epilogue: str, lhs: Any, rhs: Any, bias: Any, out: cupy.ndarray) -> None:
    a, b, bias = xp.on_device(lhs), xp.on_device(rhs), xp.packed(bias)
    stream = xp.streams.current(runtime.getDevice())
    if not products.matmul_and(epilogue, stream, a, b, bias, out, xp.contiguous):
        products.matmul(stream, a, b, out, xp.contiguous)
        _kernel(epilogue, ArrayType(out.shape, dtype_of(out)), bias.shape)(out, bias, out)


def _sums(xp: Any, epilogue: str, lhs: Any, rhs: Any, out: cupy.ndarray, sums: cupy.ndarray) -> None:
    a, b = xp.on_device(lhs), xp.on_device(rhs)
    stream = xp.streams.current(runtime.getDevice())
    if not products.matmul_and(epilogue, stream, a, b, sums, out, xp.contiguous):
        products.matmul(stream, a, b, out, xp.contiguous)
        turned = xp.packed(a.T)
        reduced(xp.memory, "sum", turned, 1, turned.shape[0], turned.shape[1], sums)


@lru_cache(512)
def _kernel(epilogue: str, kind: ArrayType, bias: tuple[int, ...]) -> Callable[..., None]:
    """What follows as a kernel of its own."""
    known = {name: ELEMENTWISE[name] for name in ("add", "maximum")}
    given = {"add": (Ref("in", 0), Ref("in", 1)), "maximum": (Ref("step", 0), Ref("const", 0.0))}
    names = ("add", "maximum") if epilogue == "relu" else ("add",)
    steps = tuple(KernelStep(name, known[name].ufunc, known[name].c, given[name], kind.dtype, kind.dtype) for name in names)
    return elementwise(RowProgram("_".join(names), kind.shape, (kind, ArrayType(bias, kind.dtype)), steps, (len(steps) - 1,)))

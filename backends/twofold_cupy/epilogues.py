"""Matrix products with an epilogue (bias, bias and relu, row sums): one call of cuBLASLt if it has the product, otherwise two kernels."""

from collections.abc import Callable
from functools import lru_cache, partial

import cupy

from twofold.backend.kernel import ELEMENTWISE, Array, ArrayType, KernelStep, Namespace, Ref, RowProgram

from . import products
from .kernels import elementwise
from .library import runtime
from .operands import dtype_of
from .reductions import reduce_middle


def matmul_with_epilogue(xp: Namespace, epilogue: str) -> Callable[..., None]:
    """A product with an epilogue, called with the operands and the results' memory; see `Backend.product`."""
    return partial(_matmul_sums if epilogue == "sums" else _matmul_bias, xp, epilogue)


def _matmul_bias(xp: Namespace, epilogue: str, lhs: Array, rhs: Array, bias: Array, out: cupy.ndarray) -> None:
    a, b, bias = xp.on_device(lhs), xp.on_device(rhs), xp.packed(bias)
    stream = xp.streams.current(runtime.getDevice())
    if not products.matmul_with(epilogue, stream, a, b, bias, out, xp.contiguous):
        products.matmul(stream, a, b, out, xp.contiguous)
        _kernel(epilogue, ArrayType(out.shape, dtype_of(out)), bias.shape)(out, bias, out)


def _matmul_sums(xp: Namespace, epilogue: str, lhs: Array, rhs: Array, out: cupy.ndarray, sums: cupy.ndarray) -> None:
    a, b = xp.on_device(lhs), xp.on_device(rhs)
    stream = xp.streams.current(runtime.getDevice())
    if not products.matmul_with(epilogue, stream, a, b, sums, out, xp.contiguous):
        products.matmul(stream, a, b, out, xp.contiguous)
        # sums of the left operand's rows are sums over the first axis of its transpose
        transposed = xp.packed(a.T)
        reduce_middle(xp.memory, "sum", transposed, 1, transposed.shape[0], transposed.shape[1], sums)


@lru_cache(512)
def _kernel(epilogue: str, kind: ArrayType, bias: tuple[int, ...]) -> Callable[..., None]:
    """The epilogue as an element-wise kernel."""
    known = {name: ELEMENTWISE[name] for name in ("add", "maximum")}
    given = {"add": (Ref("in", 0), Ref("in", 1)), "maximum": (Ref("step", 0), Ref("const", 0.0))}
    names = ("add", "maximum") if epilogue == "bias relu" else ("add",)
    steps = tuple(KernelStep(name, known[name].ufunc, known[name].c, given[name], kind.dtype, kind.dtype) for name in names)
    return elementwise(RowProgram("_".join(names), kind.shape, (kind, ArrayType(bias, kind.dtype)), steps, (len(steps) - 1,)))

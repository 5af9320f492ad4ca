"""How programs call NumPy: for each primitive the source of its fastest call, into given memory where possible."""

import importlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import ELEMENTWISE, ArrayType, Call, OperandType, Params
from twofold.dtype import NUMPY

from . import window_reductions
from .column_sums import split
from .copies import copy_into
from .namespace import BLOCK, NumpyNamespace, tree_sum
from .products import is_small, multiply
from .scatter import add_at

Maker = Callable[[dict[str, Any], Sequence[OperandType], ArrayType], Call]

#: The ufunc behind ``np.clip``, whose front end costs more than the computation of a small array.
_clip: Any = importlib.import_module("numpy._core.umath").clip


def call_for(op: str, params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call | None:
    """The fastest call of a primitive; None if the namespace's function is as fast."""
    declared = ELEMENTWISE.get(op)
    if declared is not None and declared.ufunc is not None:
        operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
        keyword = "out=" if op in ("maximum", "minimum") else ""  # a positional third operand is deprecated for these two
        # by default NumPy gives a result the order of its operands, which may be transposed
        fresh = f"{{f}}({operands}, order='C')"
        return Call(f"{{f}}({operands}, {keyword}{{out}})", {"f": getattr(np, declared.ufunc)}, True, fresh)
    maker = _MAKERS.get(op)
    return maker(params, inputs, output) if maker is not None else None


#: Elements from which `select` blends bits, in time independent of the mask; a masked copy is slow if the mask is random.
BLENDED = 4096
_BITS = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def select(mask: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write ``a`` where the mask is set and ``b`` elsewhere; ``out`` must not overlap the operands."""
    if mask.dtype != bool:
        mask = mask != 0
    if out.size < BLENDED or out.itemsize not in _BITS or not a.dtype == b.dtype == out.dtype or mask.shape != out.shape:
        np.copyto(out, b, "unsafe")
        np.copyto(out, a, "unsafe", where=mask)
        return
    kind = _BITS[out.itemsize]
    # out = ((a ^ b) & mask) ^ b, on the bits of the elements
    ones, bits, other = mask.astype(kind), out.view(kind), b.view(kind)
    np.negative(ones, ones)  # -1: all bits set where the mask is
    np.bitwise_xor(a.view(kind), other, bits)
    np.bitwise_and(bits, ones, bits)
    np.bitwise_xor(bits, other, bits)


def _matmul(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    if output.dtype in ("float16", "bfloat16") or inputs[0].dtype != inputs[1].dtype:
        return Call("{f}({0}, {1})", {"f": NumpyNamespace.matmul})
    if not is_small(inputs[0].shape, inputs[1].shape):
        return Call("{f}({0}, {1}, {out})", {"f": multiply}, True, "{f}({0}, {1}, None)")
    # the method is shorter than the ufunc, which resolves types and broadcasting first
    if len(inputs[0].shape) == len(inputs[1].shape) == 2:
        return Call("{0}.dot({1}, {out})", {}, True, "{0}.dot({1}, None)")
    return Call("{f}({0}, {1}, {out})", {"f": np.matmul}, True, "{f}({0}, {1}, order='C')")


def _reduce(ufunc: np.ufunc) -> Maker:
    def make(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
        axis, keep = params["axis"], params["keepdims"]
        shape = inputs[0].shape
        # up to one block the tree is NumPy's own pairwise sum, so the bits are the same
        is_tree = math.prod(shape) > BLOCK or output.dtype in ("float16", "bfloat16") or split(shape, axis) is not None
        if ufunc is np.add and is_tree:
            return Call(f"{{f}}({{0}}, {axis}, {keep}, {{out}})", {"f": tree_sum}, True, f"{{f}}({{0}}, {axis}, {keep}, None)")
        # NumPy's sums of floats depend on the memory layout, and results must not
        packed = "{0}" if inputs[0].contiguous else "({0} if {0}.flags.c_contiguous else {flat}({0}))"
        names = {"f": ufunc.reduce} if inputs[0].contiguous else {"f": ufunc.reduce, "flat": np.ascontiguousarray}
        text = f"{{f}}({packed}, {axis}, None, %s, {keep})"
        return Call(text % "{out}", names, True, text % None)

    return make


def _by_text(text: str, into: bool = False, **names: Any) -> Maker:
    """A call of a fixed text, which refers to parameters as ``{_name}``, or to all of them as ``{_params}``."""

    def make(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
        given = {f"_{k}": v for k, v in params.items()} | {"_params": params}
        return Call(text, names | {k: v for k, v in given.items() if f"{{{k}}}" in text}, into)

    return make


def _slice(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    return Call("{0}[{_key}]", {"_key": tuple(slice(*k) for k in params["key"]) or ...})  # an ellipsis keeps 0-d arrays arrays


def _slice_update(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    key = tuple(slice(*k) for k in params["key"])
    names = {"put": np.copyto, "_key": key}
    # `update` is for the case that the operand's memory is the result's: then only the part is written
    return Call("{put}({out}, {0}); {out}[{_key}] = {1}", names, into=True, update="{out}[{_key}] = {1}")


def _concat(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
    return Call(f"{{f}}(({operands},), {params['axis']}, {{out}})", {"f": np.concatenate}, into=True)


def _pad(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(inputs[0].shape, params["width"], strict=True))
    value = NUMPY[output.dtype].type(params["value"])
    return Call("{out}.fill({_value}); {out}[{_inner}] = {0}", {"_inner": inner, "_value": value}, into=True)


def _take(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    return Call(f"{{0}}.take({{1}}, {params['axis']})", {})


def _take_along_axis(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    """Advanced indexing with the index grids of the other axes built once; NumPy's function builds them at every call."""
    ndim = len(output.shape)
    axis = params["axis"] % ndim
    grids = {
        f"_grid{k}": np.arange(n).reshape([-1 if j == k else 1 for j in range(ndim)]) for k, n in enumerate(inputs[0].shape) if k != axis
    }
    places = ", ".join("{1}" if k == axis else f"{{_grid{k}}}" for k in range(ndim))
    return Call(f"{{0}}[{places}]", grids)


def _index_add(params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    key = ", ".join("{every}" if k is None else f"{{{k + 2}}}" for k in params["key"])
    add = f"{{add}}({{out}}, ({key},), {{1}})"
    return Call(f"{{out}}[...] = {{0}}; {add}", {"add": add_at, "every": slice(None)}, into=True, update=add)


def _windows(op: str, params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    found = window_reductions.bound(op, params, [i.shape for i in inputs], NUMPY[output.dtype])
    operands = ", ".join(f"{{{k}}}" for k in range(len(inputs)))
    return Call(f"{{f}}({operands}, out={{out}})", {"f": found}, True, f"{{f}}({operands})")


def _convolution(op: str, params: Params, inputs: Sequence[OperandType], output: ArrayType) -> Call:
    with IMPORTING:
        from .convolution import bound

    return Call("{f}({0}, {1}, {out})", {"f": bound(op, params, [ArrayType(i.shape, i.dtype) for i in inputs])}, True)


_MAKERS: dict[str, Maker] = {
    "index_add": _index_add,
    "take_along_axis": _take_along_axis,
    "where": _by_text("{select}({0}, {1}, {2}, {out})", True, select=select),
    "astype": _by_text("{out}[...] = {0}", True),
    "contiguous": _by_text("{put}({out}, {0})", True, put=copy_into),
    "clip": _by_text("{f}({0}, {1}, {2}, {out})", True, f=_clip),
    "matmul": _matmul,
    "sum": _reduce(np.add),
    "prod": _reduce(np.multiply),
    "max": _reduce(np.maximum),
    "min": _reduce(np.minimum),
    "reshape": _by_text("{0}.reshape({_shape})"),
    "permute_dims": _by_text("{0}.transpose({_axes})"),
    "broadcast_to": _by_text("{f}({0}, {_shape})", f=np.broadcast_to),
    "slice": _slice,
    "slice_update": _slice_update,
    "concat": _concat,
    "pad": _pad,
    "fold": _by_text("{f}({0}, **{_params})", f=NumpyNamespace.fold),
    **{op: partial(_convolution, op) for op in ("convolve", "convolve_packed", "convolve_data", "convolve_weight")},
    "take": _take,
    **{op: partial(_windows, op) for op in window_reductions.KINDS},
}

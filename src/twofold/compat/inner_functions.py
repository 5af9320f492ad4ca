"""Private functions of MXNet's modules of arrays, symbols, blocks, iterators and scopes, which libraries call."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from .. import ndarray as nd
from ..device import Device, current_device
from ..engine import _Bulk as _BulkScope  # noqa: F401
from ..errors import InvalidValue, WrongArgument
from ..imperative.array import Array
from ..imperative.scope import Scope as _RecordingStateScope  # noqa: F401
from ..ndarray import NDArray
from ..symbol.naming import AttrScope
from ..symbol.symbol import Symbol

__all__: list[str] = []

T = TypeVar("T")
#: Arrays in nested lists.
Nested = object
#: The types of arrays of indices, by storage type.
_STORAGE_AUX_TYPES = {"row_sparse": [np.int64], "csr": [np.int64, np.int64]}


# blocks


def _check_same_symbol_type(symbols: Sequence[Symbol]) -> type[Symbol]:
    """The class of symbols that are all of MXNet's dialect of NumPy, or all not."""
    if len({symbol._is_numpy for symbol in symbols}) > 1:
        what = "Found both classic symbol (mx.sym.Symbol) and numpy symbol (mx.sym.np._Symbol) in outputs"
        raise WrongArgument(what, None, "convert them by as_nd_ndarray() or as_np_ndarray()")
    return type(symbols[0])


def _check_all_np_ndarrays(out: Nested) -> None:
    """Check that the arrays in nested lists are of ``mx.np``."""
    if isinstance(out, (list, tuple)):
        for part in out:
            _check_all_np_ndarrays(part)
    elif (isinstance(out, Array) and out._legacy) or (isinstance(out, Symbol) and not out._is_numpy):
        what = "Block's output ndarrays/symbols must be of type `mxnet.numpy.ndarray` or `mxnet.symbol.numpy._Symbol`"
        raise WrongArgument(f"{what}, while got output type {type(out)}", None, "convert them by as_np_ndarray()")


# iterators


def _has_instance(data: Sequence[tuple[str, object]], dtype: type) -> bool:
    """Whether an array of a class is among named ones."""
    return any(isinstance(array, dtype) for _, array in data)


def _slice_along_batch_axis(data: NDArray, s: slice, batch_axis: int) -> NDArray:
    """The rows of a slice along an axis; the array itself if these are all."""
    if data.shape[batch_axis] == s.stop - s.start:
        return data
    return data.slice_axis(axis=batch_axis, begin=s.start, end=s.stop)


# arrays


def _ufunc_helper(
    lhs: object,
    rhs: object,
    fn_array: Callable[..., T],
    fn_scalar: Callable[..., T],
    lfn_scalar: Callable[..., T],
    rfn_scalar: Callable[..., T] | None = None,
) -> T:
    """A function of two operands, by what they are.

    Parameters
    ----------
    lhs, rhs
        Arrays or numbers.
    fn_array, fn_scalar, lfn_scalar, rfn_scalar
        The function of two arrays, of two numbers, of an array and a number, and of an array and the number on its left: if it is None,
        operands may be exchanged.
    """
    # bool is an int
    numbers = (int, float, np.generic)
    if isinstance(lhs, numbers):
        if isinstance(rhs, numbers):
            return fn_scalar(lhs, rhs)
        if isinstance(rhs, Array):
            return (lfn_scalar if rfn_scalar is None else rfn_scalar)(rhs, float(lhs))
    elif isinstance(rhs, numbers):
        return lfn_scalar(lhs, float(rhs))
    elif isinstance(rhs, Array):
        return fn_array(lhs, rhs)
    raise WrongArgument(f"type {type(rhs)} not supported", None, "pass arrays or numbers")


def _get_rescale_grad(rescale_grad: float | NDArray, ctx: Device | None = None) -> NDArray:
    """The factor of gradients as an array."""
    return rescale_grad if isinstance(rescale_grad, NDArray) else nd.full((1,), rescale_grad, ctx=ctx or current_device())


def _check_shape(s1: Sequence[int] | None, s2: Sequence[int] | None) -> None:
    """Check that two shapes are equal if both are known."""
    if s1 and s2 and s1 != s2:
        raise InvalidValue(f"Shape mismatch detected. {s1} v.s. {s2}", None, "pass equal shapes")


def _prepare_src_array(source_array: "np.typing.ArrayLike", dtype: "np.typing.DTypeLike") -> NDArray | np.ndarray:
    """Values as an array, of a dtype if they are none yet."""
    return source_array if isinstance(source_array, (NDArray, np.ndarray)) else np.array(source_array, dtype=dtype)


def _prepare_default_dtype(src_array: object, dtype: object) -> object:
    """The dtype, or if it is None that of the values: float32 for lists."""
    if dtype is not None:
        return dtype
    return src_array.dtype if isinstance(src_array, (NDArray, np.ndarray)) else np.float32


def _as_classic(a: Nested, allow_np: bool) -> Nested:
    """Arrays of ``mx.np``, which must be allowed, as those of ``mx.nd``; lists keep their form."""
    parts = a if isinstance(a, (list, tuple)) else [a]
    if not any(isinstance(x, Array) and not x._legacy for x in parts):
        return a
    if not allow_np:
        raise InvalidValue("Converting np.ndarray to mx.nd.NDArray is not allowed", None, "set allow_np_array in the optimizer")
    # what is no array, such as None, is dropped, as in MXNet
    found = [x.as_nd_ndarray() for x in parts if isinstance(x, Array)]
    return found if isinstance(a, (list, tuple)) else found[0]


# symbols


def _get_graph_inputs(subg: Symbol) -> list[Symbol]:
    """The variables of a graph."""
    inner = subg.get_internals()
    return [inner[name] if name in inner.list_outputs() else inner[f"{name}_output"] for name in subg.list_inputs()]


def _get_sym_uniq_name(sym: Symbol) -> str:
    """The name of an output's node, and the output's number."""
    (head,) = sym.heads
    return f"{head.node.name}-{head.place}"


def _get_unique_subgraph_name(subgraph_name: str) -> str:
    """A name followed by the number of graphs that have got it."""
    AttrScope._subgraph_names[subgraph_name] += 1
    return f"{subgraph_name}{AttrScope._subgraph_names[subgraph_name] - 1}"


def _check_data(inputs: Nested, in_type: type, msg: str) -> None:
    """Check that an input, or each of a list, is of a class."""
    for part in inputs if isinstance(inputs, list) else [inputs]:
        assert isinstance(part, in_type), msg


# pictures


def _str2tuple(string: str) -> list[str]:
    """The numbers in a text, as text without signs."""
    return re.findall(r"\d+", string)

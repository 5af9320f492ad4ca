"""``contrib.intgemm_*``: products of 8-bit integers under the names that some builds of MXNet have, of arrays and of symbols.

The layout of prepared weights is MXNet's secret, which depends on the processor; here it is that of the weight itself.
"""

from typing import TypeVar

import numpy as np

from ..errors import ParameterError
from ..gluon.signatures import Functions, functions_for
from ..ndarray.array import NDArray
from ..symbol.inference import declared_dtypes
from ..symbol.symbol import Symbol

Operand = TypeVar("Operand", NDArray, Symbol)


def intgemm_maxabsolute(data: Operand) -> Operand:
    """The largest absolute value, (1,)."""
    F = functions_for(data)
    return F.max(F.abs(data))


def intgemm_prepare_data(data: Operand, maxabs: Operand | float) -> Operand:
    """An array as int8 numbers: ``round(data · 127 / maxabs)``, at most 127 in absolute value.

    Parameters
    ----------
    data
        The array, float32.
    maxabs
        The value that becomes 127, (1,) or a number.
    """
    F = functions_for(data)
    flat = F.reshape(data, shape=(-1,))
    scaled = flat * (127.0 / maxabs) if isinstance(maxabs, (int, float)) else F.broadcast_div(flat * 127.0, F.reshape(maxabs, shape=(1,)))
    return F.cast(F.reshape_like(F.clip(F.rint(scaled), -127, 127), data), dtype="int8")


def intgemm_prepare_weight(weight: Operand, maxabs: Operand | float | None = None, already_quantized: bool = False) -> Operand:
    """A weight (n, c) for `intgemm_fully_connected`: int8 numbers as they are, others as by `intgemm_prepare_data`.

    Raises
    ------
    ParameterError
        If the weight is not quantized yet and ``maxabs`` is missing.
    """
    if already_quantized:
        return weight
    if maxabs is None:
        raise ParameterError("intgemm_prepare_weight: maxabs is missing", None, "pass intgemm_maxabsolute(weight), or int8 numbers")
    return intgemm_prepare_data(weight, maxabs)


def intgemm_take_weight(weight: Operand, indices: Operand) -> Operand:
    """Rows of a prepared weight."""
    return functions_for(weight).take(weight, indices)


def intgemm_fully_connected(
    data: Operand,
    weight: Operand,
    scaling: Operand | None = None,
    bias: Operand | None = None,
    num_hidden: int = 0,
    no_bias: bool = False,
    flatten: bool = True,
    out_type: str = "float32",
    name: str | None = None,
) -> Operand:
    """``data · weightᵀ · scaling + bias`` with sums of products of 8-bit integers in 32 bits.

    Parameters
    ----------
    data
        (…, c): int8 numbers, or float32 numbers, which are quantized by their largest absolute value.
    weight
        (n, c), from `intgemm_prepare_weight`.
    scaling
        The factor of the sums, (1,), if the output is float32. For data in float32 it is that of the weight alone.
    bias
        (n,), unless ``no_bias`` is set.
    num_hidden
        n.
    flatten
        Whether all axes of the data but the first are one.
    out_type
        ``"float32"``, or ``"int32"`` for the sums themselves.
    name
        The name of the node, for symbols.

    Returns
    -------
    NDArray or Symbol
        (…, n).
    """
    F = functions_for(data)
    largest = None if _dtype_of(data) == np.int8 else intgemm_maxabsolute(data)
    whole = data if largest is None else intgemm_prepare_data(data, largest)
    sums = _sums(F, whole, weight, num_hidden, flatten)
    if out_type == "int32":
        return sums
    factor = scaling if largest is None else F.broadcast_mul(F.reshape(scaling, shape=(1,)), largest / 127.0)
    out = F.reshape_like(F.broadcast_mul(F.reshape(F.cast(sums, dtype="float32"), shape=(-1,)), F.reshape(factor, shape=(1,))), sums)
    if bias is None or no_bias:
        return out
    # axes of 1 before the last one, whatever the number of axes of the output is
    added = F.broadcast_add(F.reshape(out, shape=(-1, num_hidden)), F.reshape(bias, shape=(1, -1)))
    return F.reshape_like(added, out) if name is None else F.reshape_like(added, out, name=name)


def _dtype_of(data: NDArray | Symbol) -> type | None:
    """The dtype; of a symbol what its graph says, or None."""
    return data.dtype if isinstance(data, NDArray) else declared_dtypes(data)[1][0]


def _sums(F: Functions, data: Operand, weight: Operand, num_hidden: int, flatten: bool) -> Operand:
    """The products' sums, int32 (…, num_hidden)."""
    low, high = F.full((1,), -127), F.full((1,), 127)
    ranges = {"min_data": low, "max_data": high, "min_weight": low, "max_weight": high}
    return F.contrib.quantized_fully_connected(data, weight, **ranges, num_hidden=num_hidden, no_bias=True, flatten=flatten)[0]


def __dir__() -> list[str]:
    # only these: what is imported here is no name of MXNet's
    return [name for name in globals() if name.startswith("intgemm_")]

"""The two calling conventions, in one place: LEGACY (``nd``, ``sym``) and NUMPY (``np``, ``npx``).

Operators are written once, with NumPy's semantics. A `BoundOp` made with ``legacy=True`` finishes its rule's result as MXNet's
``nd`` does: results have at least one axis, element-wise results come in the operand's dtype (comparisons give 0 and 1 there),
indices come as float32. Its front ends check equal dtypes and keep scalars in the array's dtype before the call.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..dtype import FLOATS, INTEGERS, NUMPY, WEAK, is_float, promote
from ..errors import DTypeError, ParameterError, ShapeError
from .spec import BoundOp, Op
from .vocabulary import Derived


def finish_legacy(xp: Derived, bound_op: BoundOp, out: Any, inputs: Sequence[Any]) -> Any:
    """The result of an operator's rule under the LEGACY convention."""
    if isinstance(out, tuple):
        return tuple(_finish(xp, bound_op, o, inputs) for o in out)
    return _finish(xp, bound_op, out, inputs)


def _finish(xp: Derived, bound_op: BoundOp, out: Any, inputs: Sequence[Any]) -> Any:
    op, dtype = bound_op.op, xp.dtype_of(out)
    if op.elementwise and op.result != "dtype":
        operands = [xp.dtype_of(i) for i in inputs if i is not None]
        # the first operand of `where` and its kind is a condition
        operands = operands[1:] if op.result == "tail" else operands
        strong = [d for d in operands if d not in WEAK]
        wanted = working_dtype(bound_op, strong[0]) if strong else dtype
        if wanted == "bool" and len(strong) < len(operands):
            wanted = "int64"  # MXNet's result of a bool array and a number
        elif wanted == "bool" and dtype in FLOATS:
            wanted = "float32"  # exponentials and quotients of bools are no bools
        out = xp.cast(out, wanted)
    elif dtype == "int64" and op.result == "index":
        out = xp.astype(out, dtype="float32")
    if out.shape:
        return out
    # only MXNet's NumPy arrays can be 0-d, and results computed from one may be 0-d too; without operands a parameter says so
    given = [i for i, declared in zip(inputs, op.inputs, strict=False) if not declared.injected] if op.random else inputs
    arrays = [i for i in given if i is not None and not isinstance(i, (int, float)) and xp.dtype_of(i) not in WEAK]
    return xp.reshape(out, shape=(1,)) if arrays and all(i.shape for i in arrays) else out


def working_dtype(bound_op: BoundOp, dtype: str) -> str:
    """The dtype of an element-wise operator's scalars and result: its operands', but float64 for integers and ``is_int=False``."""
    return promote(dtype, "weakf") if bound_op.params.get("is_int") is False else dtype


def check_legacy(op: Op, dtypes: Sequence[str]) -> None:
    """Raise unless array operands have the dtypes that an operator takes.

    Raises
    ------
    DTypeError
        If those of an element-wise operator, or of one that declares ``alike``, differ; or if the first operand of one that
        declares ``real`` is not floating-point.
    """
    same = [d for d in (dtypes[1:] if op.result == "tail" else dtypes) if d not in WEAK]
    if (op.elementwise or op.front.alike) and len(set(same)) > 1:
        wanted = next(filter(is_float, same), "")
        todo = f'cast integers with astype("{wanted}")' if wanted and any(d in INTEGERS for d in same) else "cast one of them with astype"
        raise DTypeError(f"{op.spoken}: operands must have the same dtype", ", ".join(same), todo)
    if op.front.real and dtypes and not is_float(dtypes[0]):
        raise DTypeError(f"{op.spoken}: only floating-point numbers are supported", dtypes[0], 'cast them with astype("float32")')


def check_kept_shape(op: Op, kept: Sequence[str], shapes: Sequence[tuple[int, ...] | None]) -> None:
    """Raise unless the arrays that have the result's shape by declaration, such as a weight, its gradient and its states, have one shape.

    Raises
    ------
    ShapeError
        If they do not: arithmetic would broadcast them.
    """
    found = {a.name: shape for a, shape in zip(op.arrays, shapes, strict=False) if a.name in kept}
    if len({shape for shape in found.values() if shape is not None}) > 1:
        given = ", ".join(f"{name} {shape}" for name, shape in found.items())
        raise ShapeError(f"{op.spoken}: the arrays must have one shape", given, f"pass arrays of the shape of {next(iter(found))}")


def check_floats(op: Op, dtypes: Sequence[str | None]) -> None:
    """Raise if an operand has a dtype that an operator with ``floats`` does not compute in.

    Raises
    ------
    DTypeError
        If its dtype is a float that is not among those declared, or the operator is a primitive and the operand holds integers.
    """
    if op.floats is FLOATS:
        return
    for k, dtype in enumerate(dtypes):
        if dtype is None or dtype in op.floats or dtype in WEAK:
            continue
        # a composite may convert integers itself; a primitive's library would return floats where `.type` says integers
        given = op.inputs[min(k, len(op.inputs) - 1)]
        if dtype in FLOATS or (op.primitive and not given.own_dtype and not given.injected):
            raise DTypeError(f"{op.spoken}: it computes in {' and '.join(op.floats)} only", dtype, f'cast with astype("{op.floats[0]}")')


def legacy_scalar(value: float | int | bool, dtype: str, limit: bool = False) -> float | int:
    """A Python scalar as MXNet combines it with an array: converted to the array's dtype, integers wrapping as in C.

    A ``limit`` on elements does not wrap: beyond the dtype's range it has no effect.

    Raises
    ------
    ParameterError
        If it is infinite or NaN and the dtype is an integer type.
    """
    if is_float(dtype) or dtype not in INTEGERS:
        return float(value) if dtype in FLOATS else value
    count = 1 << NUMPY[dtype].itemsize * 8
    least = -(count >> 1) if dtype.startswith("int") else 0
    if limit:
        value = min(max(value, least), least + count - 1)
    if not math.isfinite(value):
        raise ParameterError(f"a number is not a valid {dtype}", value, "cast the array to floats with astype")
    return (int(value) - least) % count + least


def operator_scalar(bound_op: BoundOp, value: float | int | bool, dtype: str) -> float | int:
    """A Python scalar as an element-wise operator takes it next to arrays of a dtype."""
    # beside bools MXNet computes in integers; bools remain what they are here
    working = "int64" if dtype == "bool" and value.__class__ is not bool else working_dtype(bound_op, dtype)
    return legacy_scalar(value, working, bound_op.op.front.limits)

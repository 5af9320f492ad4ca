"""Python's operators on ``ndarray``, and the short functions that they share with the functions of the same name.

Small arrays in host memory call NumPy in a single frame (`calls.arithmetic`), with its warnings and errors. Everything else goes through
`general`: operands of other classes, numbers out of the dtype's range, recording, large arrays, other devices.
"""

import operator
from collections.abc import Callable, Sequence
from functools import cache
from operator import index
from typing import Any

import numpy as np

from ..assembly import attach_method, inlined
from ..calls import arithmetic
from ..calls.fragments import SIGNED, SQUARED
from ..calls.specialise import method_of, of_elements, specialise
from ..device import CPU
from ..dtype import INTEGERS, NAME_OF, NUMPY, WEAK, holds, in_words, keeps, promote, scalar_dtype, ufunc_result
from ..errors import DTypeError, ParameterError, ShapeError, UnsupportedDType
from ..imperative.array import Array
from ..imperative.cell import HOST, PLAIN, Cell, Content, Value, content_of, wrap
from ..imperative.concurrent_writes import replace, writes_in_place
from ..imperative.counters import COUNTERS
from ..imperative.element import NATIVE
from ..imperative.guards import is_owned, is_small
from ..imperative.invoke import invoke, type_of
from ..imperative.tape import tls
from ..imperative.trace import Trace
from ..imperative.views import is_changeable, ready_memory
from ..imperative.write import look, update_in_place, write
from ..ndarray.operators import ARITHMETIC, COMPARISON, UNARY
from ..ndarray.types import ArrayLike, Casting
from ..opdef import Op
from ..ops import primitive_arithmetic, primitive_math
from .array import element_of, ndarray, ndarrayElement
from .creation import array, operand
from .fallback import by_numpy
from .other_operands import NUMBERS, is_array_like, object_in_place, with_object
from .quotients import divide, divide_by
from .view_operands import below_permuted, of_views
from .view_products import by_vector, product_of, unexchanged, untransposed

#: What an integer repeats.
SEQUENCES = (list, tuple, str, bytes, bytearray)
#: Elements up to which `_make_plain` copies.
SMALL = 4096
CLASSES = (ndarray, ndarrayElement)


def element_operand(value: Any, like: ndarray | None) -> Any:
    """An operand of an element-wise operation: an array, or a Python number that adopts the arrays' dtype.

    Parameters
    ----------
    value
        Anything array-like.
    like
        An array among the operands, whose device new ones are placed on; None if there is none.

    Raises
    ------
    DTypeError
        If it is an array of ``mx.nd``, or not an array of numbers.
    """
    if isinstance(value, ndarray) or (like is not None and value.__class__ in NUMBERS):
        return value
    if isinstance(value, Array):
        raise DTypeError(
            "arrays of mx.nd and mx.np cannot be combined",
            f"an array of mx.nd of shape {value.shape}",
            "use as_np_ndarray() or as_nd_ndarray()",
        )
    if like is not None and _is_python_number(value) and not isinstance(value, complex):
        return float(value) if isinstance(value, float) else int(value)  # of a subclass, such as an enumeration
    if value.__class__ in NATIVE and like is not None and like.context is CPU and not isinstance(value, complex):
        return element_of(value)
    # Python's complex numbers adopt the arrays' precision, as NumPy's scalars do not; operators know no weak complex numbers
    if isinstance(value, complex) and _is_python_number(value) and like is not None and like._dtype in ("float16", "float32", "complex64"):
        value = np.complex64(value)
    return operand(value, None if like is None else like.context)


def _is_python_number(value: object) -> bool:
    """Whether a value is a number without a dtype; some of NumPy's scalars are of classes derived from Python's."""
    return isinstance(value, (*NUMBERS, complex)) and not isinstance(value, np.generic)


def element_operands(op: Op, values: tuple[Any, ...]) -> list[Any]:
    """Operands of a primitive. As in NumPy, an integer out of range of the arrays' dtype may become an array of a wider dtype.

    Raises
    ------
    OverflowError
        If a Python integer is out of range of the dtype used for the operation.
    """
    # arrays alone, the usual case, need nothing
    for v in values:
        if v.__class__ is not ndarray:
            break
    else:
        return list(values)
    out, like = typed_operands(values)
    for k, v in enumerate(out):
        if v.__class__ is int and not keeps(common := promote(*[a._dtype for a in out if isinstance(a, ndarray)], "weaki"), v):
            # programs have integers of at most 64 bits
            out[k] = operand(_beyond(op, out, k), None if like is None else like.context) if common in INTEGERS else float(v)
    return out


def typed_operands(values: Sequence[Any]) -> tuple[list[Any], ndarray | None]:
    """Operands as `element_operand` gives them, and the first array. Python's numbers adopt the dtype of NumPy's arrays and scalars."""
    like = next((v for v in values if isinstance(v, ndarray)), None)
    if like is None:
        values = [v if _is_python_number(v) else element_operand(v, None) for v in values]
        like = next((v for v in values if isinstance(v, ndarray)), None)
    return [element_operand(v, like) for v in values], like


def _beyond(op: Op, values: list[Any], place: int) -> np.ndarray:
    """An array for a Python integer that the dtype of the other operands cannot hold: of bool or floats, or infinite for comparisons."""
    value, names = values[place], [name_of_operand(v) for v in values]
    if op.algebra.compares and "bool" not in names:
        # NumPy compares exactly: every element is on the same side of such an integer, which an infinity may therefore replace
        return np.asarray(np.inf if value > 0 else -np.inf)
    dtype = promote(*names) if op.ufunc is None else loop_dtypes(op.ufunc, *names)[place]
    if dtype in INTEGERS or (dtype == "bool" and not holds("int64", value)):
        raise OverflowError(f"Python integer {value} out of bounds for {'int64' if dtype == 'bool' else dtype}")
    return np.asarray(value, NUMPY[dtype])


def name_of_operand(value: ndarray | bool | int | float) -> str:
    """The dtype of an array or Python scalar."""
    return value._dtype if isinstance(value, ndarray) else scalar_dtype(value)


@cache
def loop_dtypes(ufunc: str, *names: str, dtype: str | None = None, casting: Casting = "same_kind") -> tuple[str, ...]:
    """The dtypes to which NumPy's ufunc of that name casts operands of the given dtypes, which may be weak.

    Parameters
    ----------
    ufunc, names
        The ufunc, and the dtypes of its operands.
    dtype
        The dtype of the results; None: chosen by the operands'.
    casting
        Which casts are allowed.

    Raises
    ------
    DTypeError
        If it has no loop for them.
    """
    if "bfloat16" in (*names, dtype):  # `resolve_dtypes` knows only NumPy's own dtypes
        return (dtype or promote(*names),) * len(names)
    function = getattr(np, ufunc)
    try:
        # `resolve_dtypes` takes Python's classes for weak scalars, and None for the dtypes that it is to find
        given = (*[WEAK.get(n) or NUMPY[n] for n in names], *(None,) * function.nout)
        options: dict[str, Any] = {"casting": casting}
        if dtype is not None:
            options["signature"] = (*(None,) * function.nin, *(NUMPY[dtype],) * function.nout)
        found = function.resolve_dtypes(given, **options)
        return tuple(NAME_OF[d] for d in found[: function.nin])
    except (TypeError, KeyError):
        asked = ("" if dtype is None else f" to {dtype}") + (
            "" if dtype is None and casting == "same_kind" else f" with casting={casting!r}"
        )
        raise DTypeError(f"{ufunc}: not defined for these dtypes", f"{in_words(names)}{asked}", "cast the operands with astype") from None


def evaluated(op: Op, operands: Sequence[ndarray | bool | int | float]) -> list[Any]:
    """The contents of an element-wise operator's results.

    Raises
    ------
    ParameterError
        For a negative power of integers.
    """
    if op.python == "pow" and promote(*map(name_of_operand, operands)) in INTEGERS and _has_negative(operands[1]):
        raise ParameterError("Integers to negative integer powers are not allowed", None, "cast the base with astype")
    if op.simple:
        for v in operands:
            if isinstance(v, ndarray) and v._held is None and (found := of_views(op, operands)) is not None:
                return [found]
    return invoke(op.bind(), operands)


def _has_negative(exponent: Any) -> bool:
    """Whether an integer is negative or an array of integers has a negative element; of one that is traced that is not known.

    The array is computed for that: an error of the power belongs to the line that has it, not to one that reads the result.
    """
    if exponent.__class__ is int:
        return exponent < 0
    return isinstance(exponent, ndarray) and exponent._dtype in SIGNED and tls.tape.__class__ is not Trace and bool((exponent < 0).any())


def applied(op: Op, *values: ArrayLike) -> ndarray:
    """Apply a primitive to anything array-like."""
    return wrap(ndarray, evaluated(op, element_operands(op, values))[0])


def _general(op: Op, reverse: bool = False, squares: bool = False, numpys: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function that the short functions of a primitive call if NumPy cannot take the operands directly.

    Of large transposed arrays it gives the transpose of the operation on the arrays, which is a view.

    With ``numpys``, Python's operator, NumPy computes with operands that are no arrays of numbers: dates, objects, matrices, arrays with
    masks. Without it the function returns NotImplemented for these.
    """

    def general(*values: Any) -> Any:
        ordered = values[::-1] if reverse else values
        if op.elementwise:
            for value in values:
                if value.__class__ is ndarray and value._held is None:
                    if (below := below_permuted(ordered)) is not None:
                        arrays, axes = below
                        return (short(op) if numpys is None else numpys)(*arrays).transpose(axes)
                    if op.simple and (found := of_views(op, ordered)) is not None:
                        return wrap(ndarray, found)
                    break
        if not all(map(is_array_like, values)):
            return NotImplemented if numpys is None else with_object(numpys, values, reverse)
        # small results of programs become plain, so that the next operation on them takes the short path
        for value in values:
            if value.__class__ is ndarray and value._held.__class__ is Value:
                _make_plain(value)
        if squares and values[1].__class__ is int and values[1] == 2 and values[0]._dtype in SQUARED:
            return applied(primitive_math.square, values[0])
        try:
            return applied(op, *ordered)
        except UnsupportedDType:
            return NotImplemented if numpys is None else by_numpy(numpys, ordered, {})

    return general


def _short(
    op: Op, general: Callable[..., Any], reverse: bool = False, view_product: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    return specialise(
        op,
        ndarray,
        (ndarray,),
        legacy=False,
        arity=len(op.inputs),
        reverse=reverse,
        general=general,
        element=ndarrayElement,
        view_product=view_product,
        roots=ROOTS if op.python == "pow" and not reverse else None,
    )


@cache
def short(op: Op) -> Callable[..., Any]:
    """The fast function of an element-wise primitive (or ``matmul``) with one or two operands; the first is an `ndarray`.

    It returns NotImplemented if the second is not array-like, so that Python tries its class.
    """
    # a product with a transposed matrix is the views' own
    return getattr(operator, f"__{op.python}__") if op.ufunc is None else _short(op, _general(op))


#: What NumPy's powers of real floats take for some exponents: the root of -inf is NaN, not infinity, and takes half the time.
ROOTS: dict[float, Callable[..., Any]] = {0.5: short(primitive_math.sqrt), -1: lambda x: 1.0 / x}


def _comparison(dunder: str, op: Op) -> Callable[..., Any]:
    """The general path of a comparison. Nothing equals a value that is not array-like, such as None."""
    compare = getattr(operator, dunder)
    run = _general(op, numpys=compare)

    def general(self: ndarray, other: Any) -> Any:
        if is_array_like(other) and (not isinstance(other, (np.ndarray, np.generic)) or other.dtype in NAME_OF):
            return run(self, other)
        # text, objects, None: NumPy decides, element by element where that makes sense
        found = compare(self.asnumpy(), other)
        return array(found, device=self.context) if isinstance(found, (np.ndarray, np.generic)) else found

    return general


def _plain(v: Content) -> Content:
    """A plain copy of a content; the content itself if another thread has bound it meanwhile and it is none to be copied."""
    return np.array(v.data) if v.__class__ is Value and v.entry is None and v.data.__class__ is PLAIN and v.data.size < SMALL else v


@inlined
def _make_plain(cell: Cell) -> None:
    """Replace an array's content, a small result of a program, by a plain content, so that operations on the array take short paths again.

    The plain content is a copy, because another thread may be capturing the Value.
    """
    v = cell._held
    if v.__class__ is not Value or v.data.__class__ is not PLAIN or v.data.size >= SMALL or not is_small(v.data):
        return
    if v.device is CPU and is_owned(v) and getattr(cell, "_gradient", None) is None:
        replace(cell, _plain)


@inlined
def owned_memory(x: Any) -> np.ndarray | None:
    """NumPy's array of the memory of an array that may be written now: no tape has an entry for it; None if it may not."""
    root = x._base if x._held is None else x
    v = content_of(root)
    if v.__class__ is not Value:
        return v if x._held is not None else x._seen if x._of is v else look(HOST, v, x._chain)
    if not is_owned(v) or v.device is not CPU or v.data.__class__ is not PLAIN or (x._held is None and x._gradient is not None):
        return None
    COUNTERS.in_place += 1
    return v.data if x._held is not None else x._seen if x._of is v else look(HOST, v.data, x._chain)


def _power_in_place(x: np.ndarray, exponent: object, out: np.ndarray) -> np.ndarray:
    """``x **= exponent``; ``out`` is ``x``. Unlike `power`, NumPy's operator takes squares, roots and reciprocals for some exponents."""
    return operator.ipow(x, exponent)


def in_place(op: Op, numpys: Callable[..., object]) -> Callable[..., Any]:
    """The method of an in-place operator; ``numpys`` is Python's operator, by which NumPy computes with other operands than arrays."""
    fn = None if op.ufunc is None else _power_in_place if op.python == "pow" else getattr(HOST.xp, op.name)

    def general(self: Any, other: Any) -> Any:
        # NumPy has an immutable scalar here: on NotImplemented Python evaluates ``self = self + other``
        if not self.shape and not is_changeable(self) and getattr(self, "_gradient", None) is None:
            return NotImplemented
        if not is_array_like(other):
            return object_in_place(numpys, self, other)
        if isinstance(other, np.matrix):  # in place, NumPy takes it for any array
            other = other.A
        _update(op, fn, self, element_operands(op, (self, other))[1])
        return self

    names = {"fn": fn, "general": general, "owned": owned_memory, "memory": ready_memory}
    return general if fn is None else writes_in_place(method_of(arithmetic.in_place, op, CLASSES, names))


def _update(op: Op, fn: Any, target: ndarray, other: Any) -> None:
    """``target = op(target, other)`` in the target's memory, cast to its dtype within its kind.

    Raises
    ------
    DTypeError
        If the result's dtype is of a higher kind (float for integers, say).
    ShapeError
        If the shape of the result differs.
    """
    dtype = target._dtype
    given = name_of_operand(other)
    result = ufunc_result(op.ufunc, dtype, given) if op.ufunc is not None else promote(dtype, given)
    if not np.can_cast(NUMPY[result], NUMPY[dtype], "same_kind"):
        what = f"Cannot cast ufunc '{op.name}' output from {NUMPY[result]} to {NUMPY[dtype]} with casting rule 'same_kind'"
        raise DTypeError(what, None, "write the result to a new array")
    root, chain = (target, ()) if target._held is not None else (target._base, target._chain)
    # a ufunc writes in place only if neither operand nor result needs a cast
    alike = result == dtype and (given == dtype or given in WEAK)
    if fn is not None and alike and update_in_place(root, chain, fn, other):
        return
    new = evaluated(op, (target, other))[0]
    shape = type_of(new)[0]
    if shape != target.shape:
        raise ShapeError(f"in-place {op.name}: the result has a different shape", f"{shape} into {target.shape}", "write it to a new array")
    if result != dtype:
        new = invoke(primitive_arithmetic.astype.bind(dtype=dtype), (wrap(ndarray, new),))[0]
    # a view writes its part into its root; an array that owns its memory takes the new content directly
    if chain:
        write(root, chain, None, wrap(ndarray, new))
    else:
        target._rebind(new)


def _attach_products(op: Op) -> None:
    """Attach the matrix product, which multiplies views that are transposed matrices without a copy.

    One by a vector is multiplied from its other side, and of others BLAS takes the transposed form. The choice depends only on the
    expression and on sizes, so every mode has the same bits.
    """
    plain = getattr(ndarray, f"__{op.python}__")
    multiply = getattr(HOST.xp, op.name)

    def product(self: ndarray, other: Any) -> Any:
        if isinstance(other, ndarray):
            sizes, others = self.shape, other.shape
            if len(sizes) == 2 and sizes[1:] == others and (matrix := untransposed(self)) is not None:
                # Aᵀ · v = v · A
                return other @ matrix
            if len(sizes) == 1 and sizes == others[:1] and len(others) == 2 and (matrix := untransposed(other)) is not None:
                # v · Aᵀ = A · v
                return matrix @ self
            if len(sizes) + len(others) == 3 and sizes[-1] == others[0] and (found := by_vector(multiply, self, other)) is not None:
                return found
            if min(len(sizes), len(others)) > 1 and sizes[-1] == others[-2] and sizes[:-2] == others[:-2] and self._dtype == other._dtype:
                # the operator takes transposed matrices of one batch and dtype directly; `matmul` copies others
                (a, first), (b, second) = unexchanged(self), unexchanged(other)
                if first or second:
                    return wrap(ndarray, invoke(product_of(first, second), (a, b))[0])
        return plain(self, other)

    attach_method(ndarray, f"__{op.python}__", _short(op, _general(op, numpys=operator.matmul), view_product=product))


def attach() -> None:
    """Attach the operators to `ndarray` and, for single elements, to `ndarrayElement`."""
    for dunder, op in ARITHMETIC.items():
        numpys = getattr(operator, f"__{dunder}__")
        for reverse in (False, True):
            general = _general(op, reverse, dunder == "pow" and not reverse, numpys)
            _attach_both(f"__{'r' * reverse}{dunder}__", op, general, reverse)
        attach_method(ndarray, f"__i{dunder}__", in_place(op, getattr(operator, f"__i{dunder}__")))
        general = _repeating(_general(op)) if dunder == "mul" else _general(op)
        attach_method(ndarrayElement, f"__i{dunder}__", of_elements(op, *CLASSES, general))  # as immutable as NumPy's scalars
        if op.ufunc is None:
            _attach_products(op)
    for dunder, op in COMPARISON.items():
        _attach_both(f"__{dunder}__", op, _comparison(dunder, op))
    for dunder, op in UNARY.items():
        _attach_both(f"__{dunder}__", op, _general(op))
    attach_method(ndarray, "__divmod__", divide)
    attach_method(ndarray, "__rdivmod__", divide_by)
    attach_method(ndarray, "__pos__", lambda self: self.copy())


def _attach_both(name: str, op: Op, general: Callable[..., object], reverse: bool = False) -> None:
    attach_method(ndarray, name, _short(op, general, reverse))
    of_element = _repeating(general) if op.python == "mul" else general
    attach_method(ndarrayElement, name, of_elements(op, *CLASSES, of_element, reverse))


def _repeating(general: Callable[..., Any]) -> Callable[..., Any]:
    """The product with a single element: NumPy's scalars repeat lists and other sequences of Python, where arrays multiply their items."""

    def product(element: Any, other: Any) -> Any:
        return other * index(element) if isinstance(other, SEQUENCES) else general(element, other)

    return product


attach()

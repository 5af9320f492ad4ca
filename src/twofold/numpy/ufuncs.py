"""``ufunc``: NumPy's element-wise functions with their arguments and methods, created for each of NumPy's ufuncs on first use.

A ufunc that has an operator runs as that operator: recorded, fused, on any device. NumPy computes the others on the host.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..calls.host_calls import is_recorded, refuse_cut, to_numpy
from ..calls.short import REFUSED
from ..dtype import NAME_OF, NUMPY, dtype_name, numpy_dtype
from ..errors import DTypeError, ParameterError, UnsupportedDType
from ..imperative.array import adopted
from ..imperative.cell import PLAIN, Value, is_view, wrap
from ..imperative.concurrent_writes import written_in_place
from ..imperative.guards import is_small
from ..imperative.transfer import store
from ..imperative.views import ready_memory
from ..ndarray.types import ArrayLike, Axis, Casting, DTypeLike, Index
from ..opdef import OPS, Op, broadcast_shapes
from ..ops import primitive_arithmetic
from ..signal_handlers import unless_signalled
from .array import Out, ndarray
from .creation import broadcast_view, operands, zeros
from .fallback import by_numpy, guarded, objects_of
from .indexing import add_at, change_at, changed_inline
from .operators import NUMBERS, applied, element_operands, evaluated, loop_dtypes, name_of_operand, owned_memory, short, typed_operands
from .quotients import ready_quotients
from .short_calls import short_call, short_ufunc

#: The functions for ``reduce`` and ``accumulate`` of some ufuncs, entered by `reductions`, which imports this module.
REDUCE: dict[str, Callable[..., ndarray]] = {}
ACCUMULATE: dict[str, Callable[..., ndarray]] = {}


@cache
def _ops() -> dict[str, Op]:
    """The operators by NumPy's names."""
    return {name: op for op in OPS.values() for name in op.front.numpy_names}


class ufunc:  # NumPy's name
    """An element-wise function.

    Parameters
    ----------
    numpys
        NumPy's function of the same name.
    """

    #: For methods in machine code: NumPy's function, how many operands it has (0 if it has several results), and the ``__call__`` that
    #: such a method calls for other arguments.
    __slots__ = ("__dict__", "__weakref__", "_by_python", "_numpys", "_operands")
    #: The ``__call__`` of all ufuncs with a short one, in machine code; None before there is any.
    _machine_code: ClassVar[Any] = None

    def __init__(self, numpys: np.ufunc) -> None:
        self._numpys, self._op = numpys, _ops().get(numpys.__name__)
        self._operands = numpys.nin if numpys.nout == 1 else 0
        self.nin, self.nout, self.nargs, self.identity = numpys.nin, numpys.nout, numpys.nargs, numpys.identity
        self.types, self.ntypes, self.signature, self.resolve_dtypes = numpys.types, numpys.ntypes, numpys.signature, numpys.resolve_dtypes
        self.__name__ = self.__qualname__ = numpys.__name__
        by_numpy = f"``numpy.{numpys.__name__}``, computed on the host, without a gradient.\n\n{numpys.__doc__}"
        self.__doc__ = by_numpy if self._op is None else self._op.doc.strip()
        self._short = short(self._op) if self._op is not None and self._op.primitive else None

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return function_of, (self.__name__,)

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        """Apply the function to its operands.

        Parameters
        ----------
        *args
            As many array-likes as the function takes, followed by arrays to write the results to.
        out
            Array to write the result to, or a tuple of them.
        **options
            ``where``: where to compute (elsewhere ``out`` keeps its elements, or without it they are 0); ``dtype``: the dtype to compute
            in; ``casting``: which casts to ``dtype`` and ``out`` are allowed; ``order`` and ``subok`` have no effect.

        Raises
        ------
        DTypeError
            If an operand is not an array of numbers.
        ParameterError
            For an unknown option.
        """
        # fast path: an array first, and no options, where comparing classes is faster than `isinstance`
        if out is None and not options and len(args) == self.nin and self._short is not None:
            kind = args[0].__class__
            if kind is ndarray:
                result = self._short(*args)
                if result is not NotImplemented:
                    return result
        if len(args) > self.nin:
            out = args[self.nin :]
        return self._general(args[: self.nin], out=out, **options)

    def _general(
        self,
        inputs: tuple[object, ...],
        *,
        out: Out = None,
        where: ArrayLike = True,
        dtype: DTypeLike = None,
        casting: Casting = "same_kind",
        order: str = "K",
        subok: bool = True,
        **unknown: object,
    ) -> Any:
        if unknown or len(inputs) != self.nin or (isinstance(out, tuple) and len(out) > self.nout):
            given = f"{len(inputs)} operands, options {', '.join(unknown) or 'none'}"
            raise DTypeError(f"{self.__name__}() takes {self.nin} operands", given, "see its documentation")
        if self.nout == 1 and not (out is dtype is None and casting == "same_kind"):
            found = self._of_memory(inputs, out, where, dtype, casting)
            if found is not None:
                return found
        try:
            results = self._computed(inputs, dtype, casting)
        except UnsupportedDType:
            if is_recorded(inputs) and any(isinstance(v, np.ndarray) and v.dtype == object for v in inputs):
                return self._numpys(*map(objects_of, inputs))  # object by object, which are recorded
            # only what was given: an operand's method `__array_ufunc__` sees the options
            given = {k: v for k, v in {"out": out, "dtype": dtype}.items() if v is not None}
            return by_numpy(self._numpys, inputs, given if casting == "same_kind" else given | {"casting": casting})
        targets = out if isinstance(out, tuple) else (out,) * (out is not None)
        # of several results ``out`` may hold arrays for the first ones only
        targets += (None,) * (len(results) - len(targets))
        done = [_deliver_where(r, t, where, casting) for r, t in zip(results, targets, strict=True)]
        return done[0] if len(done) == 1 else tuple(done)

    def _of_memory(self, inputs: tuple[object, ...], out: object, where: ArrayLike, dtype: DTypeLike, casting: Casting) -> ndarray | None:
        """The result by NumPy of ready arrays and numbers, which it writes to ``out`` if given; None where the general path has the result.

        That is so for large arrays, which wait, unless all that NumPy does is to write the results of a simple function to ``out``.
        """
        target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if target is None:
            if where is not True:
                return None
        elif not isinstance(target, ndarray) or not target.shape:
            return None
        arrays: list[Any] = []
        may_be_large = target is not None and dtype is None and self._op is not None and self._op.simple
        for v in inputs:
            array = v if v.__class__ in NUMBERS else ready_memory(v) if isinstance(v, ndarray) else None
            if array is None or not (may_be_large or array is v or is_small(array)):
                return None
            arrays.append(array)
        mask: Any = where if where.__class__ is bool else ready_memory(where) if isinstance(where, ndarray) else None
        if mask is None:
            return None
        try:
            options = {"casting": casting} | ({} if dtype is None else {"dtype": numpy_dtype(dtype)})
            if target is None:
                found = self._numpys(*arrays, **options)
                return adopted(ndarray, found) if found.__class__ is PLAIN and found.flags.c_contiguous and found.dtype in NAME_OF else None
            if mask is not True:  # products of matrices take no mask
                options["where"] = mask
            return target if self._is_written(target, arrays, options) else None
        except unless_signalled((*REFUSED, UnsupportedDType)):  # the general path gives a result or raises an error that says what to do
            return None

    def _is_written(self, target: ndarray, arrays: list[Any], options: dict[str, Any]) -> bool:
        """Whether NumPy has written its result to an array."""
        root = target if target._held is not None else target._base
        of, memory = root._held, owned_memory(target)
        if memory is None:
            return False
        written: list[object] = []

        def write() -> None:
            written.append(self._numpys(*arrays, out=memory, **options))

        return (written_in_place(root, of, write) if of.__class__ is Value else write() is None) and written[0] is memory

    def _computed(self, inputs: tuple[object, ...], dtype: DTypeLike, casting: Casting) -> list[ndarray]:
        op = self._op
        if self.__name__ == "divmod" and dtype is None:  # two operators, which have gradients
            return list(ready_quotients(*inputs) or [function_of(name)(*inputs) for name in ("floor_divide", "remainder")])
        if op is None or (op.result == "bool" and dtype is not None):
            got = by_numpy(self._numpys, inputs, {} if dtype is None else {"dtype": dtype, "casting": casting})
            return list(got) if isinstance(got, tuple) else [got]
        # a composite's definition may combine a scalar with a constant first, so its dtype is settled here
        is_plain = dtype is None and op.primitive and casting == "same_kind"
        values = element_operands(op, inputs) if is_plain else self._cast(inputs, dtype, casting)
        return [wrap(ndarray, c) for c in evaluated(op, values)]

    def _cast(self, inputs: tuple[object, ...], dtype: DTypeLike, casting: Casting) -> list[ndarray]:
        """The operands cast for results of a dtype, or to those that NumPy computes in."""
        values, _ = typed_operands(inputs)
        names = [name_of_operand(v) for v in values]
        loop = loop_dtypes(self.__name__, *names, dtype=None if dtype is None else dtype_name(dtype), casting=casting)
        if names == list(loop) and all(isinstance(v, ndarray) for v in values):
            return values
        values = operands(*[v if isinstance(v, ndarray) else np.asarray(v, NUMPY[d]) for v, d in zip(values, loop, strict=True)])
        return [v.astype(d, copy=False) for v, d in zip(values, loop, strict=True)]

    # methods

    def reduce(
        self, array: ArrayLike, axis: Axis = 0, dtype: DTypeLike = None, out: Out = None, keepdims: bool = False, **options: object
    ) -> ndarray:
        """The array reduced along axes by the function."""
        function = REDUCE.get(self.__name__)
        if array.__class__ is ndarray and function is not None and dtype is out is None and not keepdims and not options:
            return getattr(array, function.__name__)(axis)
        # of our functions only `sum` and `prod`, which have cumulative forms, take a dtype
        if function is None or (dtype is not None and self.__name__ not in ACCUMULATE):
            given = {"axis": axis, "dtype": self._dtype_of(dtype, out), "out": out, "keepdims": keepdims}
            return by_numpy(self._numpys.reduce, (array,), given | options)
        typed = {} if dtype is None else {"dtype": dtype}
        return guarded(function, self._numpys.reduce)(array, axis=axis, out=out, keepdims=keepdims, **typed, **options)

    def accumulate(self, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> ndarray:
        """The cumulative results of the function along an axis."""
        function = ACCUMULATE.get(self.__name__)
        if not operands(array)[0].ndim:
            raise DTypeError("cannot accumulate on a scalar", None, "give it an axis")
        if function is None:
            return by_numpy(self._numpys.accumulate, (array,), {"axis": axis, "dtype": self._dtype_of(dtype, out), "out": out})
        return function(array, axis=axis, dtype=dtype, out=out)

    def outer(self, A: ArrayLike, B: ArrayLike, **options: object) -> ndarray:
        """Apply the function to all pairs of elements of two arrays."""
        given: Any = A, B
        try:
            a, b = given if A.__class__ is ndarray is B.__class__ else operands(A, B)
        except UnsupportedDType:
            return by_numpy(self._numpys.outer, given, options)
        # the axes of the first array come before those of the second, so that broadcasting makes all pairs
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **options)

    def reduceat(self, array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Out = None) -> ndarray:
        """Reductions of the slices between indices; NumPy computes them on the host."""
        return by_numpy(self._numpys.reduceat, (array, indices), {"axis": axis, "dtype": self._dtype_of(dtype, out), "out": out})

    def _dtype_of(self, dtype: DTypeLike, out: Out) -> DTypeLike:
        """The dtype in which NumPy reduces: that of ``out`` if none is given, where the function has results of its operands' dtype."""
        if dtype is not None or out is None:
            return dtype
        letter = np.dtype(getattr(out, "dtype", None)).char
        return out.dtype if f"{letter}{letter}->{letter}" in self._numpys.types else None

    def at(self, a: ndarray, indices: Index, b: ArrayLike | None = None) -> None:
        """Apply the function in place at indices; repeated indices count repeatedly.

        ``add`` is recorded, and so are other operators on recorded arrays; NumPy computes everything else on the host.

        Raises
        ------
        ParameterError
            If ``a`` is not an array.
        """
        if isinstance(a, np.ndarray):  # of records, dates or objects, or a file in memory
            by_numpy(self._numpys.at, (a, indices) if b is None else (a, indices, b), {}, writes=0)
            return
        if not isinstance(a, ndarray):
            raise ParameterError(f"{self.__name__}.at: only arrays can be updated", type(a).__name__, "create one with np.array")
        if self.__name__ == "add" and b is not None:
            add_at(a, indices, b)
            return
        if self._op is not None and is_recorded((a, b)):
            self._at_recorded(a, indices, b)
            return
        given = to_numpy((indices,) if b is None else (indices, b))
        if not changed_inline(a, lambda target: change_at(self._numpys, target, *given), b):
            by_numpy(self._numpys.at, (a, indices) if b is None else (a, indices, b), {}, writes=0)

    def _at_recorded(self, a: ndarray, indices: Index, b: ArrayLike | None) -> None:
        """`at` as recorded assignments: the k-th one updates the k-th occurrence of every position."""
        flat = np.asarray(np.arange(a.size).reshape(a.shape)[to_numpy(indices)])
        order = flat.ravel().argsort(kind="stable")
        places = flat.ravel()[order]
        # in sorted order equal positions are adjacent: the distance from the first one counts the occurrences
        first = np.searchsorted(places, places)
        occurrence = np.empty_like(order)
        occurrence[order] = np.arange(len(order)) - first
        values = None if b is None else broadcast_view(operands(b, a)[0], flat.shape).reshape(-1)
        for k in range(int(occurrence.max(initial=-1)) + 1):
            now = np.nonzero(occurrence == k)[0]
            at = np.unravel_index(flat.ravel()[now], a.shape)
            result = self(a[at]) if values is None else self(a[at], values[now])
            if not np.can_cast(result.dtype, a.dtype, "same_kind"):
                raise DTypeError(f"{self.__name__}.at: cannot cast {result.dtype} to {a.dtype}", None, "pass an array of a different dtype")
            a[at] = result

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"


def _deliver_where(result: ndarray, out: Out, where: ArrayLike, casting: Casting) -> ndarray:
    """Write a result to ``out`` where the mask is true; without ``out`` the other elements are 0."""
    if where is not True:
        where = operands(mask_of(where), result)[0]
        shape = broadcast_shapes("where", (result.shape, where.shape))
        rest = out if out is not None else zeros(shape, result.dtype, device=result.context)
        result = chosen(where, result, rest)
    return deliver(result, out, casting, widens=True, is_new=True)


def mask_of(where: ArrayLike) -> ArrayLike:
    """The argument ``where``. As in NumPy, numbers in lists count as bools, but arrays of numbers are no masks.

    Raises
    ------
    DTypeError
        If it is an array of another dtype than bool.
    """
    if isinstance(where, (ndarray, np.ndarray, np.generic)) and where.dtype != bool:
        what = f"Cannot cast array data from {where.dtype} to bool according to the rule 'safe'"
        raise DTypeError(what, f"where, of shape {where.shape}", "compare it with a number, or cast it with astype(bool)")
    return where


def chosen(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> ndarray:
    """``x`` where the condition is true, else ``y``."""
    if not isinstance(condition, ndarray) or condition._dtype != "bool":
        condition = operands(condition, x, y)[0].astype("bool", copy=False)
    return applied(primitive_arithmetic.where, condition, x, y)


def deliver(result: ndarray, out: Any, casting: Casting = "same_kind", *, widens: bool = False, is_new: bool = False) -> Any:
    """Return a result, or write it to ``out`` if given and return that; with ``widens`` it is broadcast to ``out``.

    Of a result that ``is_new``, which no other array has, ``out`` takes the content if it can, as after an in-place operator.

    Raises
    ------
    AutogradError
        If a recorded result would be written to a NumPy array.
    DTypeError
        If ``out`` is not an array, or the result may not be cast to its dtype.
    ParameterError, ShapeError
        If its shape differs.
    """
    if out is None:
        return result
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if isinstance(out, np.ndarray):
        refuse_cut("writing to an array of NumPy's", result, out)
        np.copyto(out, to_numpy(result), casting)  # which is NumPy's if all operands are
        return out
    if not isinstance(out, ndarray):
        raise DTypeError("return arrays must be of ArrayType", type(out).__name__, "pass an array for out")
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise DTypeError(
            f"Cannot cast output from {result.dtype} to {out.dtype}", f"casting={casting!r}", "pass an array of a different dtype"
        )
    if result.shape != out.shape and not (widens and broadcast_shapes("out", (result.shape, out.shape)) == out.shape):
        raise ParameterError(
            "the shape of out differs from that of the result", f"{out.shape} for {result.shape}", "pass an array of that shape"
        )
    # a result of another dtype, such as NumPy's long double, is NumPy's
    is_ours = isinstance(result, ndarray)
    is_alike = is_ours and out._dtype == result._dtype and out.shape == result.shape != () and out.context is result.context
    if is_new and is_alike and not is_view(out) and not is_view(result):
        store(out, result._held)
    else:
        out[...] = result
    return out


#: The ufuncs with a short ``__call__``, each of a class of its own.
_SHORT: list[Any] = []


def call_by(method: Any) -> None:
    """Have all ufuncs called by a method in machine code, or by their own functions if it is None; what a program has put there stays."""
    before, ufunc._machine_code = ufunc._machine_code, method
    for found in tuple(_SHORT):
        if found.__class__.__call__ is (before or found._by_python):
            found.__class__.__call__ = method or found._by_python


@cache
def function_of(name: str) -> ufunc:
    """The ufunc with NumPy's name (aliases give the same object)."""
    numpys = getattr(np, name)
    if numpys.__name__ != name:
        return function_of(numpys.__name__)
    found = ufunc(numpys)
    if name == "matmul":  # that of the operator `@`
        return found
    # Python looks up ``__call__`` in the class, so each has a class of its own
    methods: dict[str, object] = {"__slots__": ()}
    if numpys.nout == 1:
        found._by_python = short_ufunc(numpys, found._short, ufunc.__call__)
        methods["__call__"] = ufunc._machine_code or found._by_python
        _SHORT.append(found)
    else:
        methods["__call__"] = staticmethod(short_call(found.__call__, numpys))
    if numpys.nin == 2 and numpys.nout == 1:
        methods["accumulate"] = staticmethod(short_call(found.accumulate, numpys.accumulate))
        methods["reduceat"] = staticmethod(short_call(found.reduceat, numpys.reduceat))
        if name not in REDUCE:
            methods["reduce"] = staticmethod(short_call(found.reduce, numpys.reduce))
    found.__class__ = type(name, (ufunc,), methods)
    return found

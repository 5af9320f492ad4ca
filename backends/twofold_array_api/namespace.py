"""``xp`` over arrays of an array-API library: each primitive by standard functions, on operands promoted as in NumPy.

The adapter sets the library in a subclass. Primitives without a standard function, and dtypes that the library does not compute in, run on
the host.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial, partialmethod
from typing import Any, ClassVar

import array_api_compat.numpy as host
import numpy as np

from twofold.backend.kernel import REFERENCES, Array
from twofold.backend.namespace import LacksFunctionError, Library, PortableNamespace
from twofold.backend.special_functions import FORMULAS
from twofold.dtype import NUMPY, WEAK, float_of, promote, scalar_dtype
from twofold.errors import DTypeError

SAME_NAME = """add subtract multiply divide floor_divide remainder maximum minimum hypot copysign equal not_equal greater greater_equal
    less less_equal bitwise_and bitwise_or bitwise_xor negative sign square sqrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh
    tanh floor ceil trunc isnan isinf isfinite fmod cbrt"""
#: Ufuncs and their names in the standard.
UFUNCS = {name: name for name in SAME_NAME.split()}
UFUNCS |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}
UFUNCS |= {"power": "pow", "absolute": "abs", "round_even": "round"}
UFUNCS |= {name: f"bitwise_{name}" for name in ("invert", "left_shift", "right_shift")}
NUMPY_NAMES = {"divide": "true_divide", "round_even": "rint"}
#: Ufuncs of bools as logical functions of the first and last operand: the standard's arithmetic takes numbers only.
OF_BOOLS = {"add": "logical_or", "maximum": "logical_or", "multiply": "logical_and", "minimum": "logical_and", "square": "logical_and"}
OF_BOOLS |= dict.fromkeys(("absolute", "floor", "ceil", "trunc"), "logical_and")
TOTALS = ("sum", "prod", "cumulative_sum", "cumulative_prod")
TAKE_BOOLS = ("equal", "not_equal", "invert", "bitwise_and", "bitwise_or", "bitwise_xor")


class ArrayApiNamespace(PortableNamespace):
    """The primitives over array-API arrays; the core adds the names derived from them."""

    #: The library's namespace, its dtypes by name, their names, and the dtypes that it computes in rather than only stores.
    standard: ClassVar[Any]
    kinds: ClassVar[dict[str, Any]]
    names: ClassVar[dict[Any, str]]
    computed: ClassVar[frozenset[str]]

    def kind(self, dtype: str) -> Any:
        """The library's dtype by name."""
        if dtype not in self.kinds:
            raise DTypeError("array API: the library has no such dtype", dtype, f"use one of {', '.join(self.kinds)}")
        return self.kinds[dtype]

    def dtype_of(self, x: Array) -> str:
        """The name of the dtype; ``weakf`` or ``weaki`` for a Python scalar."""
        return scalar_dtype(x) if isinstance(x, bool | int | float) else self.names[x.dtype]

    def from_host(self, array: np.ndarray) -> Array:
        """A copy of a NumPy array."""
        self.kind(array.dtype.name)
        return self.standard.from_dlpack(np.array(array, order="C"))

    def on_host(self, function: Callable[..., object], *operands: Array) -> Array:
        """Call a function on host copies of arrays."""
        found = function(*[x if isinstance(x, bool | int | float) else np.from_dlpack(x) for x in operands])
        if isinstance(found, (tuple, list)):
            return [self.from_host(np.asarray(part)) for part in found]
        return self.from_host(np.asarray(found))

    def by_reference(self, name: str, *operands: Array, **params: object) -> Array:
        """Computed by the library if the standard has the function and the library supports the dtypes; otherwise on the host."""
        reference = REFERENCES[name]
        if not reference.host and self.computed.issuperset(map(self.dtype_of, operands)):
            try:
                found = reference.function(Library(self.standard), *operands, **params)
            except (LacksFunctionError, TypeError):  # the standard's functions take fewer keywords and dtypes than NumPy's
                pass
            else:
                return list(found) if isinstance(found, tuple) else found
        return super().by_reference(name, *operands, **params)

    def by_standard(self, name: str, *arrays: Array, **params: object) -> Array:
        """A function of the standard: the library's, or NumPy's for a dtype that the library only stores."""
        if self.computed.issuperset(map(self.dtype_of, arrays)):
            return getattr(self.standard, name)(*arrays, **params)
        return self.on_host(partial(getattr(host, name), **params), *arrays)

    def astype(self, x, *, dtype):
        return self.standard.astype(x, self.kind(dtype))

    def cast(self, x: Array, dtype: str) -> Array:
        """An operand cast to a dtype; a Python scalar becomes a 0-d array."""
        if isinstance(x, bool | int | float):
            return self.full(shape=(), value=x, dtype=dtype)
        return x if self.dtype_of(x) == dtype else self.astype(x, dtype=dtype)

    # element-wise

    def ufunc(self, *operands: Array, name: str) -> Array:
        """A NumPy ufunc: operands cast to the dtypes of its loop, then the standard function."""
        dtypes = [self.dtype_of(x) for x in operands]
        # the dtypes are those of NumPy's loop, because the standard leaves mixtures of kinds undefined
        given = [NUMPY[promote(*dtypes) if d in WEAK else d] for d in dtypes]
        *before, after = [t.name for t in getattr(np, NUMPY_NAMES.get(name, name)).resolve_dtypes((*given, None))]
        arrays = [self.cast(x, dtype) for x, dtype in zip(operands, before, strict=True)]
        if name in ("fmod", "cbrt") or len(set(before)) > 1:  # only NumPy compares int64 with uint64
            return self.on_host(getattr(np, name), *arrays)
        if before[0] == "bool" and name in OF_BOOLS:
            return self.by_standard(OF_BOOLS[name], arrays[0], arrays[-1])
        if before[0] == "bool" and name not in TAKE_BOOLS:
            # computed as numbers, which the standard's functions take; the result is cast to the dtype of NumPy's loop
            arrays = [self.astype(x, dtype="uint8") for x in arrays]
        return self.cast(self.by_standard(UFUNCS[name], *arrays), after)

    def special(self, x: Array, *, formula: Callable[..., Array], **params: object) -> Array:
        """A special function, computed in float64."""
        return self.cast(formula(self.standard, self.cast(x, "float64"), **params), float_of(self.dtype_of(x)))

    def where(self, condition, x, y):
        dtype = promote(self.dtype_of(x), self.dtype_of(y))
        return self.by_standard("where", self.cast(condition, "bool"), self.cast(x, dtype), self.cast(y, dtype))

    # shapes

    def rearranged(self, x: Array, *, name: str, **params: object) -> Array:
        """A function of the standard with the same meaning and parameters."""
        return getattr(self.standard, name)(x, **params)

    def slice(self, x, *, key):
        places, flipped = _forwards(x.shape, [slice(*k) for k in key])
        return self.by_standard("flip", x[places], axis=flipped) if flipped else x[places]

    def put(self, target: Array, key: object, value: Array) -> None:
        """``target[key] = value`` for a basic index; the value is cast."""
        given = [] if key is Ellipsis else key if isinstance(key, tuple) else [key]
        # flipped values into places in ascending order are the values in the order of the negative step
        places, flipped = _forwards(target.shape, given)
        value = self.cast(value, self.dtype_of(target))
        if flipped:
            # broadcast first: an axis of size 1 in the value is no axis to flip
            value = self.by_standard("flip", self.standard.broadcast_to(value, target[places].shape), axis=flipped)
        target[places] = value

    def slice_update(self, x, value, *, key):
        out = self.contiguous(x)
        self.put(out, tuple(slice(*k) for k in key), value)
        return out

    def concat(self, *arrays, axis):
        dtype = promote(*map(self.dtype_of, arrays))
        return self.standard.concat([self.cast(a, dtype) for a in arrays], axis=axis)

    def contiguous(self, x):
        return self.standard.asarray(x, copy=True)

    def full(self, *, shape, value, dtype):
        # through NumPy's conversion: a value that the dtype cannot hold wraps as in NumPy, where libraries raise
        return self.standard.full(shape, np.asarray(value).astype(NUMPY[dtype]).item(), dtype=self.kind(dtype))

    def iota(self, *, size, dtype):
        return self.astype(self.standard.arange(size), dtype=dtype)

    # reductions, products, takes

    def reduction(self, x: Array, *, name: str, **where: object) -> Array:
        """A reduction or scan with NumPy's dtypes: 64-bit sums and products of integers, int64 indices, bools as numbers."""
        own = self.dtype_of(x)
        wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(NUMPY[own].kind, own)
        inner = wide if name in TOTALS else "bool" if name in ("any", "all") else "uint8" if own == "bool" else own
        outer = "int64" if name.startswith("arg") else own if name in ("max", "min") else inner
        return self.cast(self.by_standard(name, self.cast(x, inner), **where), outer)

    def argsort(self, x, *, axis, descending=False, first=None):
        order = self.reduction(x, name="argsort", axis=axis, descending=descending)
        return order if first is None else order[(*[slice(None)] * (axis % x.ndim), slice(first), ...)]

    def matmul(self, lhs, rhs):
        dtype = promote(self.dtype_of(lhs), self.dtype_of(rhs))
        # the standard has no products of bools; a sum of ones that is not 0 becomes True
        wide = "int64" if dtype == "bool" else dtype
        return self.cast(self.by_standard("matmul", self.cast(lhs, wide), self.cast(rhs, wide)), dtype)

    def take(self, x, index, *, axis):
        at = axis % x.ndim
        # the standard's `take` has one-dimensional indices only
        flat = self.standard.reshape(self.cast(index, "int64"), (math.prod(index.shape),))
        return self.standard.reshape(self.by_standard("take", x, flat, axis=at), (*x.shape[:at], *index.shape, *x.shape[at + 1 :]))


def _forwards(shape: Any, key: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """A basic index with in-bounds slices and positive steps, which all libraries support, and the axes to flip for negative steps."""
    places: list[Any] = []
    flipped: list[int] = []
    axis = 0
    for size, item in zip(shape, key, strict=False):
        if isinstance(item, slice):
            seen = range(size)[item]
            if seen.step < 0:
                flipped.append(axis)
            # the same places in ascending order
            forward = seen if seen.step > 0 else seen[::-1]
            places.append(slice(forward[0], forward[-1] + 1, forward.step) if forward else slice(0, 0))
            axis += 1
        else:
            places.append(item)
    # the standard requires an index for each axis, or an ellipsis for the remaining axes
    return (*places, ...), tuple(flipped)


def _members() -> Iterator[tuple[str, Any]]:
    """The primitives that share an implementation."""
    for name in UFUNCS:
        yield name, partialmethod(ArrayApiNamespace.ufunc, name=name)
    for name in ("reshape", "permute_dims", "broadcast_to"):
        yield name, partialmethod(ArrayApiNamespace.rearranged, name=name)
    for name, formula in FORMULAS.items():
        yield name, partialmethod(ArrayApiNamespace.special, formula=formula)
    for name in ("max", "min", "any", "all", "argmax", "argmin", *TOTALS):
        yield name, partialmethod(ArrayApiNamespace.reduction, name=name)


for _name, _member in _members():
    setattr(ArrayApiNamespace, _name, _member)

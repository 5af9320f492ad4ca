"""Symbols under MXNet's NumPy dialect: ``Symbol.as_np_ndarray()`` gives one, and ``mx.sym.np`` and ``mx.sym.npx`` compose them.

The functions are those of `mxnet_numpy`, on a front that applies operators to symbols.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..assembly import attach_method
from ..device import current_device
from ..dtype import DTypeLike
from ..errors import IndexingError
from ..mxnet_numpy.elementwise import Elementwise
from ..mxnet_numpy.front import FRONTS, Unsupported, public_name
from ..mxnet_numpy.linear import LinearAlgebra, Products
from ..mxnet_numpy.method_names import FUNCTION_OF, method_of, methods_of
from ..mxnet_numpy.new_arrays import Creation
from ..mxnet_numpy.order_statistics import OrderStatistics
from ..mxnet_numpy.rearranging import Shapes
from ..mxnet_numpy.sampling import Batches, Random
from ..opdef import NAMES, Op
from ..opdef.frontend import function_of
from ..opdef.numpy_rows import sizes
from ..ops import counting, mxnet_numpy_arithmetic, mxnet_numpy_creation, mxnet_numpy_shapes, primitive_arithmetic, slicing
from ..suggestions import missing_name
from .compose import apply_op
from .functions import load, load_json
from .symbol import Symbol


class NumpySymbol(Symbol):
    """A symbol whose operators and methods are NumPy's, as MXNet's ``_Symbol``."""

    __slots__ = ()
    _is_numpy: ClassVar[bool] = True

    def as_np_ndarray(self) -> "NumpySymbol":
        """The symbol itself."""
        return self

    def as_nd_ndarray(self) -> Symbol:
        """The symbol with the operators of ``mx.sym``."""
        return Symbol(self.heads)

    def __iter__(self) -> NoReturn:
        raise Unsupported(f"'{self!r}' is not iterable.", None, "functions with several results return lists")

    def __len__(self) -> int:
        raise Unsupported(f"{self!r} is not a list and does not support len().", None, "functions with several results return lists")

    def __getitem__(self, key: Any) -> "NumpySymbol":
        """A part selected by integers and slices.

        Raises
        ------
        IndexingError
            For other keys.
        """
        items = key if isinstance(key, tuple) else (key,)
        if not items or not all(isinstance(k, (int, slice)) for k in items):
            what = "Only integer, slice, or tuple of these types are supported!"
            raise IndexingError(f"{what} Received key={key}")
        # MXNet's file format has no indexing node. A key becomes a slice, in which an integer selects one element, followed by a reshape
        # that removes the axes of the integers: -2 copies an axis, -3 drops one of size 1, -4 copies all that are left.
        begin, end, step, codes = [], [], [], []
        for k in items:
            if isinstance(k, slice):
                begin, end, step, codes = [*begin, k.start], [*end, k.stop], [*step, k.step], [*codes, -2]
            else:
                # -1 + 1 is 0, which would be the first element: the last one is the slice from -1 without an end
                begin, end, step, codes = [*begin, k], [*end, k + 1 if k != -1 else None], [*step, 1], [*codes, -3]
        # MXNet omits the steps for a single integer, and its files are reproduced to the letter
        where = {"begin": begin, "end": end} if isinstance(key, int) else {"begin": begin, "end": end, "step": step}
        part = FUNCTIONS.apply(slicing.slice_range, (self,), where)
        return part if -3 not in codes else FUNCTIONS.apply(mxnet_numpy_shapes.npx_reshape, (part,), {"newshape": (*codes, -4)})

    @property
    def T(self) -> "NumpySymbol":
        """The axes reversed."""
        return FUNCTIONS.transpose(self)

    def astype(self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> "NumpySymbol":
        """The elements in a dtype; the other arguments have no effect on values."""
        return FUNCTIONS.apply(primitive_arithmetic.astype, (self,), {"dtype": dtype}, None, "cast")

    def reshape(self, *shape: int | Sequence[int], order: str = "C") -> "NumpySymbol":
        """The elements in a new shape, in which -1 infers a size."""
        given = shape[0] if len(shape) == 1 else shape
        return FUNCTIONS.apply(mxnet_numpy_shapes.np_reshape, (self,), {"newshape": sizes(given), "order": order})

    def transpose(self, *axes: int | Sequence[int] | None) -> "NumpySymbol":
        """The axes in the given order, reversed by default."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return FUNCTIONS.transpose(self, given or None)

    def flatten(self, order: str = "C") -> "NumpySymbol":
        """The elements along one axis."""
        # MXNet composes a reshape, not its own `Flatten`, which keeps the first axis
        return self.reshape((-1,), order=order)

    def __repr__(self) -> str:
        return f"<_Symbol {self.name}>"


class SymbolFunctions(Elementwise, OrderStatistics, Shapes, Creation, Products):
    """The functions of ``mx.sym.np``."""

    def apply(self, op: Op, arrays: Sequence[Any], params: Mapping[str, Any] | None = None, out: Any = None, name: str = "") -> Any:
        """The operator applied to symbols: one symbol, or the list of the symbols of its results."""
        if out is not None:
            raise Unsupported(f"{public_name(op)}: symbols are not written to", "out", "leave out out")
        # The functions of `mxnet_numpy` serve arrays too, and pass arguments that only arrays need, such as ctx for operators with inputs.
        # A symbol has no place for these.
        given = {k: v for k, v in (params or {}).items() if k in op.params or k == op.count_param or (k == "ctx" and not op.arrays)}
        return numpy_results(apply_op(op, name or public_name(op), arrays, given))

    def is_array(self, value: object) -> bool:
        """Whether a value is a symbol."""
        return isinstance(value, Symbol)

    def operand(self, value: object) -> NumpySymbol:
        """A symbol itself; a number as a symbol without axes, of the dtype that it has as an array: float32 for Python's numbers."""
        if isinstance(value, NumpySymbol):
            return value
        number = self.number(value)
        # files hold the number as a float
        if number is None or (isinstance(value, np.integer) and float(number) != number):
            raise Unsupported(f"type {type(value)} not supported", repr(value)[:60], "pass symbols of as_np_ndarray() or numbers")
        # not `full`: among MXNet's older operators, such as its `_full`, the shape () means an unknown one
        return self.full_like(self.zeros((), value.dtype if isinstance(value, np.generic) else None), float(number))

    def context_name(self, ctx: object) -> str:
        """A device as MXNet's files spell it."""
        return str(ctx or current_device())

    def _vectors_shape(self, mean: object, cov: object, size: object) -> NoReturn:
        raise Unsupported("multivariate_normal: the shape of a symbol is not known", None, "compose normal, linalg.cholesky and matmul")

    def _shuffled(self, x: object, op: Op) -> None:
        raise Unsupported("shuffle: symbols are not written to", repr(x), "use mx.sym.random.shuffle")

    def may_share_memory(self, a: object, b: object, max_work: int | None = None) -> NumpySymbol:
        """False: values of a graph do not share memory."""
        return self.apply(mxnet_numpy_creation.npi_share_memory, (self.operand(a), self.operand(b)))

    shares_memory = may_share_memory

    def _cast(self, x: NumpySymbol, dtype: DTypeLike) -> NumpySymbol:
        return x.astype(dtype)

    def histogram(
        self, a: Any, bins: Any = 10, range: Any = None, normed: Any = None, weights: Any = None, density: Any = None
    ) -> list[NumpySymbol]:
        """Counts (int64) of values in bins, and the bins' edges.

        Raises
        ------
        Unsupported
            For a number of bins without a range, and for normed, weighted or density histograms.
        """
        if normed or weights is not None or density:
            raise Unsupported("histogram: only counts are supported", f"normed={normed}, density={density}", "divide the counts")
        if isinstance(bins, Symbol):
            return self.apply(counting.histogram, (self.operand(a), self.operand(bins)), None, None, "histogram")
        if range is None:
            raise Unsupported("histogram: a symbol has no values to find a range of", f"bins={bins}", "pass the range")
        params = {"bin_cnt": bins, "range": tuple(range)}
        return self.apply(counting.histogram, (self.operand(a), None), params, None, "histogram")


def numpy_results(found: Symbol) -> NumpySymbol | list[NumpySymbol]:
    """A symbol under NumPy's dialect, or a list of them for several outputs."""
    parts = [NumpySymbol([h]) for h in found.heads]
    return parts[0] if len(parts) == 1 else parts


# `mxnet_numpy` dispatches on the class of its operands: entering this front makes `mx.np.add(symbol, 1)` work without a test there
FUNCTIONS = SymbolFunctions()
FRONTS[NumpySymbol] = FUNCTIONS


class _Namespace(ModuleType):
    """A namespace of functions on symbols."""

    def __init__(self, name: str, faces: Sequence[object], extra: Mapping[str, object]) -> None:
        super().__init__(name, f"Functions of {name} on symbols.")
        self.__dict__.update(extra)
        self.__dict__["_faces"] = tuple(faces)

    def __getattr__(self, name: str) -> Any:
        # looked up on use rather than copied: the front has a few hundred methods, and most programs use a handful
        for face in self._faces:
            if not name.startswith("_") and hasattr(face, name):
                return getattr(face, name)
        raise missing_name(self.__name__, name, dir(self))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for face in self._faces for n in dir(face) if not n.startswith("_"))})


class _Extension:
    """Operators of ``mx.sym.npx`` with a prefix, generated on first use."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        op = NAMES.get(self._prefix + name)
        if op is None:
            raise AttributeError(name)

        def call(op: Op, arrays: Sequence[Symbol | None], params: dict[str, Any], label: str | None) -> object:
            attr = params.pop("attr", None)
            return numpy_results(apply_op(op, name, arrays, params, label, attr))

        return function_of(op, name, call, __name__, passes="name", extra=() if op.arrays else ("ctx",))

    def __dir__(self) -> list[str]:
        return [n.removeprefix(self._prefix) for n in NAMES if n.startswith(self._prefix)]

    def reshape(self, a: object, newshape: int | Sequence[int], reverse: bool = False, order: str = "C") -> NumpySymbol:
        """The elements in a new shape, which may contain the codes of `mxnet_numpy_shapes.shape_of_codes`."""
        params = {"newshape": sizes(newshape), **({"reverse": True} if reverse else {}), **({"order": order} if order != "C" else {})}
        return FUNCTIONS.apply(mxnet_numpy_shapes.npx_reshape, (FUNCTIONS.operand(a),), params)


_RANDOM = _Namespace("twofold.symbol.np.random", (Random(FUNCTIONS),), {})
NP = _Namespace(
    "twofold.symbol.np",
    (FUNCTIONS,),
    {
        "linalg": _Namespace("twofold.symbol.np.linalg", (LinearAlgebra(FUNCTIONS),), {}),
        "load": load,
        "load_json": load_json,
        "random": _RANDOM,
        "_Symbol": NumpySymbol,
    },
)
NPX = _Namespace(
    "twofold.symbol.npx",
    (_Extension("_npx_"),),
    {
        "image": _Namespace("twofold.symbol.npx.image", (_Extension("_npx__image_"),), {}),
        "random": _Namespace("twofold.symbol.npx.random", (Batches(FUNCTIONS),), {}),
    },
)


def _operator(name: str, reverse: bool) -> Callable[..., object]:
    function = getattr(FUNCTIONS, name)

    def method(self: NumpySymbol, other: object) -> object:
        if not isinstance(other, (NumpySymbol, bool, int, float, np.generic)):
            raise Unsupported(
                f"type {type(other)} not supported", repr(other)[:60], "combine symbols of as_np_ndarray() with such or numbers"
            )
        return function(other, self) if reverse else function(self, other)

    return method


def _negative(self: NumpySymbol) -> object:
    return FUNCTIONS.apply(mxnet_numpy_arithmetic.OF_SCALAR["multiply"], (self,), {"scalar": -1.0, "is_int": False})


def attach() -> None:
    """Attach operators and methods to `NumpySymbol`."""
    for dunder, name in FUNCTION_OF.items():
        # unary operators have no other operand to check or reverse
        if dunder in ("neg", "abs", "invert"):
            continue
        attach_method(NumpySymbol, f"__{dunder}__", _operator(name, False))
        # Python reverses a comparison by calling the opposite method of the other operand
        if dunder not in ("eq", "ne", "gt", "ge", "lt", "le"):
            attach_method(NumpySymbol, f"__r{dunder}__", _operator(name, True))
    attach_method(NumpySymbol, "__neg__", _negative)
    attach_method(NumpySymbol, "__abs__", method_of(FUNCTIONS, "abs"))
    attach_method(NumpySymbol, "__invert__", method_of(FUNCTIONS, "invert"))
    for name, method in methods_of(FUNCTIONS).items():
        if name != "nonzero":  # the shape of its result depends on values
            attach_method(NumpySymbol, name, method)


attach()

"""The names that a rule may use on ``xp``: the primitives, and the functions derived from them here.

Both namespaces behind ``xp`` (a backend's arrays, typed graph nodes) inherit `Derived`; a test holds each to this list and to
the registered primitives. Array-API names keep their meaning; the rest is documented here or at the primitive.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ..dtype import FLOATS, HALVES, float_of
from ..errors import ShapeError
from .rules import Rule
from .shapes import distinct_axes, normalized_axes, reduced_shape
from .spec import Op


class Operand(Protocol):
    """An array or a node, as rules see it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        ...

    @property
    def dtype(self) -> Any:
        """A dtype, which the namespace's ``dtype_of`` names."""
        ...

    def __neg__(self) -> "Operand": ...
    def __add__(self, other: object, /) -> "Operand": ...
    def __sub__(self, other: object, /) -> "Operand": ...
    def __mul__(self, other: object, /) -> "Operand": ...
    def __truediv__(self, other: object, /) -> "Operand": ...


Array = TypeVar("Array", bound=Operand)
Axes = int | Sequence[int] | None
#: A step of `Derived.loop`, and what that returns.
LoopBody = Callable[[list[Any], list[Any], list[Any]], tuple[Sequence[Any], Sequence[Any]]]
LoopResults = tuple[list[Any], list[Any], list[Any]]


class Derived:
    """Names defined over the primitives, the same for arrays and nodes. ``self`` is the namespace (``xp`` in rules)."""

    def __getattr__(self, name: str) -> Any:
        """Primitives are found by name (each namespace defines or makes them)."""
        what = f"a rule may not use xp.{name}: it is neither a primitive nor listed in opdef/vocabulary.py"
        raise AttributeError(f"{what}; an operator that is a composite is called as {name}(xp, x)")

    def composite(self, op: Op, inputs: Sequence[Any], params: Mapping[str, Any]) -> Any:
        """The result of a composite inside another's definition; rules call the operator itself: ``sigmoid(xp, x)``."""
        return op.rule(self, *inputs, **params)

    # shapes

    def expand_dims(self, x: Array, axis: int) -> Array:
        """``x`` with a new axis of size 1 before ``axis``."""
        at = axis + len(x.shape) + 1 if axis < 0 else axis
        return self.reshape(x, shape=(*x.shape[:at], 1, *x.shape[at:]))

    def squeeze(self, x: Array, axis: Axes = None) -> Array:
        """``x`` without the given axes of size 1 (all such axes if None).

        Raises
        ------
        ShapeError
            If one of them has another size.
        """
        gone = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else normalized_axes(axis, len(x.shape))
        if any(x.shape[k] != 1 for k in gone):
            raise ShapeError("squeeze: an axis does not have size 1", f"axis {axis} of shape {x.shape}", "name axes of size 1")
        return self.reshape(x, shape=tuple(n for k, n in enumerate(x.shape) if k not in gone))

    def matrix_transpose(self, x: Array) -> Array:
        """``x`` with its last two axes swapped."""
        n = len(x.shape)
        return self.permute_dims(x, axes=(*range(n - 2), n - 1, n - 2))

    def swapaxes(self, x: Array, a: int, b: int) -> Array:
        """``x`` with two axes swapped."""
        axes = list(range(len(x.shape)))
        axes[a], axes[b] = axes[b], axes[a]
        return self.permute_dims(x, axes=tuple(axes))

    def moveaxis(self, x: Array, source: int, destination: int) -> Array:
        """``x`` with one axis moved, the others in order."""
        ndim = len(x.shape)
        axes = [k for k in range(ndim) if k != source % ndim]
        axes.insert(destination % ndim, source % ndim)
        return self.permute_dims(x, axes=tuple(axes))

    def flip(self, x: Array, axis: Axes = None) -> Array:
        """``x`` reversed along axes."""
        ndim = len(x.shape)
        axes = range(ndim) if axis is None else distinct_axes(axis, ndim)
        return self.slice(x, key=tuple((None, None, -1) if k in axes else (None, None, None) for k in range(ndim)))

    def take_slice(self, x: Array, start: int | None, stop: int | None, axis: int, step: int | None = None) -> Array:
        """``x[..., start:stop:step, ...]`` along one axis."""
        ndim = len(x.shape)
        return self.slice(x, key=tuple((start, stop, step) if k == axis % ndim else (None, None, None) for k in range(ndim)))

    def stack(self, arrays: Sequence[Array], axis: int = 0) -> Array:
        """Arrays of one shape joined along a new axis."""
        return self.concat(*[self.expand_dims(a, axis) for a in arrays], axis=axis)

    def split(self, x: Array, indices: Sequence[int], axis: int) -> list[Array]:
        """``x`` split before each of ``indices`` along an axis."""
        edges = [0, *indices, x.shape[axis]]
        # as in NumPy, a part is empty if the indices decrease
        return [self.take_slice(x, a, max(a, b), axis) for a, b in itertools.pairwise(edges)]

    def tile_axis(self, x: Array, count: int, axis: int) -> Array:
        """``x`` repeated as a whole along an axis."""
        wide = self.expand_dims(x, axis)
        shape = (*x.shape[:axis], count, *x.shape[axis:])
        return self.reshape(self.broadcast_to(wide, shape=shape), shape=(*x.shape[:axis], count * x.shape[axis], *x.shape[axis + 1 :]))

    # creation

    def zeros(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """An array of zeros."""
        return self.full(shape=shape, value=0, dtype=dtype)

    def ones(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """An array of ones."""
        return self.full(shape=shape, value=1, dtype=dtype)

    def filled_like(self, x: Array, value: int, shape: tuple[int, ...]) -> Array:
        """An array filled with a value, of another array's dtype and on its device."""
        return self.full(shape=shape, value=value, dtype=self.dtype_of(x))

    def zeros_like(self, x: Array) -> Array:
        """Zeros of an array's shape and dtype."""
        return self.full(shape=x.shape, value=0, dtype=self.dtype_of(x))

    def ones_like(self, x: Array) -> Array:
        """Ones of an array's shape and dtype."""
        return self.full(shape=x.shape, value=1, dtype=self.dtype_of(x))

    def one_hot(self, index: Array, depth: int, dtype: str = "float32") -> Array:
        """1 where the last (new) axis equals the index, else 0; an index outside gives zeros."""
        places = self.iota(size=depth, dtype="int32" if self.dtype_of(index) not in FLOATS else self.dtype_of(index))
        return self.astype(self.equal(self.expand_dims(index, -1), places), dtype=dtype)

    # loops

    def loop(self, body: LoopBody, data: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]) -> LoopResults:
        """``body(slices of data, states, shared) -> (outputs, new states)`` along axis 0 of the data, of which there is at least one.

        Parameters
        ----------
        body
            It reads arrays from its arguments alone. In a graph it runs once, whatever the number of steps.
        data
            Arrays of equal length.
        states
            The states before the first step; they keep their types.
        shared
            What every step reads.

        Returns
        -------
        list
            The outputs of all steps, stacked along a new axis 0.
        list
            The last states.
        list
            The states before each step, stacked.
        """
        outputs, before = [], []
        for t in range(data[0].shape[0]):
            before.append(states)
            slices = [self.reshape(self.take_slice(d, t, t + 1, 0), shape=d.shape[1:]) for d in data]
            found, states = body(slices, list(states), list(shared))
            outputs.append(found)
        stacks = [[self.stack(list(column)) for column in zip(*rows, strict=True)] for rows in (outputs, before)]
        return stacks[0], list(states), stacks[1]

    # functions that only the host computes

    def host(
        self,
        function: Rule,
        *arrays: Operand,
        like: Operand | tuple[Operand, ...] | list[Operand],
        gradient: Rule | None = None,
        **params: object,
    ) -> Any:
        """The result of a function on NumPy arrays, for computations that the primitives cannot express.

        Parameters
        ----------
        function
            ``(np, *arrays, **params)``, pure and at module level, since it is part of the structure that programs are cached by.
        *arrays
            Operands, copied to the host if they are elsewhere.
        like
            An array of the result's shape and dtype, or a sequence of them, one for each of several results.
        gradient
            ``(xp, dout, out, *arrays, **params) -> gradients``, one for each array (see `Op.grad`); at module level too. Without it a
            gradient that passes here raises.
        **params
            Hashable.
        """
        results = like if isinstance(like, (tuple, list)) else (like,)
        types = tuple((tuple(x.shape), self.dtype_of(x)) for x in results)
        return self.host_call(*arrays, function=function, types=types, grad=gradient, given=tuple(sorted(params.items())))

    # arithmetic

    def mean(self, x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
        """Arithmetic mean over axes; the sum of 16-bit floats is one in float32."""
        count = math.prod(x.shape) // max(1, math.prod(reduced_shape(x.shape, axis, False)))
        # of no elements the mean is not a number, as in NumPy
        mean = self.multiply(self.sum(self.upcast(x), axis=axis, keepdims=keepdims), 1 / count if count else math.nan)
        return self.downcast(mean, x)

    def var(self, x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
        """Biased variance over axes, of 16-bit floats in float32."""
        wide = self.upcast(x)
        centred = self.subtract(wide, self.mean(wide, axis=axis, keepdims=True))
        return self.downcast(self.mean(self.multiply(centred, centred), axis=axis, keepdims=keepdims), x)

    def upcast(self, x: Array) -> Array:
        """16-bit floats in float32, where their sums and squares stay finite; other dtypes unchanged. See `downcast`."""
        return self.astype(x, dtype="float32") if self.dtype_of(x) in HALVES else x

    def downcast(self, x: Array, like: Array) -> Array:
        """``x``, computed from ``like`` in float32 (see `upcast`), rounded to the dtype of ``like`` if that has 16 bits."""
        return self.cast_like(x, like) if self.dtype_of(like) in HALVES else x

    def to_float(self, x: Array) -> Array:
        """``x`` as real floating-point numbers; unchanged if it already is."""
        name = self.dtype_of(x)
        return x if name in FLOATS or name == "weakf" else self.astype(x, dtype=float_of(name))

    def cast_like(self, x: Array, like: Array) -> Array:
        """``x`` in another array's dtype."""
        return x if self.dtype_of(x) == self.dtype_of(like) else self.astype(x, dtype=self.dtype_of(like))

    def cast(self, x: Array, dtype: str) -> Array:
        """``x`` in a dtype; unchanged if it has that dtype."""
        return x if self.dtype_of(x) == dtype else self.astype(x, dtype=dtype)

    def dtype_of(self, x: Operand) -> str:
        """The name of an array's dtype; a namespace whose arrays say it otherwise overrides this."""
        return x.dtype

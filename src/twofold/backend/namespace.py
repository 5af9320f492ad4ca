"""Default primitives for adapters, in terms of other primitives or of NumPy on the host.

A namespace that derives from `PortableNamespace` defines ``on_host``, ``dtype_of`` and the members used here: ``slice``,
``slice_update``, ``full``, ``concat``, ``reshape``, ``permute_dims``, ``contiguous``, ``matmul``, ``sum`` and ``astype``. Every other
primitive has a default: a definition below, its declared reference, or the formula of a special function.
"""
# ruff: noqa: D102 (members without a docstring are the primitives of their names)

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from ..dtype import NAME_OF, NUMPY, float_of
from ..errors import IndexingError
from . import convolution, integer_products
from .convolution import in_either_order
from .kernel import ELEMENTWISE, PRIMITIVES, REFERENCES, Array
from .special_functions import FORMULAS

Key = tuple[tuple[int | None, int | None, int | None], ...]
FULL = (None, None, None)


class Referenced(ABC):
    """Primitives that a namespace does not define itself, by their references."""

    def __getattr__(self, name: str) -> Callable[..., Array]:
        """A primitive by its reference; cached."""
        if name not in REFERENCES:
            if name in PRIMITIVES:
                lacking = f"{type(self).__name__} lacks the primitive {name}, which has neither a reference nor a default"
                raise AttributeError(f"{lacking}: define it in the adapter's namespace")
            what = f"a rule may not use xp.{name}: it is neither a primitive nor listed in opdef/vocabulary.py"
            raise AttributeError(f"{what}; an operator that is a composite is called as {name}(xp, x)")
        found = vars(self)[name] = partial(self.by_reference, name)
        return found

    def is_by_reference(self, name: str) -> bool:
        """Whether the namespace has neither a member nor a kernel for a primitive, and so computes its reference."""
        return name in REFERENCES and name not in ELEMENTWISE and getattr(type(self), name, None) is None

    @abstractmethod
    def by_reference(self, name: str, *operands: Array, **params: object) -> Array:
        """The result of a primitive by its reference; a list if there are several results."""


class LacksFunctionError(Exception):
    """Raised if a library lacks a function; the adapter computes on the host instead."""


class Library:
    """An array library's functions under NumPy's names, which references call."""

    def __init__(self, module: object) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        """The function or sub-module of that name.

        Raises
        ------
        LacksFunctionError
            If the library has none.
        """
        found = getattr(self._module, name, None)
        if found is None:
            raise LacksFunctionError(name)
        return Library(found) if isinstance(found, ModuleType) else found


class PortableNamespace(Referenced):
    """Defaults for primitives that few array libraries have."""

    def __getattr__(self, name: str) -> Callable[..., Array]:
        """A primitive by its formula if it is a special function, else by its reference; cached.

        The formulas are not members: an adapter whose ``__getattr__`` makes kernels of the element-wise primitives finds those first.
        """
        if name not in FORMULAS:
            return super().__getattr__(name)
        found = vars(self)[name] = partial(self._in_float64, FORMULAS[name])
        return found

    def _in_float64(self, formula: Callable[..., Array], x: Array, **params: object) -> Array:
        """A special function on the host, computed in float64, with a result in the operand's floating-point dtype."""

        def compute(x: np.ndarray) -> np.ndarray:
            return formula(np, x.astype(np.float64), **params).astype(NUMPY[float_of(NAME_OF[x.dtype])])

        return self.on_host(compute, x)

    @abstractmethod
    def on_host(self, function: Callable[..., Array], *operands: Array) -> Array:
        """Call a function on host copies of arrays; the result as an array of the library, or a list of arrays for a tuple or list.

        Python scalars among the operands are passed unchanged.
        """

    def by_reference(self, name: str, *operands: Array, **params: object) -> Array:
        """Compute the reference on the host."""
        return self.on_host(partial(REFERENCES[name].function, np, **params), *operands)

    def clip(self, x, low, high):
        # in this order: if the lower bound is above the upper bound, the result is the upper bound, as in NumPy
        return self.astype(self.minimum(self.maximum(x, low), high), dtype=self.dtype_of(x))

    def stop_gradient(self, x):
        return x

    def sort(self, x, *, axis, descending=False):
        return self.take_along_axis(x, self.argsort(x, axis=axis, descending=descending), axis=axis)

    # windows

    def pad(self, x, *, width, value=0.0):
        out = self.full(shape=tuple(n + a + b for n, (a, b) in zip(x.shape, width, strict=True)), value=value, dtype=self.dtype_of(x))
        return self.slice_update(out, x, key=tuple((a, a + n, None) for n, (a, _) in zip(x.shape, width, strict=True)))

    def unfold(self, x, *, kernel, stride, dilate):
        lead = len(x.shape) - len(kernel)
        sizes = [(s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(x.shape[lead:], kernel, stride, dilate, strict=True)]
        shape = *x.shape[:lead], *sizes
        keys = [window_key(lead, place, sizes, stride, dilate) for place in product(*map(range, kernel))]
        parts = [self.reshape(self.slice(x, key=key), shape=(*shape, 1)) for key in keys]
        return self.reshape(self.concat(*parts, axis=len(shape)), shape=(*shape, *kernel))

    def fold(self, x, *, size, kernel, stride, dilate):
        lead = len(x.shape) - 2 * len(kernel)
        shape = x.shape[: lead + len(kernel)]
        out = self.full(shape=(*shape[:lead], *size), value=0, dtype=self.dtype_of(x))
        for place in product(*map(range, kernel)):
            key = window_key(lead, place, shape[lead:], stride, dilate)
            part = self.slice(x, key=(*[FULL] * len(shape), *[(p, p + 1, None) for p in place]))
            # one tap is at a different place in each window, so a single addition for all windows loses nothing
            out = self.slice_update(out, self.add(self.slice(out, key=key), self.reshape(part, shape=shape)), key=key)
        return out

    @in_either_order()
    def convolve(self, data, weight, *, stride, dilate, pad, groups):
        return convolution.convolve(self, data, weight, stride, dilate, pad, groups)

    def convolve_packed(self, data, weight, *, shape, groups, **params):
        return self.convolve(data, convolution.unpacked_weight(self, weight, shape, groups), groups=groups, **params)

    @in_either_order()
    def convolve_data(self, result, weight, *, size, stride, dilate, pad, groups):
        return convolution.convolve_data(self, result, weight, size, stride, dilate, pad, groups)

    @in_either_order(images=(0, 1), gives_image=False)
    def convolve_weight(self, data, result, *, kernel, stride, dilate, pad, groups):
        return convolution.convolve_weight(self, data, result, kernel, stride, dilate, pad, groups)

    def integer_matmul(self, rows, weight):
        return integer_products.matmul(self, rows, weight)

    def integer_convolve(self, data, weight, **params):
        return integer_products.convolve(self, data, weight, **params)

    def einsum(self, *arrays, subscripts):
        left, right = subscripts.split("->")
        # every operand gets one axis per letter, the summed ones last, and the product is summed over those
        letters = right + "".join(sorted({*left} - {*right, ","}))
        terms = [self._aligned_term(x, term, letters) for x, term in zip(arrays, left.split(","), strict=True)]
        whole = reduce(self.multiply, terms)
        summed = self.sum(whole, axis=tuple(range(len(right), len(letters)))) if len(letters) > len(right) else whole
        return self.astype(summed, dtype=self.dtype_of(whole))

    def _aligned_term(self, x: Array, term: str, letters: str) -> Array:
        """An operand with one axis per letter, of size 1 where it lacks the letter."""
        ordered = self.permute_dims(x, axes=tuple(term.index(letter) for letter in letters if letter in term))
        return self.reshape(ordered, shape=tuple(x.shape[term.index(letter)] if letter in term else 1 for letter in letters))

    # on the host

    def checked_index(self, index, *, size, negative):
        return self.on_host(lambda index: checked_places(index, size, negative), index)


def window_key(lead: int, place: Sequence[int], sizes: Sequence[int], stride: Sequence[int], dilate: Sequence[int]) -> Key:
    """The slices that select one element (tap) of every window."""
    steps = zip(place, sizes, stride, dilate, strict=True)
    return (*[FULL] * lead, *[(p * d, p * d + (n - 1) * s + 1, s) for p, n, s, d in steps])


def checked_places(index: np.ndarray, size: int, negative: bool) -> np.ndarray:
    """Indices as positions from 0; with ``negative``, indices below 0 count from the end.

    Raises
    ------
    IndexingError
        If an index is out of bounds.
    """
    low = -size if negative else 0
    outside = index[(index < low) | (index >= size)]
    if outside.size:
        given = f"index {outside.flat[0]} for size {size}"
        raise IndexingError("an index is out of bounds", given, f"pass indices from {low} to {size - 1}")
    return np.where(index < 0, index + size, index)


def array_key(arrays: Sequence[Array], key: Sequence[int | None]) -> tuple[Any, ...]:
    """The NumPy index of primitives like ``index``: for each axis an array or a full slice."""
    return tuple([slice(None) if k is None else arrays[k] for k in key])

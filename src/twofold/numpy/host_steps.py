"""Functions of NumPy on arrays that a trace follows: steps of its graph that run on the host, whenever the graph runs.

The graph must know the shape of each result, so only functions take part whose results' shapes do not depend on values. They have no
gradient: most results are indices, counts and tests.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..calls.host_calls import map_nested
from ..dtype import NAME_OF
from ..imperative.array import Array, adopted
from ..imperative.cell import wrap
from ..imperative.invoke import invoke
from ..ops import host_call
from .array import ndarray

Shape: TypeAlias = tuple[int, ...]
#: The shapes and dtypes of a call's results, and the sequences that hold them.
Results: TypeAlias = tuple[tuple[tuple[Shape, str], ...], object]
#: Functions whose results' shapes and dtypes follow from those of their arguments; ufuncs without an operator are such as well.
OF_KNOWN_SHAPE = frozenset({
    np.argpartition, np.digitize, np.histogram2d, np.histogramdd, np.iscomplex, np.isin,
    np.isneginf, np.isposinf, np.isreal, np.lexsort, np.linalg.matrix_rank, np.nanargmax, np.nanargmin, np.packbits, np.ravel_multi_index,
    np.searchsorted, np.unpackbits, np.unravel_index, np.ndarray.argpartition, np.ndarray.searchsorted,
})  # fmt: skip
#: Functions that read only the types of their arguments.
OF_TYPES = frozenset({
    np.diag_indices_from, np.einsum_path, np.iscomplexobj, np.isrealobj, np.tril_indices_from, np.triu_indices_from,
})  # fmt: skip


class _Place(int):
    """Stands for the array with this number among the operands of a call."""


class _Nested(NamedTuple):
    """Hashable form of a list, tuple or dictionary."""

    kind: type
    items: tuple[object, ...]


def taken_apart(value: object, arrays: list[Array | np.ndarray]) -> object:
    """Hashable form of an argument; its arrays are added to a list."""
    if isinstance(value, (Array, np.ndarray)):
        arrays.append(value)
        return _Place(len(arrays) - 1)
    if isinstance(value, (list, tuple)):
        return _Nested(value.__class__, tuple([taken_apart(v, arrays) for v in value]))
    if isinstance(value, dict):
        return _Nested(dict, tuple([(k, taken_apart(v, arrays)) for k, v in value.items()]))
    # equal numbers of different types are different arguments
    return _Nested(value.__class__, (value,)) if isinstance(value, (bool, int, float, complex)) else value


def put_together(value: Any, arrays: Sequence[np.ndarray]) -> Any:
    """The argument of a hashable form, with these arrays."""
    if value.__class__ is _Place:
        return arrays[value]
    if value.__class__ is not _Nested:
        return value
    if value.kind is dict:
        return {k: put_together(v, arrays) for k, v in value.items}
    return value.kind([put_together(v, arrays) for v in value.items]) if value.kind in (list, tuple) else value.items[0]


def _leaves(value: object) -> Iterator[object]:
    """The results in nested sequences."""
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _leaves(v)
    else:
        yield value


@dataclass(frozen=True)
class Call:
    """A call of a function of NumPy, as a function of its arrays; equal calls are one operator.

    Attributes
    ----------
    function
        NumPy's function.
    arguments
        Its arguments and options in hashable form.
    """

    function: Callable[..., object]
    arguments: object

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__qualname__", "a function of NumPy")

    def found(self, arrays: Sequence[np.ndarray]) -> object:
        """What NumPy returns."""
        args, options = put_together(self.arguments, arrays)
        return self.function(*args, **options)

    def __call__(self, xp: object, *arrays: np.ndarray) -> list[object]:
        """The results, without the sequences that hold them."""
        return list(_leaves(self.found(arrays)))


def host_step(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a function as a step of the trace that follows one of its arrays.

    Returns
    -------
    object
        NotImplemented if the shape of a result depends on values.
    """
    arrays: list[Array | np.ndarray] = []
    call = Call(function, taken_apart((args, options), arrays))
    if function in OF_TYPES:
        return call.found([np.broadcast_to(np.zeros((), a.dtype), a.shape) for a in arrays])
    if not isinstance(function, np.ufunc) and function not in OF_KNOWN_SHAPE:
        return NotImplemented
    # a call of the same kind has run before: nothing is computed to find its types
    return step_of(call, arrays, _results_of(call, tuple([(a.shape, a.dtype) for a in arrays])))


def step_of(call: Callable[..., object], arrays: Sequence[Array | np.ndarray], results: Results) -> Any:
    """The results of a function of arrays, at least one of which is ours, as a step on the host."""
    types, form = results
    # constants of NumPy's are operands too, as they cannot be part of a key
    device = next(a.context for a in arrays if isinstance(a, Array))
    operands = [a if isinstance(a, Array) else adopted(ndarray, a, device) for a in arrays]
    contents = iter(invoke(host_call.host_call.bind(function=call, types=types, grad=None, given=()), operands))
    return map_nested(form, lambda _: wrap(ndarray, next(contents)))


@lru_cache(256)
def _results_of(call: Call, operands: tuple[tuple[Shape, np.dtype], ...]) -> Results:
    """The shapes and dtypes of a call's results, and the sequences that hold them: those for operands that are zero."""
    return results_of(call.found([np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in operands]))


def results_of(found: object) -> Results:
    """The shapes and dtypes of results, and the sequences that hold them."""
    results = list(map(np.asarray, _leaves(found)))
    return tuple([(r.shape, NAME_OF[r.dtype]) for r in results]), map_nested(found, lambda _: None)

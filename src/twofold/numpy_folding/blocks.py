"""Chains computed block by block by NumPy's own functions: what one operation writes is still in the cache when the next reads it.

Every function computes an element of its result from the same elements of its operands, so blocks have NumPy's bits, and the
floating-point errors of all blocks together are those of the whole.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..backend import workers
from ..backend.strides import merge_axes
from .error_state import Log, logged
from .rules import Rule, loop_types

#: Bytes of a block of an array: a few of them fit into the second cache of a core.
BLOCK = 1 << 17
#: The same where several threads take turns to dispatch: their calls must be long beside the dispatch.
SHARED_BLOCK = 1 << 19
#: Nanoseconds of work from which a second thread pays.
THREADED = 2_000_000
#: Pieces for each thread: a helper that comes late still takes some.
PIECES = 4
Shape = tuple[int, ...]


class ChainStep:
    """An operation of a chain.

    Attributes
    ----------
    rule
        What is computed.
    operands
        Of arrays, Python's numbers, and earlier steps.
    shape, dtype
        Of the result.
    is_stored
        Whether the result is wanted; other results exist only block by block.
    """

    __slots__ = ("dtype", "is_stored", "operands", "rule", "shape")

    def __init__(self, rule: Rule, operands: Sequence[Any], kind: tuple[Shape, np.dtype[Any]], is_stored: bool) -> None:
        self.rule, self.operands, self.is_stored = rule, operands, is_stored
        self.shape, self.dtype = kind


def pays_alone(rule: Rule, shape: Shape) -> bool:
    """Whether an operation that is no part of a chain is faster in blocks, on several threads."""
    return rule.cost >= 1 and math.prod(shape) * rule.cost >= THREADED and workers.count() > 1


def computed(steps: Sequence[ChainStep]) -> tuple[list[np.ndarray], dict[int, set[str]]]:
    """Compute a chain, all of one shape, in order.

    Returns
    -------
    list of numpy.ndarray
        The stored results, in row-major order.
    dict
        What NumPy logged, by the steps' positions.
    """
    plan = Blockwise(steps)
    return plan.run(), plan.texts


class Blockwise:
    """How a chain is computed: its values are numbered, and each number stands for an array in a block.

    Attributes
    ----------
    values
        Constants, and None for what differs from block to block.
    cut
        The arrays that are cut into blocks, with their numbers.
    scratch
        The numbers of what exists only in blocks, with dtypes.
    calls
        For each step a function, the numbers of its operands, and that of its result.
    """

    def __init__(self, steps: Sequence[ChainStep]) -> None:
        self.steps = steps
        self.values: list[Any] = []
        self.cut: list[tuple[int, np.ndarray]] = []
        self.scratch: list[tuple[int, np.dtype[Any]]] = []
        self.calls: list[tuple[Callable[..., Any], tuple[int, ...], int]] = []
        self.results: list[np.ndarray] = []
        self.texts: dict[int, set[str]] = {}
        self._number()
        shape = steps[0].shape
        self.space = collapsed(shape, [a for _, a in self.cut])
        self.cut = [(k, reshaped(a, shape, self.space)) for k, a in self.cut]

    def _number(self) -> None:
        known: dict[int, int] = {}  # numbers of arrays and of steps, by their ids
        last: dict[int, int] = {id(x): k for k, step in enumerate(self.steps) for x in step.operands if type(x) is ChainStep}
        free: dict[np.dtype[Any], list[int]] = {}
        for k, step in enumerate(self.steps):
            operands = tuple([self._operand(x, known) for x in converted(step)])
            if step.is_stored:
                result = np.empty(step.shape, step.dtype)
                self.results.append(result)
                number = self._new()
                self.cut.append((number, result))
            elif spare := free.get(step.dtype):
                number = spare.pop()
            else:
                number = self._new()
                self.scratch.append((number, step.dtype))
            known[id(step)] = number
            self.calls.append((step.rule.write, operands, number))
            for x in {id(x): x for x in step.operands if type(x) is ChainStep and not x.is_stored}.values():
                if last[id(x)] == k:
                    free.setdefault(x.dtype, []).append(known[id(x)])

    def _new(self, value: Any = None) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _operand(self, x: Any, known: dict[int, int]) -> int:
        found = known.get(id(x))
        if found is None:
            if type(x) is not np.ndarray or not x.ndim:
                return self._new(x)
            known[id(x)] = found = self._new()
            self.cut.append((found, x))
        return found

    def run(self) -> list[np.ndarray]:
        """Compute all blocks; several threads share them if that pays."""
        size = math.prod(self.space)
        itemsize = max([a.dtype.itemsize for _, a in self.cut] + [d.itemsize for _, d in self.scratch])
        threads = workers.count() if size * sum(step.rule.cost for step in self.steps) >= THREADED else 1
        places = list(blocks(self.space, (BLOCK if threads == 1 else SHARED_BLOCK) // itemsize))
        if threads == 1 or len(places) == 1:
            logged(partial(self._run, places))
        else:
            pieces = min(len(places), PIECES * threads)
            bounds = [len(places) * k // pieces for k in range(pieces + 1)]
            workers.run_all([partial(logged, partial(self._run, places[a:b])) for a, b in pairwise(bounds)])
        return self.results

    def _run(self, places: Sequence[Any], log: Log) -> None:
        """Compute some blocks."""
        values, cut, calls, texts = self.values.copy(), self.cut, self.calls, log.texts
        shape: Shape | None = None
        first, array = cut[0]
        flat: list[tuple[int, np.ndarray]] = []
        for place in places:
            for number, array in cut:
                values[number] = array[place]
            own = values[first].shape
            if own != shape:
                shape, size = own, math.prod(own)
                if not flat or flat[0][1].size < size:
                    flat = [(number, np.empty(size, dtype)) for number, dtype in self.scratch]
                for number, memory in flat:
                    values[number] = memory[:size].reshape(own)
            for k, (function, operands, result) in enumerate(calls):
                if len(operands) == 2:
                    function(values[operands[0]], values[operands[1]], values[result])
                else:
                    function(*[values[x] for x in operands], values[result])
                if texts:
                    self.texts.setdefault(k, set()).update(texts)
                    texts.clear()


def converted(step: ChainStep) -> Sequence[Any]:
    """The operands with Python's numbers as arrays of the dtype to which NumPy converts them: at once instead of in each block."""
    fn, operands = step.rule.numpys, step.operands
    if type(fn) is not np.ufunc or not any(type(x) is float or type(x) is int for x in operands):
        return operands
    kinds = tuple([type(x) if type(x) is float or type(x) is int else x.dtype for x in operands])
    dtypes = loop_types(fn, kinds)
    assert dtypes is not None
    return [np.array(x, d) if type(x) is float or type(x) is int else x for x, d in zip(operands, dtypes, strict=False)]


def collapsed(shape: Shape, arrays: Sequence[np.ndarray]) -> Shape:
    """The shape with as few axes as all arrays, broadcast to it, allow: neighbouring ones over which they all step evenly are one."""
    if all(a.flags.c_contiguous and a.shape == shape for a in arrays):
        return (math.prod(shape),)
    return merge_axes(shape, [np.broadcast_to(a, shape).strides for a in arrays]).sizes or (1,)


def reshaped(array: np.ndarray, shape: Shape, space: Shape) -> np.ndarray:
    """A view of an array, broadcast to the shape, with the axes of the space."""
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    found = array.reshape(space)
    assert np.may_share_memory(found, array)
    return found


def blocks(space: Shape, elements: int) -> Iterator[Any]:
    """Indices of blocks of about so many elements."""
    inner = math.prod(space[1:])
    if inner <= elements or len(space) == 1:
        step = max(1, elements // inner)
        for k in range(0, space[0], step):
            yield slice(k, k + step)
    else:
        for k in range(space[0]):
            for rest in blocks(space[1:], elements):
                yield (k, *rest) if type(rest) is tuple else (k, rest)

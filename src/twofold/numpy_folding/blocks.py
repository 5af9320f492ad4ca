"""Chains computed block by block by NumPy's functions: a result is still in the cache when the next operation reads it.

Every function computes an element of its result from the same elements of its operands, so blocks have NumPy's bits, and the
floating-point errors of all blocks together are those of the whole.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..backend import workers
from ..backend.strides import merge_axes
from .error_state import Log, logged
from .memory import ArrayOperand, Operand, Operation, array_of
from .rules import Kind, Rule, Shape, loop_types

#: Bytes of a block of an array. A few blocks fit into the caches of a core, and a call takes much longer than its dispatch, for which
#: threads wait for one another, under the GIL.
BLOCK = 1 << 19
#: Nanoseconds of work from which a second thread pays.
THREADED = 2_000_000
#: Pieces for each thread: enough for a helper that starts late to find some.
PIECES = 4
CONSTANTS = (float, int, np.ndarray)
#: The errors that NumPy logged, by the position of the operation in the chain.
Texts = dict[int, set[str]]
#: The index of a block.
Place = slice | tuple[int | slice, ...]


def pays_alone(rule: Rule, shape: Shape) -> bool:
    """Whether a single operation, without a chain, is faster in blocks on several threads."""
    return rule.cost >= 1 and math.prod(shape) * rule.cost >= THREADED and workers.count() > 1


def computed(order: Sequence[Operation], stored: Collection[Operation]) -> tuple[list[np.ndarray], Texts]:
    """Compute a chain.

    Parameters
    ----------
    order
        The operations, all of one shape, each after its operands.
    stored
        The operations whose results are stored; other results exist only block by block.

    Returns
    -------
    list of numpy.ndarray
        The stored results, in row-major order.
    dict
        The errors that NumPy logged.
    """
    chain = Blockwise(order, stored)
    return chain.run(), chain.texts


class Blockwise:
    """How a chain is computed: its values are numbered, and each number stands for an array in a block.

    Attributes
    ----------
    order, shape
        The operations, and the shape of all of them.
    values
        The constants, and None for each value that differs from block to block.
    cut
        The arrays that are cut into blocks, with their numbers.
    scratch
        The numbers of values that exist only in blocks, with dtypes.
    calls
        For each operation a function, the numbers of its operands, and that of its result.
    space
        The shape with as few axes as the arrays that are cut allow.
    """

    def __init__(self, order: Sequence[Operation], stored: Collection[Operation]) -> None:
        self.order, self.shape = order, order[0].kind[0]
        self.values: list[Any] = []
        self.cut: list[tuple[int, np.ndarray]] = []
        self.scratch: list[tuple[int, np.dtype]] = []
        self.calls: list[tuple[Callable[..., object], list[int], int]] = []
        self.results: list[np.ndarray] = []
        self.texts: Texts = {}
        self._number(set(stored))
        self._lay_out()

    def _number(self, stored: set[Operation]) -> None:
        values = self.values
        known: dict[int, int] = {}  # numbers of arrays and of operations, by their ids
        # The position of the last operation that reads each value; a value that no operation reads has its own position.
        last = {id(x): k for k, node in enumerate(self.order) for x in (node, *node.operands)}
        held: dict[int, tuple[int, np.dtype]] = {}  # scratch in use, by the ids of operations
        free: dict[np.dtype, list[int]] = {}
        for k, node in enumerate(self.order):
            dtype, operands = node.kind[1], list[int]()
            # A single operand is always an array, never a number that must be converted.
            for x in converted(node.rule.numpys, node.operands) if len(node.operands) > 1 else node.operands:
                number = known.get(id(x))
                if number is None:
                    if isinstance(x, CONSTANTS):
                        number = len(values)
                        values.append(x)
                    else:
                        # an array, or the result of a node that another chain has computed
                        number = known[id(x)] = self._array(array_of(x), known)
                operands.append(number)
            if node.rule.numpys.__class__ is np.ufunc:  # it may write over an operand that nothing reads later: that memory is in the cache
                for x in node.operands:
                    if last[id(x)] == k and (over := held.pop(id(x), None)):
                        free.setdefault(over[1], []).append(over[0])
            if spare := free.get(dtype):
                number = spare.pop()
            else:
                number = len(values)
                values.append(None)
                self.scratch.append((number, dtype))
            if node in stored:
                # the value was scratch so far, as other values before it may have been: from now on it is the memory of a result
                self.scratch.remove((number, dtype))
                self.results.append(result := np.empty(self.shape, dtype))
                if self.shape:
                    self.cut.append((number, result))
                else:
                    values[number] = result
            else:
                held[id(node)] = number, dtype
            known[id(node)] = number
            self.calls.append((node.rule.write, operands, number))
            # Scratch is free for others after its last reader, or after the operation itself if it has no reader and runs for its warnings.
            for x in (node, *node.operands):
                if last[id(x)] == k and (over := held.pop(id(x), None)):
                    free.setdefault(over[1], []).append(over[0])

    def _array(self, array: np.ndarray, known: dict[int, int]) -> int:
        """The number of a NumPy array. The array is cut into blocks unless it has no axes."""
        number = known.get(id(array))
        if number is None:
            number = known[id(array)] = len(self.values)
            self.values.append(None if array.ndim else array)
            if array.ndim:
                self.cut.append((number, array))
        return number

    def _lay_out(self) -> None:
        """Give all arrays that are cut the same few axes: neighboring axes over which all of them step evenly become one."""
        shape = self.shape
        for _, array in self.cut:
            if array.shape != shape or not array.flags.c_contiguous:
                # Results already have the shape, and are not broadcast: a broadcast array cannot be written.
                wide = [(k, a if a.shape == shape else np.broadcast_to(a, shape)) for k, a in self.cut]
                self.space = merge_axes(shape, [a.strides for _, a in wide]).sizes or (1,)
                self.cut = [(k, a.reshape(self.space)) for k, a in wide]
                # ``reshape`` copies, without an error, where axes cannot be joined. A result written to such a copy would be lost.
                assert all(np.may_share_memory(a, b) for (_, a), (_, b) in zip(wide, self.cut, strict=True))
                return
        self.space = (math.prod(shape),)
        self.cut = [(k, a.reshape(-1)) for k, a in self.cut]

    def run(self) -> list[np.ndarray]:
        """Compute all blocks; several threads share them if that pays."""
        threads, cost, widest = 1, 0.0, 1
        for node in self.order:
            cost += node.rule.cost
        for _, x in (*self.cut, *self.scratch):
            widest = max(widest, x.itemsize)
        if math.prod(self.space) * cost >= THREADED:
            threads = workers.count()
        # The widest dtype limits the number of elements, so that no array's block is larger than intended.
        places = blocks(self.space, BLOCK // widest)
        if threads == 1 or len(places) == 1:
            logged(partial(self._run, places))
        else:
            pieces = min(len(places), PIECES * threads)
            bounds = [len(places) * k // pieces for k in range(pieces + 1)]
            workers.run_all([partial(logged, partial(self._run, places[a:b])) for a, b in pairwise(bounds)])
        return self.results

    def _run(self, places: Sequence[Place], log: Log) -> None:
        """Compute some blocks."""
        values, cut, calls, texts = self.values.copy(), self.cut, self.calls, log.texts
        shape: Shape | None = None
        first, _ = cut[0]
        flat: list[tuple[int, np.ndarray]] = []
        for place in places:
            for number, array in cut:
                values[number] = array[place]
            own = values[first].shape
            if own != shape:
                shape, size = own, math.prod(own)
                # Only the last block of a row is smaller, so each thread allocates its scratch about once.
                if not flat or flat[0][1].size < size:
                    flat = [(number, np.empty(size, dtype)) for number, dtype in self.scratch]
                for number, memory in flat:
                    values[number] = memory[:size].reshape(own)
            for k, (function, operands, result) in enumerate(calls):
                if len(operands) == 2:
                    function(values[operands[0]], values[operands[1]], values[result])
                elif len(operands) == 1:
                    function(values[operands[0]], values[result])
                else:
                    function(*[values[x] for x in operands], values[result])
                # `texts` is the list that NumPy appends to: it holds the errors of this one call.
                if texts:
                    self.texts.setdefault(k, set()).update(texts)
                    texts.clear()


def converted(fn: Callable[..., object], operands: tuple[Operand, ...]) -> Sequence[Operand | np.ndarray]:
    """The operands, with Python's numbers made arrays of the dtype to which NumPy converts them: once, instead of in each block."""
    # `where`, `clip` and casts have no ufunc loops, and take Python's numbers directly.
    if type(fn) is not np.ufunc:
        return operands
    # NumPy's own promotion decides: a Python number takes the dtype of the loop that the arrays select.
    kinds: list[Kind] = []
    places: list[int] = []
    for k, x in enumerate(operands):
        if isinstance(x, (float, int)):
            places.append(k)
            kinds.append(type(x))
        else:
            kinds.append(x.array.dtype if type(x) is ArrayOperand else x.kind[1])
    found: list[Operand | np.ndarray] = [*operands]
    if places:
        dtypes = loop_types(fn, tuple(kinds))
        assert dtypes is not None
        for k in places:
            found[k] = np.array(operands[k], dtypes[k])
    return found


def blocks(space: Shape, elements: int) -> list[Place]:
    """The indices of blocks of about ``elements`` elements."""
    inner = math.prod(space[1:])
    if inner <= elements or len(space) == 1:
        step = max(1, elements // inner)
        return [slice(k, k + step) for k in range(0, space[0], step)]
    # The other axes alone are larger than a block, so each index of the first axis is cut into blocks.
    rests = blocks(space[1:], elements)
    return [(k, *(rest if isinstance(rest, tuple) else (rest,))) for k in range(space[0]) for rest in rests]

"""NumPy's random numbers in functions that a trace follows and that run again: each run draws anew, and so does each step of a loop.

There NumPy's own stream cannot be followed: which numbers come next is not known when the function is traced. So each call becomes a step
on the host that draws from a generator of its own. Its seed is drawn from the stream of ``mx.random.seed``, as that of other samplers is,
so loops, batches and compiled functions treat both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..imperative.array import Array, apply_op
from ..ops.random_sampling import random_randint
from .array import ndarray
from .host_steps import put_together, results_of, step_of, taken_apart

#: Methods that read or set the state of a stream. They concern NumPy's own also while a function is traced.
OF_STATE = frozenset({"seed", "get_state", "set_state", "bytes", "spawn"})
#: How many words of 31 bits seed a generator.
WORDS = 4


@dataclass(frozen=True)
class Draw:
    """A method of a generator with a seed, as a function of the words of the seed and of arrays; equal draws are one operator.

    Attributes
    ----------
    of_state
        Whether the generator is a RandomState, which the functions of ``np.random`` belong to; else a Generator.
    method
        The method's name.
    arguments
        Its arguments and options in hashable form.
    """

    of_state: bool
    method: str
    arguments: object

    @property
    def __name__(self) -> str:
        return f"np.random.{self.method}"

    def found(self, arrays: Sequence[np.ndarray], words: np.ndarray) -> object:
        """What NumPy returns."""
        bits = np.random.MT19937(np.random.SeedSequence(words.tolist()))
        args, options = put_together(self.arguments, arrays)
        return getattr((np.random.RandomState if self.of_state else np.random.Generator)(bits), self.method)(*args, **options)

    def __call__(self, xp: object, words: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        """The numbers, which are one array."""
        return np.asarray(self.found(arrays, words))


def traced_draw(function: Any, args: tuple[Any, ...], options: dict[str, Any], *, is_written: bool) -> ndarray | None:
    """The result of a method of NumPy's generators as a step of a traced function.

    Parameters
    ----------
    function, args, options
        The call.
    is_written
        Whether it shuffles its first argument.

    Raises
    ------
    ValueError
        If the parameters are not those of a distribution: arrays of ones stand for arrays whose values are not known.
    """
    if is_written:
        args[0][...] = _drawn(function.__self__.permutation, args, options)
        return None
    out = options.get("out")
    if out is None:
        return _drawn(function, args, options)
    out[...] = _drawn(function, args, {k: v for k, v in options.items() if k != "out"} | {"size": out.shape, "dtype": out.dtype})
    return out


def _drawn(function: Callable[..., object], args: tuple[object, ...], options: dict[str, object]) -> ndarray:
    """The numbers that a method returns."""
    arrays: list[Array | np.ndarray] = []
    of_state = isinstance(getattr(function, "__self__", None), np.random.RandomState)
    draw = Draw(of_state, function.__name__, taken_apart((args, options), arrays))
    ones = [np.ones(a.shape, a.dtype) for a in arrays]
    results = results_of(draw.found(ones, np.zeros(WORDS, np.int64)))
    words = apply_op(random_randint, 0, 2**31 - 1, shape=(WORDS,), dtype="int32", cls=ndarray)
    return step_of(draw, [words, *arrays], results)

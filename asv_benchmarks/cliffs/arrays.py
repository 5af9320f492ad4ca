"""The arrays that the statements name, of ``n`` elements in all: made only as far as a statement needs them."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy

#: Rows of tall matrices have so many elements.
NARROW = 8


def _side(n: int) -> int:
    return max(1, isqrt(n))


def _draw(seed: int = 0) -> numpy.random.Generator:
    return numpy.random.default_rng(seed)


def _rows(n: int) -> int:
    return max(1, n // NARROW)


#: Name to a function of the number of elements.
MAKERS: dict[str, Callable[[int], Any]] = {
    "x": lambda n: _draw().random(n),
    "y": lambda n: _draw(1).random(n) + 0.01,
    "z": lambda n: numpy.zeros(n),
    "f": lambda n: _draw().random(n, "float32"),
    "i": lambda n: _draw().integers(0, 1000, n),
    "b": lambda n: _draw().integers(0, 100, n),
    "m": lambda n: _draw().random(n) < 0.5,
    "j": lambda n: _draw().permutation(n),
    "s": lambda n: numpy.sort(_draw().random(min(n, 1000))),
    "A": lambda n: _draw().random((_side(n), _side(n))),
    "C": lambda n: numpy.zeros((_side(n), _side(n))),
    "r": lambda n: numpy.zeros(_side(n)),
    "c": lambda n: _draw(2).random(_side(n)),
    "k": lambda n: _draw().permutation(_side(n)),
    "L": lambda n: numpy.tril(_draw().random((_side(n), _side(n)))) + numpy.eye(_side(n)) * _side(n),
    "D": lambda n: _draw().random((max(1, round(n ** (1 / 3))),) * 3),
    "T": lambda n: _draw().random((_rows(n), NARROW)),
    "W": lambda n: _draw().random((NARROW, _rows(n))),
    "t": lambda n: _draw(3).random(NARROW),
    "x8": lambda n: _draw(4).random(_rows(n)),
    "F": lambda n: _draw().random((_rows(n), NARROW), "float32"),
    "I": lambda n: _draw().integers(0, 10, (_rows(n), NARROW)),
    "B": lambda n: _draw().random((max(1, n // 16), 4, 4)),
}
#: Arrays of real numbers, which have gradients while operations are recorded.
DIFFERENTIABLE = frozenset("xyfAcTWtFBD") | {"x8"}


def arrays(names: frozenset[str], n: int) -> dict[str, Any]:
    """NumPy's arrays of these names."""
    return {name: MAKERS[name](n) for name in names if name in MAKERS}

"""The steps of random NumPy programs on ordinary arrays: arithmetic, views of views, overlapping writes, reductions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from tests.three_ways.worlds import Folding, Pair, Twofold, compare, outcome

if TYPE_CHECKING:
    from collections import Counter

SHAPES = ((8, 9), (9, 8), (8, 8), (72,), (3, 4, 6), (4, 4, 4), (6, 12), (1, 40), (5,), (2, 3))
DTYPES = ("float64",) * 5 + ("float32", "float32", "int64", "int32", "int8", "uint8", "uint16", "bool")
SCALARS = (2.0, 3, 0.5, -1, 1e3, numpy.float64(1.5), numpy.float32(0.25), True)
UNARY = ("negative", "abs", "square", "sqrt", "floor", "ceil", "rint", "sign", "logical_not", "positive")
ROUNDED = ("exp", "tanh", "sin", "cos", "log1p", "arctan")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "remainder", "logical_and", "logical_xor")
COMPARED = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
EXACT_REDUCTIONS = ("max", "min", "argmax", "argmin", "any", "all")
ROUNDED_REDUCTIONS = ("sum", "mean", "std", "var", "prod")
#: The largest magnitude that elements keep: sums must not lose their tolerance.
LARGEST = 1e6


class Steps:
    """The arrays of one program, and the steps that change them."""

    def __init__(self, seed: int, way: Folding | Twofold, counts: Counter[str]) -> None:
        self.random = random.Random(seed)
        self.generator = numpy.random.default_rng(seed)
        self.way, self.counts = way, counts
        self.pool: list[Pair] = []
        self.exports: list[Any] = []
        self.text: list[str] = []
        for _ in range(3):
            self.new()

    # picking

    def new(self) -> None:
        """Make an array."""
        values = self.generator.random(self.random.choice(SHAPES)) * 4 - 1
        dtype = numpy.dtype(self.random.choice(DTYPES))
        values = (values * 9 if dtype.kind == "i" else abs(values) * 9).astype(dtype) if dtype.kind in "iu" else values.astype(dtype)
        if self.way.is_everything and self.random.random() < 0.2:
            values = numpy.asfortranarray(values)
        self.pool.append(self.way.array(values))
        self.text.append(f"new {values.dtype} {values.shape}")

    def pick(self, accept: Callable[[Any], bool] = lambda a: True) -> Pair | None:
        """A random array of those that are accepted, by NumPy's."""
        found = [p for p in self.pool if accept(p.want)]
        return self.random.choice(found) if found else None

    def numbers(self) -> Pair | None:
        """An array of real numbers."""
        return self.pick(lambda a: a.dtype.kind in "fiub")

    def floats(self) -> Pair | None:
        """An array of floats that can be written."""
        return self.pick(lambda a: a.dtype.kind == "f" and a.flags.writeable and a.dtype.itemsize >= 4)

    def like(self, pair: Pair) -> Pair:
        """An array of numbers of the same shape."""
        found = self.pick(lambda a: a.shape == pair.want.shape and a.dtype.kind in "fiub")
        return found or pair

    def key(self, shape: tuple[int, ...]) -> Any:
        """An index that gives a view, or an element."""
        k: list[Any] = []
        for n in shape:
            c = self.random.randrange(8)
            if c == 0:
                k.append(self.random.randrange(-n, n))
            elif c < 3:
                k.append(slice(None))
            elif c == 3:
                k.append(slice(None, None, self.random.choice([-1, 2, -2])))
            elif c == 4:
                k += [None, slice(None)]
            else:
                start = self.random.randrange(n)
                k.append(slice(start, self.random.randrange(start + 1, n + 1), self.random.choice([1, 1, 2])))
        return tuple(k) if self.random.random() < 0.8 else (..., k[-1])

    # running

    def both(self, what: str, function: Callable[..., Any], *pairs: Pair, exact: bool = True, keep: bool = True) -> None:
        """Run a step in both, ``function(np, *arrays)``, and compare what it gives or raises."""
        self.text.append(what)
        before = [p.want for p in self.pool]
        want, error = outcome(function, numpy, *[p.want for p in pairs])
        have, other = outcome(function, self.way.np, *[p.have for p in pairs])
        if error is not None or other is not None:
            assert error is not None, f"only {self.way.name} raises {other!r}"
            assert other is not None, f"only NumPy raises {error!r}"
            self.way.check_error(error, other)
            self.counts["errors"] += 1
            return
        want = self.way.normal(want, before)
        self.way.check_kind(want, have)
        is_array = isinstance(want, numpy.ndarray) and want.ndim > 0 and want.size > 0
        if keep and exact and is_array and type(want) is numpy.ndarray:
            assert have.shape == want.shape, (want.shape, have.shape)
            assert have.dtype == want.dtype, (want.dtype, have.dtype)
            self.pool.append(Pair(want, have))
        elif want is not None:
            compare(self.way, want, have, exact)
        while len(self.pool) > 10:
            self.pool.pop(self.random.randrange(len(self.pool)))

    # computing

    def binary(self) -> None:
        """A function of two arrays, or of an array and a number."""
        pair = self.numbers()
        if pair is None:
            return
        name = self.random.choice(BINARY + COMPARED)
        if self.random.random() < 0.65:
            self.both(name, lambda np, a, b: getattr(np, name)(a, b), pair, self.like(pair))
            return
        number, swapped = self.random.choice(SCALARS), self.random.random() < 0.5
        self.both(f"{name} {number!r} {swapped}", lambda np, a: getattr(np, name)(*((number, a) if swapped else (a, number))), pair)

    def operator(self) -> None:
        """Several operators in a row, of which intermediate results die."""
        pair = self.pick(lambda a: a.dtype.kind == "f" and a.dtype.itemsize >= 4)
        if pair is None:
            return
        number = self.random.choice((2.0, 0.5, 3, -1.25))
        forms = (
            lambda np, a, b: (a * number + b) * 0.5 - a,
            lambda np, a, b: -a + number * (b - a) * (a + 1.0),
            lambda np, a, b: np.where(a > b, a, b * number) + 1.0,
            lambda np, a, b: abs(a - b) < number,
            lambda np, a, b: np.maximum(a * b, 0.0) / (a * a + 1.0),
        )
        which = self.random.randrange(len(forms))
        self.both(f"formula {which} {number}", forms[which], pair, self.like(pair))

    def broadcast(self) -> None:
        """Arrays of different shapes; some do not broadcast."""
        pair, other = self.numbers(), self.numbers()
        if pair is None or other is None:
            return
        if self.random.random() < 0.4:
            self.both("row", lambda np, a, b: a + b[..., :1], pair, self.like(pair))
        elif self.random.random() < 0.5:
            self.both("column", lambda np, a: a * a[:1], pair)
        elif pair.want.size * other.want.size < 4000:
            self.both("add any", lambda np, a, b: np.add(a, b), pair, other)

    def unary(self) -> None:
        """A function of one array, with NumPy's bits."""
        pair = self.numbers()
        if pair is not None:
            name = self.random.choice(UNARY)
            self.both(name, lambda np, a: getattr(np, name)(a), pair)

    def rounded(self) -> None:
        """A function that machine code may compute otherwise: the result is compared and dropped."""
        pair = self.pick(lambda a: a.dtype.kind == "f" and a.dtype.itemsize >= 4 and numpy.abs(a).max() < 50)
        if pair is not None:
            name = self.random.choice(ROUNDED)
            self.both(name, lambda np, a: getattr(np, name)(a * 0.5), pair, exact=self.way.is_everything)

    def reduce(self) -> None:
        """A reduction, along all axes or one."""
        pair = self.numbers()
        if pair is None:
            return
        axis, keepdims = self.random.choice([None, 0, -1]), self.random.random() < 0.3
        name = self.random.choice(EXACT_REDUCTIONS + ROUNDED_REDUCTIONS)
        exact = self.way.is_everything or name in EXACT_REDUCTIONS
        form = self.random.randrange(2)

        def run(np: Any, a: Any) -> Any:
            options = {"axis": axis, "keepdims": keepdims}
            return getattr(a, name)(**options) if form else getattr(np, name)(a, **options)

        if name == "prod":
            pair = self.pick(lambda a: a.dtype.kind == "f" and a.size < 50) or pair
        self.both(f"{name} {axis} {keepdims} {form}", run, pair, exact=exact)

    def rearrange(self) -> None:
        """What makes an array of the elements of others."""
        pair = self.numbers()
        if pair is None:
            return
        forms = (
            lambda np, a, b: np.concatenate([a, b]),
            lambda np, a, b: np.stack([a, b], axis=-1),
            lambda np, a, b: np.sort(a, axis=-1),
            lambda np, a, b: np.roll(a, 2, axis=0),
            lambda np, a, b: np.repeat(a, 2, axis=0),
            lambda np, a, b: np.tile(a, 2),
            lambda np, a, b: np.where(a > b, a, b),
            lambda np, a, b: np.clip(a, 1, 3),
            lambda np, a, b: np.cumsum(a.astype("int64"), axis=-1),
            lambda np, a, b: np.pad(a, 1),
            lambda np, a, b: np.diff(a.astype("float64"), axis=-1),
            lambda np, a, b: np.flip(a, 0).copy(),
            lambda np, a, b: a.astype("float32"),
            lambda np, a, b: np.zeros_like(a) + a,
            lambda np, a, b: a.copy(),
        )
        which = self.random.randrange(len(forms))
        if pair.want.size < 300:
            self.both(f"rearranged {which}", forms[which], pair, self.like(pair))

    def product(self) -> None:
        """A matrix product, which BLAS sums in its own order."""
        pair = self.pick(lambda a: a.dtype.kind == "f" and a.dtype.itemsize >= 4 and a.ndim == 2)
        if pair is not None:
            self.both("matmul", lambda np, a, b: a @ np.swapaxes(b, 0, 1), pair, self.like(pair), exact=False)

    # views and writes

    def item(self) -> None:
        """A view, or an element."""
        pair = self.pick()
        if pair is not None:
            key = self.key(pair.want.shape)
            self.both(f"[{key}]", lambda np, a: a[key], pair)

    def view(self) -> None:
        """A view of another kind."""
        pair = self.pick()
        if pair is None:
            return
        half = pair.want.size // 2
        shape = self.random.choice([(-1,), (half, 2), (2, half), (1, -1)])
        forms = (
            lambda np, a: a.T,
            lambda np, a: a.reshape(shape),
            lambda np, a: np.swapaxes(a, 0, -1),
            lambda np, a: a.ravel(),
            lambda np, a: a[None],
            lambda np, a: np.expand_dims(a, -1),
            lambda np, a: np.squeeze(a),
            lambda np, a: a[..., ::-1][1:],
            lambda np, a: np.moveaxis(a, 0, -1),
            lambda np, a: np.flip(a),
            lambda np, a: np.split(a, [1, 2])[-1],
        )
        which = self.random.randrange(len(forms))
        count = len(self.pool)
        self.both(f"view {which} {shape}", forms[which], pair)
        if len(self.pool) > count and self.pool[-1].want.flags.writeable and self.random.random() < 0.4:
            self.both("write through the view", lambda np, a: a.__setitem__((..., 0), 1), self.pool[-1])

    def gather(self) -> None:
        """Indexing with masks and arrays."""
        pair = self.pick(lambda a: a.dtype.kind in "fiu")
        if pair is None:
            return
        at = self.generator.integers(-pair.want.shape[0], pair.want.shape[0], (4, 2))
        last = self.generator.integers(0, pair.want.shape[-1], 12)
        forms = (
            lambda np, a: a[a > 1],
            lambda np, a: a[at],
            lambda np, a: a[..., last],
            lambda np, a: np.take(a, last, axis=-1),
            lambda np, a: a[list(at[0]), ...],
            lambda np, a: np.nonzero(a > 1)[0],
        )
        which = self.random.randrange(len(forms))
        self.both(f"gather {which}", forms[which], pair)

    def assign(self) -> None:
        """A write of an array or a number through an index."""
        pair = self.pick(lambda a: a.flags.writeable and a.dtype.kind in "fiu")
        if pair is None:
            return
        key, number = self.key(pair.want.shape), self.random.randrange(3)
        piece = pair.want[key]
        other = self.pick(lambda a: a.shape == piece.shape and numpy.can_cast(a.dtype, pair.want.dtype, "same_kind"))
        if other is not None and self.random.random() < 0.7:
            self.both(f"[{key}] = array", lambda np, a, b: a.__setitem__(key, b), pair, other)
        else:
            self.both(f"[{key}] = {number}", lambda np, a: a.__setitem__(key, number), pair)

    def scatter(self) -> None:
        """A write through a mask or an array of indices."""
        pair = self.floats()
        if pair is None:
            return
        at = list(self.generator.permutation(pair.want.shape[0])[:2])
        forms = (
            lambda np, a: a.__setitem__(a > 1.5, 1.0),
            lambda np, a: a.__setitem__(at, a[at[::-1]]),
            lambda np, a: np.copyto(a, 0.5, where=a < 0),
            lambda np, a: a.fill(1.25),
        )
        which = self.random.randrange(len(forms))
        self.both(f"scatter {which} {at}", forms[which], pair)

    def in_place(self) -> None:
        """Augmented assignment, also of what must not be cast."""
        pair = self.pick(lambda a: a.flags.writeable and a.dtype.kind in "fiu")
        if pair is None:
            return
        key = self.key(pair.want.shape)

        def add(np: Any, a: Any, b: Any) -> None:
            a += b

        def scale(np: Any, a: Any) -> None:
            a *= 0.5
            a -= 0.25

        def part(np: Any, a: Any) -> None:
            a[key] += 2

        which = self.random.randrange(3)
        if which == 0:
            self.both("+= array", add, pair, self.like(pair))
        elif which == 1:
            self.both("*= -=", scale, pair)
        else:
            self.both(f"[{key}] += 2", part, pair)

    def overlap(self) -> None:
        """Writes from memory to itself."""
        pair = self.pick(lambda a: a.flags.writeable and a.dtype.kind in "fiu" and a.shape[0] > 2)
        if pair is None:
            return

        def shifted(np: Any, a: Any) -> None:
            a[1:] += a[:-1]

        def reversed_sum(np: Any, a: Any) -> None:
            a += a[::-1]

        forms = (
            shifted,
            reversed_sum,
            lambda np, a: a.__setitem__(slice(1, None), a[:-1]),
            lambda np, a: a.__setitem__(slice(None, -1), a[1:]),
            lambda np, a: a.__setitem__(..., a[::-1]),
            lambda np, a: a.__setitem__(..., a.T if a.ndim == 2 and a.shape[0] == a.shape[1] else a[::-1]),
            lambda np, a: np.add(a[:-1], a[1:], out=a[1:]),
            lambda np, a: np.multiply(a, a[::-1], out=a),
            lambda np, a: np.maximum(a[2:], a[:-2], out=a[1:-1]),
        )
        which = self.random.randrange(len(forms))
        self.counts["overlapping"] += 1
        self.both(f"overlap {which}", forms[which], pair, keep=False)

    def out(self) -> None:
        """A result in memory that is there."""
        pair = self.floats()
        if pair is None:
            return
        self.both("out=", lambda np, a, b: np.add(b, 1.0, out=a, casting="unsafe") is a, pair, self.like(pair))

    def drop(self) -> None:
        """Arrays die."""
        if len(self.pool) > 3:
            self.pool.pop(self.random.randrange(len(self.pool)))
        else:
            self.new()

    def loop(self) -> None:
        """Element by element."""
        pair = self.floats()
        if pair is None or pair.want.ndim != 1:
            return

        def recurrence(np: Any, a: Any) -> Any:
            for k in range(1, min(len(a), 6)):
                a[k] = 0.5 * a[k - 1] + 1
            return float(a[0])

        self.both("loop", recurrence, pair)

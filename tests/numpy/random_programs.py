"""Random programs on ``np`` arrays: views of all kinds, masks, writes in place, recording. The same code runs on twofold and on NumPy.

Every array in the pool has `SIZE` elements, in shapes that views change; a program is a list of moves drawn from a seed. In both
worlds a view is a view: what is written through one is seen through the others.
"""

import random
from typing import Any

import numpy

import twofold as mx
import twofold.numpy as tnp

from tests.core.random_programs import executed, executed_in_numpy

SIZE = 24
SHAPES = [(24,), (4, 6), (6, 4), (2, 3, 4), (2, 1, 12)]


class Twofold:
    """The arrays under test."""

    np = tnp

    def __init__(self, device: Any = None) -> None:
        self.device = device or mx.cpu()

    def array(self, values: numpy.ndarray) -> Any:
        return tnp.array(values, dtype="float64", device=self.device)

    def fresh(self, a: Any) -> Any:
        return a

    def detach(self, a: Any) -> Any:
        return a.detach()

    def by_nd(self, a: Any) -> Any:
        return a.as_nd_ndarray()

    def force(self, a: Any) -> None:
        a.wait_to_read()


class Numpy:
    """NumPy itself; new arrays are in row-major order, as they are here."""

    np = numpy

    def array(self, values: numpy.ndarray) -> Any:
        return numpy.array(values, dtype="float64")

    def fresh(self, a: Any) -> Any:
        return numpy.array(a, order="C")

    def detach(self, a: Any) -> Any:
        return a[...]

    def by_nd(self, a: Any) -> Any:
        return a[...]

    def force(self, a: Any) -> None:
        pass


class Program:
    """The state of one run: variables, the pool of arrays, and the moves."""

    def __init__(self, seed: int, api: Any, shift: numpy.ndarray | None = None, detach: bool = True) -> None:
        self.moves, self.api, self.np, self.detach = random.Random(seed), api, api.np, detach
        values = numpy.random.default_rng(seed)
        start = [values.uniform(0.5, 1.5, SIZE) for _ in range(3)]
        if shift is not None:
            start[:2] = [s + d for s, d in zip(start, shift, strict=False)]
        self.arrays = [api.array(s) for s in start]
        self.variables = self.arrays[:2]
        self.pool = list(self.arrays)

    def begin(self) -> None:
        self.pool += [self.variables[0] * 1.0, (self.variables[1] * self.variables[0]).reshape(4, 6)]

    def pick(self) -> Any:
        return self.pool[self.moves.randrange(len(self.pool))]

    def own(self) -> Any:
        """An array that is neither a variable nor a view of one."""
        free = [p for p in self.pool if all(p is not v and getattr(p, "base", None) is not v for v in self.variables)]
        if not free:  # each has been forgotten
            free = [self.api.fresh(self.pool[-1] * 1.0)]
            self.pool += free
        return free[self.moves.randrange(len(free))]

    def shape(self) -> tuple[int, ...]:
        return SHAPES[self.moves.randrange(len(SHAPES))]

    def move(self) -> None:
        target = self.own()
        a, u, kind = self.pick(), self.moves.random() + 0.25, self.moves.randrange(28)
        b = self.pick().reshape(a.shape)
        if kind < 7:
            self.pool.append(self.api.fresh(self.computed(kind, a, b, u)))
        elif kind < 12:
            self.pool.append(self.viewed(kind - 7, a))
        elif kind < 25:
            self.write(kind - 12, target, self.pick().reshape(target.shape), u)
        else:
            self.live(kind - 25, target, a, u)

    def computed(self, kind: int, a: Any, b: Any, u: float) -> Any:
        np = self.np
        return (
            lambda: a + b,
            lambda: np.tanh(a * u - b),
            lambda: np.where(a > b, a, b * 2),
            lambda: a * np.sum(b, axis=-1, keepdims=True) * 0.1,
            lambda: np.concatenate([b.reshape(-1)[SIZE // 2 :], a.reshape(-1)[: SIZE // 2]]).reshape(a.shape),
            lambda: np.tanh(np.matmul(a.reshape(4, 6), b.reshape(4, 6).T) @ b.reshape(4, 6)) + np.mean(a),
            lambda: 1.5 - np.take(a, list(range(a.shape[0]))[::-1], axis=0) / (b * b + 1),
        )[kind]()

    def viewed(self, kind: int, a: Any) -> Any:
        np = self.np
        return (
            lambda: a.T,
            lambda: a.reshape(self.shape()),
            lambda: a[..., ::-1],
            lambda: np.swapaxes(a, 0, -1),
            lambda: self.alias(a),
        )[kind]()

    def alias(self, a: Any) -> Any:
        return self.api.detach(a) if self.detach else a[...]

    def write(self, kind: int, target: Any, b: Any, u: float) -> None:
        n = target.shape[-1]
        if kind == 0:
            target *= u
        elif kind == 1:
            target += b * 0.5
        elif kind == 2:
            target[..., n // 2 :] = b[..., : n - n // 2]
        elif kind == 3:
            part = target.T[1::2]
            part *= 0.5
        elif kind == 4:
            target[..., ::-2] += u
        elif kind == 5:
            target[target > b * u] = u
        elif kind == 6:
            target[...] = b
        elif kind == 7:
            places = [0, target.shape[0] - 1]
            target[places] = b[places[::-1]] * u
        elif kind == 8:
            row = target.reshape(4, 6)[1:, ::2]
            row -= u
        elif kind == 9:
            repeated = [0, target.shape[0] - 1, 0]
            target[repeated] = b[[0, 1, -1]] * u
        elif kind == 10:
            matrix = target.reshape(4, 6)
            matrix[[1, 3, 1], ..., 2] += matrix[None, [0, 3, 0], ..., 1][:, 0] * u
        elif kind == 11:
            self.pool.append(self.alias(target))
            target[..., 0] = u
            self.pool.append(self.alias(target))
            target -= b * u
        else:
            other = self.api.by_nd(target)
            other *= u

    def live(self, kind: int, target: Any, a: Any, u: float) -> None:
        if kind == 0:
            self.pool = [p for p in self.pool if p is not target or any(p is kept for kept in self.arrays)]
        elif kind == 1:
            self.api.force(a)
        else:
            new = self.api.fresh(self.np.multiply(target, u))
            self.pool = [new if p is target else p for p in self.pool]

    def loss(self) -> Any:
        return self.np.sum(self.pool[-1].reshape(-1) * self.pool[-2].reshape(-1))


def run(seed: int, record: bool, device: Any = None, length: int = 16, detach: bool = True) -> list[numpy.ndarray]:
    """Execute the program of a seed: the arrays left at the end and, if recorded, the gradients of its loss."""
    return executed(Program(seed, Twofold(device), detach=detach), record, length, "add" if seed % 5 == 0 else "write")


def reference(seed: int, length: int = 16, shift: numpy.ndarray | None = None, detach: bool = True) -> list[numpy.ndarray]:
    """The arrays that the same program leaves in NumPy, with its loss last."""
    return executed_in_numpy(Program(seed, Numpy(), shift, detach), length)

"""Random programs on arrays: mutation, views, aliasing, recording, reductions, products, other devices, mistakes.

The same code runs on twofold and on NumPy.

A program is a list of moves drawn from a seed. `run` executes it with twofold and returns every array left at the end and the
gradients of its loss; `reference` executes the same moves on plain NumPy arrays.
"""

import random
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ShapeError
from twofold.imperative.array import apply_op
from twofold.imperative.cell import Value
from twofold.ndarray.array import NDArray
from twofold.opdef.registry import OPS

from tests import probe

SIZE = 24


class Twofold:
    """The arrays under test.

    Parameters
    ----------
    device
        Where they are.
    wanders
        Whether some of the work is done on another device of the same kind.
    """

    def __init__(self, device: Any = None, wanders: bool = True) -> None:
        self.device = device or mx.cpu()
        self.other = mx.Context(self.device.device_type, 1) if wanders else self.device

    def array(self, values: np.ndarray) -> Any:
        return mx.nd.array(values, ctx=self.device)

    def op(self, name: str, *args: Any, **params: Any) -> Any:
        return apply_op(OPS[name], *args, cls=NDArray, **params)

    def detach(self, a: Any) -> Any:
        return a.detach()

    def force(self, a: Any) -> None:
        a.wait_to_read()

    def elsewhere(self, a: Any, u: float) -> Any:
        return (a.as_in_context(self.other) * u).as_in_context(self.device)

    def mistake(self, a: Any) -> None:
        with pytest.raises(ShapeError):
            a + a[0:5]


class Numpy:
    """The same moves on NumPy arrays, in float64."""

    OPERATIONS: ClassVar[dict[str, Callable[..., Any]]] = {
        "sum": lambda a, axis=None, keepdims=False: (
            np.asarray(np.sum(a, axis=axis, keepdims=keepdims)).reshape(-1) if axis is None else np.sum(a, axis=axis, keepdims=keepdims)
        ),
        "max": lambda a, axis: np.max(a, axis=axis),
        "reshape": lambda a, shape: a.reshape(shape).copy(),
        "permute_dims": lambda a, axes: a.transpose(axes).copy(),
        "matmul": np.matmul,
        "concat": lambda *a, axis: np.concatenate(a, axis),
        "broadcast_to": lambda a, shape: np.broadcast_to(a, shape).copy(),
        "where": lambda c, a, b: np.where(c, a, b),
        "multiply": np.multiply,
        "tanh": np.tanh,
    }

    def __init__(self, detach: bool = True) -> None:
        self.detaches = detach

    def array(self, values: np.ndarray) -> Any:
        return np.array(values)

    def op(self, name: str, *args: Any, **params: Any) -> Any:
        return self.OPERATIONS[name](*args, **params)

    def detach(self, a: Any) -> Any:
        return a[:]

    def force(self, a: Any) -> None:
        pass

    def elsewhere(self, a: Any, u: float) -> Any:
        return a * u

    def mistake(self, a: Any) -> None:
        pass


class Program:
    """The state of one run: variables, the pool of arrays, and the moves."""

    def __init__(self, seed: int, api: Any, shift: np.ndarray | None = None, detach: bool = True) -> None:
        self.moves, self.api, self.detach = random.Random(seed), api, detach
        values = np.random.default_rng(seed)
        start = [values.uniform(0.5, 1.5, SIZE).astype(np.float32).astype(np.float64) for _ in range(3)]
        if shift is not None:
            start[:2] = [s + d for s, d in zip(start, shift, strict=False)]
        self.arrays = [api.array(s) for s in start]
        self.variables = self.arrays[:2]
        self.pool = list(self.arrays)

    def begin(self) -> None:
        self.pool += [self.variables[0] * 1.0, self.variables[1] * self.variables[0]]

    def pick(self) -> Any:
        return self.pool[self.moves.randrange(len(self.pool))]

    def own(self) -> Any:
        """An array that is not a variable."""
        free = [p for p in self.pool if all(p is not v for v in self.variables)]
        return free[self.moves.randrange(len(free))]

    def move(self) -> None:
        a, b, target, u = self.pick(), self.pick(), self.own(), self.moves.random()
        kind = self.moves.randrange(34)
        if kind < 9:
            self.compute(kind, a, b, u)
        elif kind < 20:
            self.write(kind - 9, target, a, b, u)
        elif kind < 26:
            self.shape(kind - 20, a, b, u)
        else:
            self.live(kind - 26, target, a, b, u)

    def compute(self, kind: int, a: Any, b: Any, u: float) -> None:
        op = self.api.op
        new = (
            lambda: a + b,
            lambda: op("tanh", a * b),
            lambda: a * (u + 0.25) - b,
            lambda: op("where", a > b, a, b * 2.0) - u,
            lambda: op("multiply", op("sum", a), b) * 0.02,
            lambda: a / (b * b + 1.0),
            lambda: 1.5 - a * u,
            lambda: -a,
            lambda: op("tanh", a - b) * u + a,
        )[kind]
        self.pool.append(new())

    def write(self, kind: int, target: Any, a: Any, b: Any, u: float) -> None:
        n = SIZE
        if kind == 0:
            target *= 0.5 + u
        elif kind == 1:
            target += b * 0.5
        elif kind == 2:
            target[0 : n // 2] = b[n // 2 : n // 2 * 2]
        elif kind == 3:
            part = target[1 : n - 1]
            part *= 0.5
        elif kind == 4:
            target[2:n] = u
        elif kind == 5:
            target[:] = a
        elif kind == 6:
            row = target.reshape((4, 6))[1]
            row += u
        elif kind == 7:
            target[3:4] = a[5:6]
        elif kind == 8 and self.detach:
            alias = self.api.detach(target)
            target[0 : n // 2] = u
            self.pool.append(alias * 1.5)
        elif kind == 9:
            target[[3, 7, 3]] = b[4:7]
        elif kind == 10:
            target.reshape((4, 6))[[1, 2, 1], 2:4] += u

    def shape(self, kind: int, a: Any, b: Any, u: float) -> None:
        op, n = self.api.op, SIZE
        new = (
            lambda: a * op("sum", op("reshape", b, shape=(4, 6)), axis=1, keepdims=True).reshape((4,))[1:2] * 0.2,
            lambda: op("tanh", op("matmul", op("permute_dims", a.reshape((4, 6)), axes=(1, 0)), b.reshape((4, 6)))[0:4] * 0.1).reshape(
                (n,)
            ),
            lambda: op("concat", a[n // 2 : n], b[0 : n // 2], axis=0),
            lambda: (op("max", a.reshape((6, 4)), axis=1).reshape((6, 1)) * op("broadcast_to", b[0:4], shape=(6, 4))).reshape((n,)),
            lambda: op("reshape", op("permute_dims", a.reshape((4, 6)), axes=(1, 0)), shape=(n,)) * u,
            lambda: a * b[0:1],
        )[kind]
        self.pool.append(new())

    def live(self, kind: int, target: Any, a: Any, b: Any, u: float) -> None:
        if kind == 0 and len(self.pool) > 6:
            self.pool = [p for p in self.pool if p is not target or any(p is kept for kept in self.arrays)]
        elif kind in (1, 2):
            self.api.force(target)
            self.replace(target, self.api.op("tanh", target * u + b) if kind == 1 else target * (0.5 + u))
        elif kind == 3:
            self.api.force(a)
        elif kind == 4 and self.detach:
            self.pool.append(self.api.detach(a))
        elif kind == 5:
            self.pool.append(a.copy())
        elif kind == 6:
            self.pool.append(self.api.elsewhere(a, u) + b)
        elif kind == 7:
            self.api.mistake(a)

    def replace(self, old: Any, new: Any) -> None:
        """Replace an array with another; the old one dies, so that its memory may be reused."""
        self.pool = [new if p is old else p for p in self.pool]

    def loss(self) -> Any:
        return self.api.op("sum", self.pool[-1] * self.pool[-2])


def run(seed: int, record: bool, device: Any = None, length: int = 14, detach: bool = True, wanders: bool = True) -> list[np.ndarray]:
    """Execute the program of a seed: the arrays left at the end and, if recorded, the gradients of its loss."""
    return executed(Program(seed, Twofold(device, wanders), detach=detach), record, length, "add" if seed % 5 == 0 else "write")


def reference(seed: int, length: int = 14, shift: np.ndarray | None = None, detach: bool = True) -> list[np.ndarray]:
    """The arrays that the same program leaves in NumPy, with its loss last."""
    return executed_in_numpy(Program(seed, Numpy(), shift, detach), length)


def executed(program: Any, record: bool, length: int, grad_req: str) -> list[np.ndarray]:
    """The arrays that a program on twofold leaves, its loss and, if that was recorded, its gradients."""
    for v in program.variables:
        v.attach_grad(grad_req)
    with mx.autograd.record() if record else mx.autograd.pause():
        program.begin()
        for _ in range(length):
            program.move()
        loss = program.loss()
    results = [p.asnumpy() for p in program.pool] + [loss.asnumpy()]
    content = probe.content(loss)
    if record and content.__class__ is Value and content.entry is not None and content.entry.node.tracked:
        loss.backward()
        results += [v.grad.asnumpy() for v in program.variables]
    return results


def executed_in_numpy(program: Any, length: int) -> list[np.ndarray]:
    """The arrays that a program on NumPy leaves, with its loss last."""
    program.begin()
    for _ in range(length):
        program.move()
    return [*program.pool, program.loss()]

"""Random programs on folding arrays and on NumPy's, compared bit by bit after every step: views, pieces handed out, writes through all.

    TWOFOLD_FOLD_ELEMENTS=40 TWOFOLD_DEFER_ELEMENTS=40 python -m tests.numpy_folding.random_programs [programs] [first seed]

In a process of its own, since the number of elements from which arrays fold is read once.
"""

from __future__ import annotations

import ctypes
import random
import sys
import warnings
from typing import Any

import numpy as real

from twofold.numpy_folding import sites
from twofold.numpy_folding.array import LEAST, FoldingArray
from twofold.numpy_folding.face import numpy as face

UNARY = (real.sqrt, real.exp, real.negative, real.abs, real.square, real.tanh, real.sin, real.floor, real.sign, real.rint)
BINARY = (real.add, real.subtract, real.multiply, real.maximum, real.minimum, real.divide, real.hypot, real.greater, real.less_equal)
SHAPES = ((8, 9), (9, 8), (8, 8), (72,), (3, 4, 6), (4, 4, 4), (6, 12))
SCALARS = (2.0, 3, 0.5, real.float64(1.5), real.float32(0.25), -1, 1e3)
METHODS = ("sum", "max", "mean", "min", "cumsum", "argmax", "std")
STEPS = 60


def memory(x: Any) -> Any:
    """The array that tells what a folding one is."""
    return x.ready() if type(x) is FoldingArray else x


class Program:
    """Pairs of an array of the face and NumPy's, and steps on both."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generator = real.random.default_rng(seed)
        self.pairs: list[tuple[Any, Any]] = []
        self.exports: list[Any] = []
        self.text: list[str] = []
        for _ in range(3):
            a = self.generator.random(self.random.choice(SHAPES)) + 0.5
            kind = self.random.randrange(10)
            a = (
                a.astype(real.float32)
                if kind == 0
                else (a * 9).astype(real.int64)
                if kind == 1
                else (a * 9).astype(real.int32)
                if kind == 2
                else a
            )
            if self.random.random() < 0.2:
                a = real.asfortranarray(a)
            self.pairs.append((face.array(a), a.copy(order="K")))

    def pick(self, shape: Any = None) -> Any:
        found = [p for p in self.pairs if shape is None or p[1].shape == shape]
        return self.random.choice(found) if found else None

    def key(self, shape: tuple[int, ...]) -> Any:
        k: list[Any] = []
        for n in shape:
            c = self.random.randrange(7)
            if c == 0:
                k.append(self.random.randrange(n))
            elif c < 3:
                k.append(slice(None))
            elif c == 3:
                k.append(slice(None, None, -1))
            else:
                a = self.random.randrange(n)
                k.append(slice(a, self.random.randrange(a + 1, n + 1), self.random.choice([1, 1, 2])))
        return tuple(k[: self.random.randrange(1, len(k) + 1)])

    def keep(self, f: Any, a: Any, what: str) -> None:
        self.text.append(what)
        assert type(f) is type(a) or (type(f) is FoldingArray and type(a) is real.ndarray), (type(f), type(a), what)
        if isinstance(a, real.ndarray) and a.ndim and a.size:
            assert type(f) is FoldingArray or type(f) is real.ndarray
            self.pairs.append((f, a))
        elif not isinstance(a, real.ndarray):
            assert f.tobytes() == a.tobytes(), (f, a, what)
        while len(self.pairs) > 9:
            self.pairs.pop(self.random.randrange(len(self.pairs)))

    def step(self) -> None:
        steps = (
            self.binary, self.binary, self.binary, self.unary, self.unary, self.item, self.item, self.assign, self.assign, self.in_place,
            self.in_place, self.update_item, self.view, self.view, self.export, self.out, self.reduce, self.choose, self.write, self.write,
            self.copy, self.index, self.scalar_loop, self.formula, self.formula, self.formula,
        )  # fmt: skip
        with real.errstate(all="ignore"):
            step = self.random.choice(steps)
            f, a = self.pick()
            step(f, a)
            for x, y in self.pairs:  # numbers stay in range, in the same way in both
                if y.dtype.kind == "f" and y.flags.writeable and (not real.isfinite(y).all() or real.abs(y).max() > 1e6):
                    x[...] = 1.0
                    y[...] = 1.0

    def binary(self, f: Any, a: Any) -> None:
        q = self.pick(a.shape)
        u = self.random.choice(BINARY)
        if u is real.subtract and "b" in (a.dtype.kind, q[1].dtype.kind):
            u = real.logical_and
        if self.random.random() < 0.7:
            self.keep(u(f, q[0]), u(a, q[1]), f"{u.__name__} pair")
            return
        s = self.random.choice(SCALARS)
        swapped = self.random.random() < 0.5
        self.keep(u(s, f) if swapped else u(f, s), u(s, a) if swapped else u(a, s), f"{u.__name__} {s} {swapped}")

    def formula(self, f: Any, a: Any) -> None:
        if a.dtype.kind != "f":
            return
        g, b = self.pick(a.shape)
        s = self.random.choice(SCALARS[:3])
        self.keep((f * s + g) * 0.5 - f, (a * s + b) * 0.5 - a, f"formula {s}")

    def unary(self, f: Any, a: Any) -> None:
        u = self.random.choice(UNARY)
        if a.dtype.kind == "b":
            u = real.logical_not
        self.keep(u(f), u(a), u.__name__)

    def item(self, f: Any, a: Any) -> None:
        k = self.key(a.shape)
        self.keep(f[k], a[k], f"[{k}]")

    def assign(self, f: Any, a: Any) -> None:
        if not a.flags.writeable:
            return
        k = self.key(a.shape)
        v = a[k]
        q = self.pick(v.shape) if isinstance(v, real.ndarray) else None
        if q and self.random.random() < 0.6:
            f[k], a[k] = q
        else:
            f[k] = a[k] = self.random.randrange(3)
        self.text.append(f"set {k}")

    def in_place(self, f: Any, a: Any) -> None:
        if not a.flags.writeable or a.dtype.kind != "f":
            return
        q = self.pick(a.shape)
        if real.can_cast(q[1].dtype, a.dtype, "same_kind"):
            f += q[0]
            a += q[1]
        f *= 0.5
        a *= 0.5
        self.text.append("+= *=")

    def update_item(self, f: Any, a: Any) -> None:
        k = self.key(a.shape)
        if a.flags.writeable and a.dtype.kind == "f" and isinstance(a[k], real.ndarray):
            f[k] += 1.25
            a[k] += 1.25
            self.text.append(f"{k} +=")

    def view(self, f: Any, a: Any) -> None:
        w = self.random.randrange(7)
        if w == 0 and a.shape[0] > 1:
            windows = real.lib.stride_tricks.sliding_window_view
            self.keep(windows(f, 2, axis=0), windows(a, 2, axis=0), "windows")
        elif w == 1:
            self.keep(real.broadcast_to(f, (2, *f.shape)), real.broadcast_to(a, (2, *a.shape)), "broadcast_to")
        elif w == 2:
            self.keep(f.T, a.T, "T")
        elif w == 3:
            self.keep(f.ravel(), a.ravel(), "ravel")
        elif w == 4:
            self.keep(real.swapaxes(f, 0, -1), real.swapaxes(a, 0, -1), "swapaxes")
        elif w == 5:
            self.keep(f.view(), a.view(), "view")
        else:
            s = self.random.choice([(-1,), (a.size // 2, 2) if a.size % 2 == 0 else (-1,)])
            self.keep(f.reshape(s), a.reshape(s), f"reshape {s}")

    def export(self, f: Any, a: Any) -> None:
        w = self.random.randrange(5)
        if w == 0:
            self.keep(real.asarray(f), a.view(), "asarray")
        elif w == 1:
            self.exports.append((iter(f), memoryview(f), f.flat))
        elif w == 2:
            self.exports.clear()
        elif w == 3 and a.flags.c_contiguous and a.flags.writeable and a.dtype == real.float64:
            address = f.ctypes.data
            ctypes.c_double.from_address(address).value = 0.125
            a.flat[0] = 0.125
        else:
            self.keep(real.from_dlpack(f) if a.flags.writeable and a.dtype.kind != "b" else real.asarray(f), a.view(), "dlpack")
        self.text.append(f"export {w}")

    def out(self, f: Any, a: Any) -> None:
        if a.flags.writeable and a.dtype.kind == "f":
            q = self.pick(a.shape)
            real.add(q[0], 1.0, out=f, casting="unsafe")
            real.add(q[1], 1.0, out=a, casting="unsafe")
            self.text.append("out=")

    def reduce(self, f: Any, a: Any) -> None:
        axis = self.random.choice([None, 0, -1])
        n = self.random.choice(METHODS)
        if self.random.random() < 0.5:
            self.keep(getattr(f, n)(axis=axis), getattr(a, n)(axis=axis), n)
        else:
            self.keep(getattr(real, n)(f, axis=axis), getattr(real, n)(a, axis=axis), n)

    def choose(self, f: Any, a: Any) -> None:
        if self.random.random() < 0.5:
            self.keep(real.where(f > 1.0, f, 0.5), real.where(a > 1.0, a, 0.5), "where")
        elif a.dtype.kind != "b":
            self.keep(real.clip(f, 0.1, 2.0), real.clip(a, 0.1, 2.0), "clip")

    def index(self, f: Any, a: Any) -> None:
        w = self.random.randrange(3)
        if w == 0:
            self.keep(f[f > 1], a[a > 1], "mask")
        elif w == 1:
            at = self.generator.integers(0, a.shape[0], (5, 3))
            self.keep(f[at], a[at], "gather")
        else:
            at = self.generator.integers(0, a.shape[-1], 12)
            self.keep(f[..., at], a[..., at], "columns")

    def write(self, f: Any, a: Any) -> None:
        if not a.flags.writeable or a.dtype.kind == "b":
            return
        w = self.random.randrange(8)
        self.text.append(f"write {w}")
        for x in (f, a):
            if w == 0:
                x.flat[::3] = 1
            elif w == 1:
                real.copyto(x, 1, where=x > 2)
            elif w == 2:
                x.sort()
            elif w == 3:
                x[x > 1.5] = 1
            elif w == 4:
                real.put(x, [0, x.size - 1], 2)
            elif w == 5:
                real.add.at(x, 0, 1)
            elif w == 6:
                x.fill(1)
            else:
                real.putmask(x, x > 2, 1)

    def copy(self, f: Any, a: Any) -> None:
        w = self.random.randrange(4)
        if w == 0:
            self.keep(f.copy(), a.copy(), "copy")
        elif w == 1:
            self.keep(f.astype(real.float32), a.astype(real.float32), "astype")
        elif w == 2:
            self.keep(face.asarray(f), a.view(), "asarray")
        else:
            self.keep(real.concatenate([f, f]), real.concatenate([a, a]), "concatenate")

    def scalar_loop(self, f: Any, a: Any) -> None:
        if a.ndim == 1 and a.flags.writeable and a.dtype.kind == "f":
            for i in range(1, min(len(a), 8)):
                f[i] = 0.5 * f[i - 1] + 1
                a[i] = 0.5 * a[i - 1] + 1

    def check(self, every: bool) -> None:
        for x, y in self.pairs:
            if not every and type(x) is FoldingArray and x.array is None and self.random.random() < 0.8:
                continue
            z = memory(x)
            assert x.shape == y.shape, (x.shape, y.shape)
            assert x.dtype == y.dtype, (x.dtype, y.dtype)
            assert z.strides == y.strides or 1 in y.shape, (z.strides, y.strides)
            assert x.flags.writeable == y.flags.writeable
            assert z.tobytes() == y.tobytes(), (z, y)

    def check_sharing(self) -> None:
        """The same pairs share memory."""
        for i, (f, a) in enumerate(self.pairs):
            for g, b in self.pairs[:i]:
                assert real.may_share_memory(a, b) == real.may_share_memory(memory(f), memory(g))


def run(programs: int, first: int = 0) -> dict[str, int]:
    """Run programs; how often each path was taken."""
    sites.ALONE = sites.RETIRED = 1 << 60
    sites.has_machine_code = lambda: True
    assert LEAST < 100, "set TWOFOLD_FOLD_ELEMENTS"
    warnings.simplefilter("ignore", DeprecationWarning)
    for seed in range(first, first + programs):
        program = Program(seed)
        sites.HOT = 0 if seed % 2 else 1 << 60  # chains as programs, or step by step
        try:
            for _ in range(STEPS):
                program.step()
                if program.random.random() < 0.25:
                    program.check(False)
            program.check_sharing()
            program.check(True)
        except BaseException:
            print("seed", seed, "after", program.text[-12:])
            raise
    return sites.PATHS


if __name__ == "__main__":
    counts = run(*map(int, sys.argv[1:]))
    print(" ".join(f"{name}={count}" for name, count in counts.items()))

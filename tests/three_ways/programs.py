"""Random NumPy programs: views of views, overlapping writes, odd dtypes, memory handed to C code, threads and errors, in every way.

    TWOFOLD_FOLD_ELEMENTS=24 TWOFOLD_DEFER_ELEMENTS=24 python -m tests.three_ways.programs [programs] [first seed]

In a process of its own, since the number of elements from which arrays fold is read once. Each step is run by NumPy and by the way under
test, and is compared: what is computed at once, at once; what may wait, a random time later.
"""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy

from twofold.imperative.counters import COUNTERS
from twofold.numpy_folding import sites
from twofold.numpy_folding.array import LEAST

from tests.three_ways.steps import LARGEST, Steps
from tests.three_ways.worlds import Folding, Twofold, compare, write_bytes

#: Steps of a program.
STEPS = 40
#: Every path must be taken in this share of its opportunities.
SHARE = 0.02
NAMES = [
    *("binary", "binary", "unary", "operator", "operator", "operator", "broadcast", "rounded", "reduce", "reduce", "rearrange", "product"),
    *("item", "item", "view", "view", "gather", "assign", "assign", "scatter", "in_place", "in_place", "overlap", "overlap", "out", "drop"),
    *(
        "drop",
        "loop",
        "new",
        "export",
        "export",
        "write_export",
        "compiled_write",
        "compiled_write",
        "threads",
        "threads",
        "error",
        "error",
        "odd",
        "record",
        "memory",
        "flat",
    ),
]
#: What `twofold.np` does otherwise, or has no arrays for: `docs/reference/compatibility.md`.
FOLDING_ONLY = {"odd", "record", "memory", "flat"}
ODD = (">f8", "float16", "complex64", "complex128", "longdouble", ">i4", "U6", "object", "S4")


class Program(Steps):
    """A random program: the steps on ordinary arrays, and those at the borders."""

    def step(self) -> None:
        """One random step."""
        name = self.random.choice(NAMES)
        self.counts["steps"] += 1
        if name in FOLDING_ONLY and not self.way.is_everything:
            self.counts["left out"] += 1  # `twofold.np` has no such arrays
            return
        getattr(self, name)()
        for pair in self.pool:  # numbers stay in range, in the same way in both
            a = pair.want
            if a.dtype.kind in "fc" and a.flags.writeable and not (numpy.isfinite(a).all() and numpy.abs(a).max() <= LARGEST):
                for x in pair:
                    x[...] = 1.0

    # memory in others' hands

    def export(self) -> None:
        """Hand memory to somebody who keeps it."""
        pair = self.pick(lambda a: a.flags.c_contiguous and a.flags.writeable and a.dtype.kind in "fiu")
        if pair is None:
            return
        self.text.append("export")
        self.exports.append((pair, self.way.exported(pair)))
        self.counts["exports"] += 1
        del self.exports[:-3]

    def write_export(self) -> None:
        """Read, and write, what was handed out."""
        if self.exports:
            pair, shown = self.random.choice(self.exports)
            self.text.append("read and write what was handed out")
            compare(self.way, shown.want, shown.have, True)
            if self.random.random() < 0.5:
                for x in pair:
                    x[0] = 2
                compare(self.way, shown.want, shown.have, True)

    def compiled_write(self) -> None:
        """Compiled code writes to an address."""
        pair = self.pick(lambda a: a.flags.c_contiguous and a.flags.writeable and a.dtype.kind in "fiu")
        if pair is None:
            return
        self.text.append(f"compiled code writes {pair.want.shape} {pair.want.dtype}")
        content = numpy.full(2, 3, pair.want.dtype).tobytes()[: pair.want.nbytes]
        write_bytes(pair.want.ctypes.data, content)
        write_bytes(self.way.address(pair.have), content)
        self.counts["compiled writes"] += 1

    def threads(self) -> None:
        """Several threads compute of the same arrays, each for itself."""
        pair = self.floats()
        if pair is None:
            return
        other = self.like(pair)

        def work(np: Any, a: Any, b: Any, number: float) -> Any:
            found = a * number + b
            found += 1.0
            found[1:] = found[:-1] * 0.5
            return np.where(found > 0, found, -found)

        def run(np: Any, a: Any, b: Any) -> Any:
            results: list[Any] = [None] * 3
            barrier = threading.Barrier(3)

            def body(k: int) -> None:
                barrier.wait()
                with numpy.errstate(all="ignore"):
                    results[k] = work(np, a, b, float(k))

            started = [threading.Thread(target=body, args=(k,)) for k in range(3)]
            for thread in started:
                thread.start()
            for thread in started:
                thread.join()
            return results

        self.counts["threads"] += 1
        self.both("threads", run, pair, other)

    # errors

    def error(self) -> None:
        """What must raise; and what depends on the shape, in any case the same."""
        pair = self.pick(lambda a: a.dtype.kind in "fiu")
        if pair is None:
            return
        a = pair.want
        beyond = max(a.shape) + 3

        def add_fractions(np: Any, x: Any) -> None:
            x += 0.5

        forms: tuple[Callable[..., Any], ...] = (
            lambda np, x: x[beyond],
            lambda np, x: x[(0,) * (x.ndim + 1)],
            lambda np, x: x[[0, beyond]],
            lambda np, x: x.__setitem__(beyond, 1),
            lambda np, x: x.reshape(7, -1),
            lambda np, x: x.sum(axis=7),
            lambda np, x: np.concatenate([x, x[None]]),
            lambda np, x: np.concatenate([]),
            lambda np, x: x + np.ones(beyond),
            lambda np, x: x.__setitem__(..., np.ones((2, beyond))),
            lambda np, x: np.stack([x, x[:1, ...].repeat(beyond, 0)]),
            lambda np, x: x @ np.ones((beyond, beyond)),
            lambda np, x: bool(x),
            lambda np, x: float(x),
            lambda np, x: x[0.5],
            lambda np, x: x["a"],
            lambda np, x: x.nonsense,
            lambda np, x: np.take(x, [beyond], axis=0),
            lambda np, x: np.transpose(x, (5, 4)),
            lambda np, x: np.squeeze(np.stack([x, x]), axis=0),
            lambda np, x: x.astype("nonsense"),
            lambda np, x: np.broadcast_to(x, (2, beyond)),
            lambda np, x: np.add(x, x, out=np.ones(beyond, x.dtype)),
            lambda np, x: (x > 0) - (x > 1),
            lambda np, x: np.split(x, beyond + 1),
            lambda np, x: np.expand_dims(x, 9),
            lambda np, x: np.zeros((2, -1)),
            lambda np, x: np.linalg.inv(np.ones((2, 3))),
            lambda np, x: hash(np.stack([x, x])),
            lambda np, x: len(np.sum(x)),
            add_fractions,
        )
        which = self.random.randrange(len(forms))
        self.both(f"error {which}", forms[which], pair, keep=False)

    # what only NumPy's arrays have

    def odd(self) -> None:
        """Dtypes that never fold, made of arrays that do, and back."""
        pair, dtype = self.numbers(), self.random.choice(ODD)
        if pair is None:
            return
        self.counts["odd dtypes"] += 1
        forms = (
            lambda np, a: a.astype(dtype),
            lambda np, a: a.astype(dtype).astype(a.dtype),
            lambda np, a: a.astype(dtype)[..., ::-1] == a.astype(dtype),
            lambda np, a: a + a.astype(dtype),
            lambda np, a: np.array(a, dtype=dtype, order="F"),
            lambda np, a: np.where(a > 1, a, a.astype(dtype)),
        )
        which = self.random.randrange(len(forms))
        self.both(f"odd {which} {dtype}", forms[which], pair, keep=which == 1)

    def record(self) -> None:
        """Structured arrays, whose fields are views."""
        pair = self.pick(lambda a: a.dtype == numpy.float64)
        if pair is None:
            return
        self.counts["odd dtypes"] += 1

        def fields(np: Any, a: Any) -> Any:
            s = np.zeros(a.shape, dtype=[("x", "f8"), ("n", "i4")])
            s["x"] = a
            s["n"] = a > 1
            s["x"] += a * 2
            return s, s[s["n"] > 0], s["x"] - a, np.sort(s.ravel(), order="x")

        self.both("record", fields, pair, keep=False)

    def memory(self) -> None:
        """The same memory as another dtype or shape."""
        pair = self.pick(lambda a: a.dtype == numpy.float64 and a.flags.c_contiguous and a.size > 3)
        if pair is None:
            return

        def reshaped(np: Any, a: Any) -> Any:
            b = a.view()
            b.shape = (-1,)
            return b

        forms = (
            lambda np, a: a.view("int64"),
            lambda np, a: a.view("u1"),
            reshaped,
            lambda np, a: np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8)),
            lambda np, a: np.ndarray((2,), "f8", memoryview(a)),
            lambda np, a: bytes(memoryview(a).cast("B")[:16]),
            lambda np, a: np.asfortranarray(a),
            lambda np, a: np.diagonal(a.reshape(1, -1)),
        )
        which = self.random.randrange(len(forms))
        self.both(f"memory {which}", forms[which], pair)

    def flat(self) -> None:
        """NumPy's iterator over elements."""
        pair = self.pick(lambda a: a.flags.writeable and a.dtype.kind in "fiu")
        if pair is not None:
            self.both("flat", lambda np, a: a.flat.__setitem__(slice(None, None, 3), 1), pair)

    # comparing

    def check(self, every: bool) -> None:
        """Compare contents; of what waits only a part, so that chains grow."""
        for pair in self.pool:
            if every or self.random.random() < 0.15:
                self.way.check_kind(pair.want, pair.have)
                compare(self.way, pair.want, pair.have, True)


def program(seed: int, way: Folding | Twofold, counts: Counter[str]) -> None:
    """Run one program."""
    made = Program(seed, way, counts)
    with numpy.errstate(all="ignore" if seed % 4 else "warn"):
        try:
            for _ in range(STEPS):
                made.step()
                if made.random.random() < 0.2:
                    made.check(False)
            made.check(True)
        except BaseException:
            print(f"{way.name}: seed {seed} after", *made.text[-10:], sep="\n    ")
            raise


def shares(counts: Counter[str]) -> dict[str, float]:
    """Each path as a share of its opportunities."""
    c = COUNTERS
    folding = sites.PATHS
    operations, computed = c.inline + c.deferred, folding["single"] + folding["blocks"] + folding["program"] + folding["now"]
    writes = c.in_place + c.copied + c.rebound
    return {
        "np inline": c.inline / operations,
        "np deferred": c.deferred / operations,
        "np fused": c.fused / c.deferred,
        "np donated": c.donated / c.windows,
        "np copied": c.copied / writes,
        "np in place": c.in_place / writes,
        "folding at once": folding["now"] / computed,
        "folding alone": folding["single"] / computed,
        "folding chain in blocks": folding["blocks"] / computed,
        "folding chain compiled": folding["program"] / computed,
        "folding view": folding["view"] / computed,
        "folding looked at": folding["exported"] / computed,
        "errors": counts["errors"] / counts["steps"],
        "overlapping": counts["overlapping"] / counts["steps"],
        "exports": counts["exports"] / counts["steps"],
        "compiled writes": counts["compiled writes"] / counts["steps"],
        "threads": counts["threads"] / counts["steps"],
        "odd dtypes": counts["odd dtypes"] / counts["steps"],
    }


def main(programs: int, first: int) -> int:
    """Run programs in both ways, and print how often each path was taken; 1 if one was hardly ever taken."""
    assert LEAST < 100, "set TWOFOLD_FOLD_ELEMENTS"
    warnings.simplefilter("ignore")
    sites.ALONE = sites.RETIRED = 1 << 60
    counts: Counter[str] = Counter()
    sites.has_machine_code = lambda: True
    for seed in range(first, first + programs):
        sites.HOT = 0 if seed % 2 else 1 << 60  # chains as programs, or in blocks
        program(seed, Folding(), counts)
        program(seed, Twofold(), counts)
    taken = shares(counts)
    print(", ".join(f"{name} {share:.1%}" for name, share in taken.items()), f"; {counts['steps']} steps, {counts['left out']} left out")
    rare = [name for name, share in taken.items() if share < SHARE]
    if rare:
        print("hardly ever taken:", *rare)
    return bool(rare)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", type=int, nargs="?", default=100)
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    given = parser.parse_args()
    sys.exit(main(given.programs, given.first))

"""Measures the convolution algorithms and writes the table that chooses among them: ``make tune``.

With ``--direct`` it measures only which algorithm in machine code is faster on this kind of processor (see `Row`), and keeps the rest.

It measures the least CPU time on one core over several rounds. The candidates take turns, so that other programs disturb them equally.
Among the candidates within a factor `NEARLY` of the least time, it chooses the simplest one with the smallest blocks.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, get_args

import numpy as np

from twofold.config import SETTINGS
from twofold.progress_bars import progress

from . import direct
from .convolution import algorithm, applicable, shape_of, takes_channels_last
from .convolution_table import DIRECT, FILE, WINOGRAD, Choice, Row, entry_of, row_of, rows
from .geometry import Geometry, Kind

ROUNDS = 9
NEARLY = 1.05
#: Seconds for each result that the direct algorithm may take longer: it spares the element-wise operations that follow a pass over memory.
SPARED: dict[Kind, float] = {"forward": 4e-10}
#: Block sizes to try: from those that fit a core's cache to those that fit none. Winograd's products are small: in blocks smaller than
#: LEAST the threads of BLAS would wait for each other longer than they compute.
BYTES = (1 << 19, 1 << 21, 1 << 23, 1 << 25)
LEAST = {"winograd": 1 << 21}


def geometry(n: int, c: int, side: int, f: int, kernel: int, stride: int = 1, pad: int = 0, groups: int = 1) -> Geometry:
    """The geometry of a convolution of square images."""
    return Geometry(n, c, f, groups, (side, side), (kernel, kernel), (stride, stride), (1, 1), (pad, pad))


#: Layers of common networks: ResNets, VGG, DenseNet, LeNet, networks for small images, MobileNet, SqueezeNet, Inception, AlexNet.
MEASURED = (
    *[geometry(n, c, side, c, 3, pad=1) for n in (1, 8) for c, side in ((64, 56), (128, 28), (256, 14), (512, 7))],
    *[geometry(8, 128, side, 32, 3, pad=1) for side in (28, 14)],
    *[geometry(32, c, side, c, 3, pad=1) for c, side in ((16, 32), (32, 16), (64, 8), (128, 32))],
    *[geometry(8, 3, 64, 32, 3, pad=1), geometry(64, 1, 28, 32, 3), geometry(64, 32, 13, 64, 3), geometry(1, 64, 224, 64, 3, pad=1)],
    *[geometry(64, 1, 28, 20, 5), geometry(64, 20, 12, 50, 5), geometry(1, 1, 28, 20, 5), geometry(32, 3, 32, 64, 5, pad=2)],
    *[geometry(8, 64, 28, 96, 5, pad=2), geometry(8, 3, 64, 32, 7, pad=3)],
    *[geometry(8, 64, 56, 256, 1), geometry(8, 256, 56, 64, 1), geometry(8, 1024, 14, 256, 1), geometry(8, 512, 7, 2048, 1)],
    *[
        geometry(8, 3, 224, 64, 7, 2, 3),
        geometry(8, 64, 56, 128, 3, 2, 1),
        geometry(8, 256, 28, 512, 1, 2),
        geometry(8, 256, 14, 512, 3, 2, 1),
    ],
    *[
        geometry(8, 32, 56, 32, 3, pad=1, groups=32),
        geometry(8, 128, 28, 128, 3, 2, 1, groups=128),
        geometry(8, 128, 28, 128, 3, 1, 1, groups=32),
    ],
    # images of 128x128, and the convolutions of DCGAN
    *[geometry(8, c, side, c, 3, pad=1) for c, side in ((64, 32), (128, 16), (256, 8), (512, 4))],
    *[geometry(16, c, side, 2 * c, 4, 2, 1) for c, side in ((64, 32), (128, 16), (256, 8))],
    *[
        geometry(8, c, side, f, 1)
        for c, side, f in ((512, 8, 512), (1024, 4, 1024), (256, 32, 64), (128, 16, 512), (1024, 8, 256), (512, 4, 2048))
    ],
    # channels and filters that no machine code for tiles takes
    *[geometry(n, c, side, c, 3, pad=1) for n, c, side in ((8, 20, 32), (8, 40, 28), (8, 100, 28), (1, 40, 28), (1, 100, 14))],
    # one image
    *[geometry(1, c, side, c, 3, pad=1) for c, side in ((128, 112), (256, 56), (512, 28), (512, 14))],
    *[geometry(1, 32, 147, 64, 3, pad=1), geometry(1, 80, 73, 192, 3), geometry(1, 64, 112, 128, 3, pad=1)],
    *[geometry(1, 128, side, 32, 3, pad=1) for side in (56, 28, 14, 7)],
    *[geometry(1, c, side, f, 3, pad=1) for c, side, f in ((16, 55, 64), (32, 55, 128), (32, 27, 128), (64, 35, 96))],
    *[geometry(1, c, side, f, 3, pad=1) for c, side, f in ((112, 14, 224), (64, 13, 256), (192, 13, 384))],
    *[geometry(1, c, side, f, 1) for c, side, f in ((64, 56, 256), (256, 56, 64), (1024, 14, 256), (256, 14, 1024), (512, 7, 2048))],
    *[
        geometry(1, 3, 224, 64, 7, 2, 3),
        geometry(1, 64, 56, 128, 3, 2, 1),
        geometry(1, 256, 56, 512, 1, 2),
        geometry(1, 256, 14, 512, 3, 2, 1),
    ],
    *[geometry(1, c, side, c, 3, pad=1, groups=c) for c, side in ((32, 112), (512, 14))],
    *[geometry(1, 64, 112, 64, 3, 2, 1, groups=64), geometry(1, 64, 27, 192, 5, pad=2)],
    # other kernels that machine code takes in tiles
    *[
        geometry(n, c, side, f, 5, pad=2)
        for n, c, side, f in ((8, 16, 14, 32), (8, 48, 35, 64), (8, 64, 27, 192), (1, 16, 28, 32), (1, 32, 14, 64), (1, 48, 35, 64))
    ],
    *[geometry(n, c, side, c, 2) for n, c, side in ((8, 16, 32), (8, 64, 28), (8, 256, 14), (1, 64, 28), (1, 256, 14))],
    *[geometry(16, c, side, f, 4, 2, 1) for c, side, f in ((16, 32, 32), (64, 64, 64), (512, 4, 512))],
    *[geometry(1, c, side, f, 4, 2, 1) for c, side, f in ((16, 64, 32), (64, 128, 128), (128, 64, 256), (256, 32, 512), (512, 8, 512))],
    # volumes, as planes with the channels of three frames
    *[
        geometry(n, 3 * c, side, f, 3, pad=1)
        for n, c, side, f in ((16, 64, 28, 128), (8, 128, 14, 256), (8, 256, 14, 256), (4, 512, 7, 512))
    ],
)


def candidates(kind: Kind, g: Geometry) -> list[Choice]:
    """The algorithms that apply to a convolution, simplest first."""
    names = applicable(kind, g, np.dtype(np.float32))
    blocks = {name: [nbytes for nbytes in BYTES if nbytes >= LEAST.get(name, 0)] for name in names} | {"pointwise": [0], "direct": [0]}
    return [Choice(name, nbytes) for name in names for nbytes in blocks[name]]


def operands(kind: Kind, g: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Random operands for a kind of convolution."""
    draw = np.random.default_rng(0)
    taken: dict[Kind, tuple[Kind, Kind]]
    taken = {"forward": ("data", "weight"), "data": ("forward", "weight"), "weight": ("data", "forward")}
    first, second = (draw.standard_normal(shape_of(k, g), np.float32) for k in taken[kind])
    return first, second


def measure(kind: Kind, g: Geometry, among: Iterable[Choice] | None = None) -> dict[Choice, float]:
    """The least CPU seconds of each candidate, or of some."""
    first, second = operands(kind, g)
    out = np.empty(shape_of(kind, g), np.float32)
    return _least({c: partial(algorithm(kind, c), g, first, second, out) for c in among or candidates(kind, g)})


@contextmanager
def without_code() -> Iterator[None]:
    """Measure what runs without a compiler."""
    before = SETTINGS.jit
    SETTINGS.jit = False
    try:
        yield
    finally:
        SETTINGS.jit = before


def measure_saving(kind: Kind, g: Geometry, choice: Choice) -> float:
    """The time that an algorithm saves with channels last, divided by the time to transpose its images; between 0 and 1.

    It is capped at 1 because the operators around a convolution cannot transpose faster than the convolution does itself.
    """
    compute = algorithm(kind, choice)
    if not takes_channels_last(compute):
        return 0.0
    first, second = operands(kind, g)
    arrays = [first, second, np.empty(shape_of(kind, g), np.float32)]
    # the weight has no layout with channels last
    last = [x if math.prod(x.shape) == math.prod(shape_of("weight", g)) else _last(x) for x in arrays]
    images = [(x, y) for x, y in zip(arrays, last, strict=True) if x is not y]
    calls: dict[str, Callable[[], Any]] = {
        "first": lambda: compute(g, *arrays),
        "last": lambda: compute(g, *last),
        "transposed": lambda: [np.copyto(y, x) for x, y in images],
    }
    least = _least(calls, 3 * ROUNDS)
    return float(f"{min(1.0, max(0.0, (least['first'] - least['last']) / least['transposed'])):.2g}")


def _last(x: np.ndarray) -> np.ndarray:
    """A copy with channels last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def _least(calls: dict[Any, Callable[[], Any]], rounds: int = ROUNDS) -> dict[Any, float]:
    """The least CPU seconds of each of several functions, which take turns."""
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - start)
    return least


def choose(seconds: dict[Choice, float]) -> Choice:
    """The fastest candidate, or a simpler one that is nearly as fast."""
    least = min(seconds.values())
    return next(c for c, s in seconds.items() if s <= NEARLY * least)


def table(of: Sequence[Geometry] = MEASURED) -> dict[str, Any]:
    """The table, including the measured milliseconds."""
    entries, known = [], {(row.kind, row.geometry): row for row in rows()}
    for g in progress(of, "measuring convolutions"):
        for kind in get_args(Kind):
            seconds = measure(kind, g)
            # the table has the best without a compiler, and beside it whether the direct algorithm beats Winograd's
            with without_code():
                by_numpy = measure(kind, g)
                exact = choose({c: s for c, s in by_numpy.items() if c.name != "winograd"})
                chosen = choose(by_numpy)
                gains = {c: measure_saving(kind, g, c) for c in (exact, chosen)}
            is_direct = with_this_machine(known.get((kind, g)), is_direct_faster(kind, g, seconds))
            times = {f"{c.name} {c.nbytes >> 10}": float(f"{1e3 * s:.3g}") for c, s in seconds.items()}
            row = Row(kind, g, exact, chosen, (gains[exact], gains[chosen]), is_direct)
            entries.append(entry_of(row) | {"milliseconds": times})
            print(f"{kind:8}{g.n}x{g.channels}x{g.size[0]} {g.filters}x{g.kernel[0]}: {chosen.name} {chosen.nbytes >> 10} KB", flush=True)
    return {"unit": "algorithm and KiB of its blocks: least milliseconds", "rows": entries}


def is_direct_faster(kind: Kind, g: Geometry, seconds: dict[Choice, float]) -> bool:
    """Whether the direct algorithm takes less time than Winograd's, both in machine code."""
    spared = SPARED.get(kind, 0) * math.prod(shape_of(kind, g))
    return seconds.get(DIRECT, math.inf) < spared + seconds.get(WINOGRAD, math.inf)


def with_this_machine(known: Row | None, is_faster: bool) -> tuple[bool, bool]:
    """`Row.direct` with what was measured on this kind of processor; the other kind's stays as it is known."""
    narrow, wide = (is_faster, is_faster) if known is None else known.direct
    if not direct.is_available():  # nothing was measured
        return narrow, wide
    return (narrow, is_faster) if direct.has_two_wide_units() else (is_faster, wide)


def with_direct_measured(found: dict[str, Any]) -> dict[str, Any]:
    """A table with `Row.direct` measured anew where both algorithms apply."""
    for entry in progress(found["rows"], "measuring convolutions"):
        row = row_of(entry)
        both = {c for c in candidates(row.kind, row.geometry) if c in (DIRECT, WINOGRAD)}
        if len(both) == 2:
            is_faster = is_direct_faster(row.kind, row.geometry, measure(row.kind, row.geometry, both))
            entry["direct"] = list(with_this_machine(row, is_faster))
    return found


def main() -> None:
    """Write the table."""
    found = with_direct_measured(json.loads(FILE.read_text())) if "--direct" in sys.argv else table()
    lines = ",\n".join(map(json.dumps, found["rows"]))
    FILE.write_text(f'{{"unit": {json.dumps(found["unit"])}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

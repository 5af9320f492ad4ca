"""Products of 8-bit integers as machine code, on processors that add four such products to an int32 number in one instruction.

x86's instruction (VNNI) multiplies uint8 by int8 numbers. So the highest bit of int8 numbers is flipped, which adds 128, and 128 times the
sum of the weights is subtracted from the sums.

* A product of rows with the rows of a weight: tiles of four by four, both read along their rows (`llvm/integer_product.ll`). The 16
  vectors of sums of a tile are added up in pairs, until vectors have one lane for each sum.
* A convolution is a direct one (`direct`) whose elements are four channels of a place (`llvm/interleave.ll`).
"""

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise, product

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all
from twofold.config import ON_CHANGE

from ..blas import Blas, blas
from ..direct import Bound
from ..geometry import Geometry
from ..integer_products import LEAST_COLUMNS, in_quads
from ..memory import POOL
from ..planes import plane_of
from ..products import THREADED
from .callables import address_of
from .compiler import Compiler, compiler
from .direct import Arithmetic, bound_plane
from .ir import splat
from .llvm_text import llvm_text

#: Rows and columns of a tile.
TILE = LEAST_COLUMNS
#: Bytes that the instruction multiplies for each sum.
QUAD = 4
#: Nanoseconds of a multiplication, about.
MULTIPLICATION = 0.005
#: The number that flipping the highest bit of an int8 number adds.
OFFSET = 128
INT32, WORD = np.dtype(np.int32), np.dtype(np.float32)


@cache
def integer_products() -> "VectorProducts | None":
    """The products of 8-bit integers; None if this processor lacks the instruction, or there is no compiler."""
    own, library = compiler(), blas()
    return None if own is None or library is None or not own.has_integer_products else VectorProducts(own, library)


class VectorProducts:
    """Products of 8-bit integers by vector instructions.

    Parameters
    ----------
    own
        The compiler.
    library
        BLAS, which is held to one thread while others compute convolutions.
    """

    def __init__(self, own: Compiler, library: Blas) -> None:
        address, integer = ctypes.c_void_p, ctypes.c_int64
        sizes = [integer] * 3
        self._own, self._library = own, library
        self._multiply = own.function(_product_text(own.machine.vector_bits), None, *[address, integer] * 3, *sizes, ctypes.c_int8)
        self._interleave = own.function(_interleaving_text(), None, address, integer, address, *sizes)
        self._convolution = lru_cache(1024)(self._bound)
        ON_CHANGE.append(self._convolution.cache_clear)  # the setting ``threads``

    def matmul(self, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Rows (m, k) times the transpose of a weight (n, k) with at least `TILE` rows, as int32."""
        rows, weight = (x if x.strides[1] == 1 else np.ascontiguousarray(x) for x in (rows, weight))
        (m, k), n = rows.shape, len(weight)
        out = POOL.empty((m, n), INT32)
        number = min(workers.count(), n // TILE) if m * n * k * MULTIPLICATION >= THREADED else 1
        # parts begin at whole tiles
        bounds = [*(part * n // number & -TILE for part in range(number)), n]
        tasks = [partial(self._columns, rows, weight, out, *ends) for ends in pairwise(bounds)]
        run_all(tasks) if number > 1 else tasks[0]()
        return out

    def _columns(self, rows: np.ndarray, weight: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
        """Some columns of a product."""
        (m, k), flip = rows.shape, OFFSET - 256 if rows.dtype == np.int8 else 0
        chosen, target = address_of(weight) + start * weight.strides[0], address_of(out) + start * INT32.itemsize
        self._multiply(address_of(rows), rows.strides[0], chosen, weight.strides[0], target, out.strides[0], m, stop - start, k, flip)

    def convolve(self, g: Geometry, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The convolution of contiguous arrays, as int32."""
        quads, depth = in_quads(g), g.channels // g.groups
        per = quads.channels // g.groups
        # one more word for each filter: the start value of its sums
        image, filters = POOL.empty((g.n, quads.channels, *g.size), WORD), POOL.empty((g.filters, per * g.taps + 1), WORD)
        self._interleave(address_of(data), g.n * g.groups, address_of(image), 0, depth, image[0, 0].size)
        if g.taps == 1 and depth % QUAD == 0:  # channels are neighbors already
            np.copyto(filters.view(np.int8)[:, :-QUAD], weight.reshape(g.filters, depth))
        else:
            self._interleave(address_of(weight), g.filters, address_of(filters), 1, depth, g.taps)
        filters.view(INT32)[:, -1] = self._offsets(weight.reshape(g.filters, -1)) if data.dtype == np.int8 else 0
        out = POOL.empty((g.n, g.filters, *g.out), WORD)
        self._convolution(quads, data.dtype == np.int8)(image, filters, out)
        return out.view(INT32)

    def _offsets(self, weight: np.ndarray) -> np.ndarray:
        """The initial values (f,) of the filters' sums, which cancel the effect of the flipped bits."""
        if len(weight) < TILE:
            # fewer rows than a tile has, which the product cannot take
            return weight.sum(1, np.int32) * -OFFSET
        # the sums of the weights, as a product with ones
        return self.matmul(np.ones((1, weight.shape[1]), np.uint8), weight)[0] * -OFFSET

    def _bound(self, quads: Geometry, flips: bool) -> Bound:
        """The convolution of interleaved arrays: each filter's weights are followed by the start value of its sums."""
        plane = plane_of(quads)
        row = plane.steps[1] + 1
        return bound_plane(self._own, self._library, plane._replace(steps=(plane.filters * row, row, plane.steps[2])), Quads(flips))


@dataclass(frozen=True)
class Quads(Arithmetic):
    """int32 sums of the products of four uint8 or int8 numbers with four int8 weights.

    Attributes
    ----------
    flips
        Whether the numbers are int8.
    """

    flips: bool
    lane = "i32"

    def declarations(self, lanes: int) -> str:
        """The instruction for four products."""
        return _declared(lanes)

    def first(self, filters: int, lanes: int) -> Iterator[str]:
        """The last word of each filter's weights."""
        yield f"  %first.from = sub i64 %weight.step, {QUAD}"
        for f in range(filters):
            yield f"  %first.at.{f} = getelementptr i8, ptr %filter.{f}, i64 %first.from\n  %first.word.{f} = load i32, ptr %first.at.{f}"
            yield from (f"  {line}" for line in splat(f"%first.{f}", f"%first.word.{f}", "i32", lanes))

    def loaded(self, name: str, lanes: int) -> Iterator[str]:
        """As bytes, uint8 ones."""
        kind = f"<{QUAD * lanes} x i8>"
        yield f"  {name}.bytes = bitcast <{lanes} x float> {name} to {kind}"
        yield f"  {name}.now = xor {kind} {name}.bytes, splat (i8 {OFFSET - 256 if self.flips else 0})"

    def multiplied(self, result: str, weight: str, x: str, total: str, lanes: int) -> Iterator[str]:
        """The instruction for four products."""
        kind = f"<{QUAD * lanes} x i8>"
        yield f"  {result}.weights = bitcast <{lanes} x float> {weight} to {kind}"
        yield f"  {result} = {_dot(total, x, f'{result}.weights', lanes)}"


def _declared(lanes: int) -> str:
    return "declare " + _dot("", "", "", lanes).removeprefix("call ")


def _dot(total: str, numbers: str, weights: str, lanes: int) -> str:
    """The call that adds to each lane of the sums four products."""
    sums, parts = f"<{lanes} x i32>", f"<{QUAD * lanes} x i8>"
    return f"call {sums} @llvm.x86.avx512.vpdpbusd.{32 * lanes}({sums} {total}, {parts} {numbers}, {parts} {weights})"


def _listed(places: Iterable[int], kind: str = "i32") -> str:
    return ", ".join(f"{kind} {k}" for k in places)


def _interleaving_text() -> str:
    """The module that interleaves channels."""
    channels, vectors, words = [], [], []
    for k in range(QUAD):
        # Channels beyond the last one, up to a multiple of four, are read from the first of the four, and masked to zero.
        channels += [
            f"  %c.{k} = add i64 %c, {k}",
            f"  %exists.{k} = icmp slt i64 %c.{k}, %depth",
            f"  %c.at.{k} = select i1 %exists.{k}, i64 %c.{k}, i64 %c",
            f"  %channel.offset.{k} = mul i64 %c.at.{k}, %plane",
            f"  %channel.{k} = getelementptr i8, ptr %from.image, i64 %channel.offset.{k}",
            f"  %bits.{k} = select i1 %exists.{k}, i8 -1, i8 0",
            *[f"  {line}" for line in splat(f"%bits.all.{k}", f"%bits.{k}", "i8", 8)],
        ]
        vectors += [
            f"  %vector.at.{k} = getelementptr i8, ptr %channel.{k}, i64 %place",
            f"  %loaded.{k} = load <8 x i8>, ptr %vector.at.{k}, align 1",
            f"  %vector.{k} = and <8 x i8> %loaded.{k}, %bits.all.{k}",
        ]
        words += [
            f"  %byte.at.{k} = getelementptr i8, ptr %channel.{k}, i64 %w",
            f"  %byte.loaded.{k} = load i8, ptr %byte.at.{k}",
            f"  %byte.{k} = and i8 %byte.loaded.{k}, %bits.{k}",
            f"  %word.{k} = insertelement <4 x i8> {f'%word.{k - 1}' if k else 'poison'}, i8 %byte.{k}, i64 {k}",
        ]
    pairs = _listed(k for n in range(8) for k in (n, 8 + n))
    quads = _listed(k for n in range(8) for k in (2 * n, 2 * n + 1, 16 + 2 * n, 16 + 2 * n + 1))
    lines = {"CHANNELS": "\n".join(channels), "VECTORS": "\n".join(vectors), "WORDS": "\n".join(words)}
    return llvm_text("interleave", PAIRS=pairs, QUADS=quads, **lines)


def _product_text(bits: int) -> str:
    """The module that multiplies rows by rows."""
    lanes, size = bits // 32, bits // 8
    words: dict[str, str | int] = {"TILE": TILE, "BYTES": size, "BYTES_MASK": size - 1}
    words |= {"NUMBERED": _listed(range(size), "i64"), "BYTE_VECTOR": f"<{size} x i8>", "DOT": _declared(lanes)}
    for name, kind in (("flip", "i8"), ("tail", "i64")):
        words[f"SPREAD_{name.upper()}"] = "\n".join(f"  {line}" for line in splat(f"%{name}.all", f"%{name}", kind, size))
    parts = {
        "COLUMNS": (line for c in range(TILE) for line in _column(c)),
        "FLIPPED_SUMS": (_sum(f"%flipped.{c}", lanes, "column.start", f"%flipped.next.{c}", "flipped.do") for c in range(TILE)),
        "FLIPPED": (line for c in range(TILE) for line in _flipped(c, lanes)),
        "ROWS": (line for r in range(TILE) for line in _row(r)),
        "SUMS": (_sum(f"%sum.{r}.{c}", lanes, "row.start", f"%next.{r}.{c}", "step.do") for r, c in _cells()),
        "STEP": _step("next", "%q", "", lanes),
        "REST": _step("last", "%whole", "%mask", lanes),
        "TOTALS": _totals(lanes),
    }
    return llvm_text("integer_product", **words, **{name: "\n".join(lines) for name, lines in parts.items()})


def _cells() -> Iterator[tuple[int, int]]:
    return product(range(TILE), range(TILE))


def _sum(name: str, lanes: int, before: str, value: str, loop: str) -> str:
    """A vector of sums at the head of a loop: zeros at first, then the loop's last value."""
    return f"  {name} = phi <{lanes} x i32> [ zeroinitializer, %{before} ], [ {value}, %{loop} ]"


def _column(c: int) -> Iterator[str]:
    yield f"  %j.{c} = add i64 %j.at, {c}\n  %column.offset.{c} = mul i64 %j.{c}, %column.step"
    yield f"  %column.{c} = getelementptr i8, ptr %columns, i64 %column.offset.{c}"


def _row(r: int) -> Iterator[str]:
    # Rows of a tile beyond the matrix compute the last row again, and write the same numbers to it.
    yield f"  %i.{r} = add i64 %i, {r}\n  %is.beyond.{r} = icmp sgt i64 %i.{r}, %m.last"
    yield f"  %i.at.{r} = select i1 %is.beyond.{r}, i64 %m.last, i64 %i.{r}\n  %row.offset.{r} = mul i64 %i.at.{r}, %row.step"
    yield f"  %row.{r} = getelementptr i8, ptr %rows, i64 %row.offset.{r}\n  %out.offset.{r} = mul i64 %i.at.{r}, %out.step"
    yield f"  %out.row.{r} = getelementptr i8, ptr %out, i64 %out.offset.{r}"
    yield f"  %out.{r} = getelementptr i32, ptr %out.row.{r}, i64 %j.at"


def _loaded(name: str, at: str, mask: str, lanes: int) -> str:
    """Load a vector of bytes, those of a mask or all."""
    size = QUAD * lanes
    kind = f"<{size} x i8>"
    if not mask:
        return f"  {name} = load {kind}, ptr {at}, align 1"
    return f"  {name} = call {kind} @llvm.masked.load.v{size}i8.p0(ptr {at}, i32 1, <{size} x i1> {mask}, {kind} zeroinitializer)"


def _flipped(c: int, lanes: int) -> Iterator[str]:
    yield f"  %flipped.at.{c} = getelementptr i8, ptr %column.{c}, i64 %p"
    yield _loaded(f"%flipped.weights.{c}", f"%flipped.at.{c}", "%flipped.mask", lanes)
    yield f"  %flipped.next.{c} = {_dot(f'%flipped.{c}', '%flip.all', f'%flipped.weights.{c}', lanes)}"


def _step(name: str, at: str, mask: str, lanes: int) -> Iterator[str]:
    """Add the products of a vector of each row and of each column to the sums."""
    for r in range(TILE):
        yield f"  %row.at.{name}.{r} = getelementptr i8, ptr %row.{r}, i64 {at}"
        yield _loaded(f"%raw.{name}.{r}", f"%row.at.{name}.{r}", mask, lanes)
        yield f"  %x.{name}.{r} = xor <{QUAD * lanes} x i8> %raw.{name}.{r}, %flip.all"
    for c in range(TILE):
        yield f"  %column.at.{name}.{c} = getelementptr i8, ptr %column.{c}, i64 {at}"
        yield _loaded(f"%w.{name}.{c}", f"%column.at.{name}.{c}", mask, lanes)
        yield from (f"  %{name}.{r}.{c} = {_dot(f'%sum.{r}.{c}', f'%x.{name}.{r}', f'%w.{name}.{c}', lanes)}" for r in range(TILE))


def _totals(lanes: int) -> Iterator[str]:
    """Sum the lanes of all vectors together: each step adds pairs of vectors into one, whose lanes belong to twice as many sums."""
    kind, values = f"<{lanes} x i32>", []
    for r, c in _cells():
        yield f"  %found.{r}.{c} = phi {kind} [ %sum.{r}.{c}, %rest ], [ %last.{r}.{c}, %rest.do ]"
    for r, c in _cells():
        yield f"  %part.{r}.{c} = sub {kind} %found.{r}.{c}, %flipped.{c}"
        values.append(f"%part.{r}.{c}")
    width, number = lanes, 0
    while width > 1:
        halves = [[at + half + k for at in range(0, 2 * lanes, width) for k in range(width // 2)] for half in (0, width // 2)]
        pairs, values = list(zip(values[::2], values[1::2], strict=True)), []
        for a, b in pairs:
            for side, places in zip(("low", "high"), halves, strict=True):
                yield f"  %{side}.{number} = shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{_listed(places)}>"
            yield f"  %pair.{number} = add {kind} %low.{number}, %high.{number}"
            values.append(f"%pair.{number}")
            number += 1
        width //= 2
    for r in range(TILE):
        vector, first = divmod(r * TILE, lanes)
        places = _listed(range(first, first + TILE))
        yield f"  %total.{r} = shufflevector {kind} {values[vector]}, {kind} poison, <{TILE} x i32> <{places}>"
        yield f"  store <{TILE} x i32> %total.{r}, ptr %out.{r}, align 4"

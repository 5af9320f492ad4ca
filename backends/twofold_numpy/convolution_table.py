"""Chooses the algorithm of a convolution: that of the most similar entry in ``convolution_table.json``, which `tune` measured."""

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .geometry import Geometry, Kind
from .tiles import are_grouped, has_form, is_usual

FILE = Path(__file__).with_suffix(".json")


class Choice(NamedTuple):
    """An algorithm by name, with the approximate size of its blocks in bytes."""

    name: str
    nbytes: int


class Row(NamedTuple):
    """A measured convolution, with the fastest algorithm without a compiler apart from Winograd's, and the fastest of all.

    ``saved`` is the time that each of these saves with channels last, as a multiple of the time to transpose all images; 0 for algorithms
    that need channels first. ``direct``: whether the direct algorithm is faster than Winograd's, both in machine code, on processors with
    one unit for multiply-adds of 512 bits or with narrower ones, and on those with two (see `jit.compiler.Compiler.has_two_wide_units`).
    """

    kind: Kind
    geometry: Geometry
    exact: Choice
    any: Choice
    saved: tuple[float, float] = (0.0, 0.0)
    direct: tuple[bool, bool] = (True, True)


def class_of(g: Geometry) -> str:
    """The class of a convolution; only convolutions of one class are compared."""
    if g.groups > 1:
        return "grouped dense" if g.is_dense and g.taps > 1 else "grouped"
    if g.is_pointwise:
        return "pointwise"
    if has_form(g) and are_grouped(g):
        return "dense 3x3 in groups" if is_usual(g) else "dense tiles in groups" if g.is_dense else "strided tiles in groups"
    if not g.is_dense:
        return "strided"
    return "dense 3x3" if is_usual(g) and has_form(g) else "dense"


def features(g: Geometry) -> tuple[float, ...]:
    """The logarithms of the sizes that speed depends on."""
    # logarithms, so that doubling and halving a size give the same distance
    sizes = (g.n, g.channels / g.groups, g.filters / g.groups, g.groups, math.prod(g.out), g.taps)
    return tuple(math.log(max(1, s)) for s in sizes)


#: The choices of the direct algorithm, which chooses its blocks itself, and of Winograd's in machine code.
DIRECT, WINOGRAD = Choice("direct", 0), Choice("winograd", 8 << 20)
#: The places of results beyond which further images of a batch take as long as the first ones by either.
PLACES = 1024


def choice(kind: Kind, g: Geometry, with_winograd: bool, with_direct: bool = False, on_wide: bool = False) -> Choice:
    """The algorithm for a convolution; ``with_direct``: the direct algorithm applies, and only Winograd's may be faster.

    ``on_wide``: on a processor with two units for multiply-adds of 512 bits.
    """
    if with_direct and (not with_winograd or _nearest(kind, g, kind == "forward").direct[on_wide]):
        return DIRECT
    nearest = _nearest(kind, g)
    found = nearest.any if with_winograd else nearest.exact
    return WINOGRAD if with_direct and found.name != "winograd" else found


def saving(kind: Kind, g: Geometry, with_winograd: bool) -> float:
    """The time that this algorithm saves with channels last, as a multiple of the time to transpose the images."""
    return _nearest(kind, g).saved[with_winograd]


def _nearest(kind: Kind, g: Geometry, of_few: bool = False) -> Row:
    """The most similar convolution in the table; ``of_few``: of no more images than make a difference to machine code."""
    at = features(_few(g) if of_few else g)
    return min(_similar(kind, class_of(g), of_few), key=lambda known: math.dist(at, known[0]))[1]


@cache
def _similar(kind: Kind, of: str, of_few: bool) -> list[tuple[tuple[float, ...], Row]]:
    """The rows for convolutions of a class, with their features."""
    found = [row for row in rows() if row.kind == kind and class_of(row.geometry) == of]
    return [(features(_few(row.geometry) if of_few else row.geometry), row) for row in found]


def _few(g: Geometry) -> Geometry:
    """The convolution of no more images than make a difference to machine code, so that a few of a batch are computed as all of it are."""
    return replace(g, n=min(g.n, -(-PLACES // math.prod(g.out))))


@cache
def rows() -> list[Row]:
    """The table."""
    return [row_of(entry) for entry in json.loads(FILE.read_text())["rows"]]


def row_of(entry: dict[str, Any]) -> Row:
    """A row of the JSON file."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry["geometry"].items()}
    return Row(
        entry["kind"], Geometry(**fields), Choice(*entry["exact"]), Choice(*entry["any"]), tuple(entry["saved"]), tuple(entry["direct"])
    )


def entry_of(row: Row) -> dict[str, Any]:
    """The inverse of `row_of`."""
    fields = {name: getattr(row.geometry, name) for name in Geometry.__dataclass_fields__}
    found = {"kind": row.kind, "geometry": fields, "exact": list(row.exact), "any": list(row.any)}
    return found | {"saved": list(row.saved), "direct": list(row.direct)}

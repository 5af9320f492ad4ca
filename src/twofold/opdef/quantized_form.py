"""How the 8-bit form of an operator takes its place in a graph."""

from typing import Any, NamedTuple


class Quantizes(NamedTuple):
    """Of which operator another is the 8-bit form, and how it takes its place.

    Attributes
    ----------
    op
        The operator on floats.
    places
        Positions of the inputs that are quantized; None for all.
    wide
        Whether the result is int32, which is brought back to 8 bits.
    leads
        Whether it pays by itself, not only between others.
    only
        A parameter of the operator, and its only values that have an 8-bit form.
    calibrated
        Whether it computes only with a known range of its results.
    unit
        A parameter of the operator with which an input counts as 1, and the input's position: the 8-bit form reads the input.
    """

    op: Any
    places: tuple[int, ...] | None = None
    wide: bool = False
    leads: bool = False
    only: tuple[str, tuple[str, ...]] | None = None
    calibrated: bool = False
    unit: tuple[str, int] | None = None

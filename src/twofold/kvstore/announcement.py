"""`Announcement`: a worker's description of a part of a key, which comes before its value; and `Included`, the pushes in a value."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dtype import MXNET_CODES
from ..errors import FormatError
from .base import Key
from .messages import Payload

#: The clock of a worker that does not have the value.
NO_VALUE = -1


class Included(NamedTuple):
    """The pushes that a value includes.

    Attributes
    ----------
    version
        The number of pushes of all workers, or of sums in a synchronous store; `NO_VALUE` for no value. Of two values of one part, the one
        with more contains the other's pushes.
    counts
        The numbers by worker, as far as they are known; empty for a synchronous store, in which those of all are alike.

    Examples
    --------
    >>> from twofold.kvstore.announcement import Included
    >>> Included(5, {0: 2, 1: 3}).numbers().tolist()
    [5, 0, 2, 1, 3]
    >>> Included.of_numbers([5, 0, 2, 1, 3])
    Included(version=5, counts={0: 2, 1: 3})
    """

    version: int
    counts: dict[int, int]

    @classmethod
    def of_numbers(cls, numbers: Sequence[int]) -> "Included":
        """From the numbers of `numbers`."""
        version, *pairs = numbers
        return cls(version, dict(zip(pairs[::2], pairs[1::2], strict=True)))

    def numbers(self) -> np.ndarray:
        """As 64-bit integers, for a message: the version, then each worker with its count."""
        return np.array([self.version, *(n for pair in self.counts.items() for n in pair)], np.int64)


class Announcement(NamedTuple):
    """The contents of an `Opcode.INIT`.

    Attributes
    ----------
    name, shape, dtype, is_row_sparse
        The key, and the part's shape, MXNet's code of its data type, and whether it is row-sparse.
    is_cut
        Whether other servers have other parts of the key.
    clock
        For a part that another server had: how many of the worker's pushes are in the last value that it has; `NO_VALUE` if it has none.
    included
        The pushes of all workers in that value; by worker where the server has told.
    heir_of
        The dead server that had the part; None for a new key.
    """

    name: Key
    shape: tuple[int, ...]
    dtype: int
    is_row_sparse: bool
    is_cut: bool
    clock: int
    included: Included
    heir_of: int | None


def announcement_in(payload: Payload) -> Announcement:
    """The announcement in a payload.

    Raises
    ------
    FormatError
        If the payload is not an announcement.
    """
    try:
        match json.loads(text_in(payload)):
            case {"name": int() | str() as name, "shape": [*sizes], "dtype": str(dtype), **more} if dtype in MXNET_CODES and sizes:
                # `type`, not `isinstance`: JSON's true is an int too. The bounds keep a product of sizes from becoming a huge number.
                if all(type(n) is int and 0 < n < 1 << 48 for n in sizes) and len(sizes) <= 32:
                    clock, version, heir_of = more.get("clock", 0), more.get("version", 0), more.get("heir_of")
                    counts = dict(more.get("counts", ()))
                    numbers = (clock, version, *counts, *counts.values())
                    if all(type(n) is int and NO_VALUE <= n < 1 << 63 for n in numbers) and (heir_of is None or type(heir_of) is int):
                        included = Included(version, counts)
                        is_row_sparse, is_cut = more.get("stype") == "row_sparse", bool(more.get("is_cut"))
                        return Announcement(name, tuple(sizes), MXNET_CODES[dtype], is_row_sparse, is_cut, clock, included, heir_of)
    except (ValueError, TypeError, RecursionError):
        pass
    raise FormatError("init: this does not describe a key", bytes(payload[:80]).decode(errors="replace"), "send name, shape and dtype")


def text_in(payload: Payload) -> str:
    """The text in a payload.

    Raises
    ------
    FormatError
        If the payload is not UTF-8.
    """
    try:
        return bytes(payload).decode()
    except UnicodeDecodeError as error:
        raise FormatError("server: this is not UTF-8", bytes(payload[:16]).hex(" "), "send text") from error

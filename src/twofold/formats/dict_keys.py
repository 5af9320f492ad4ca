"""Refuses keys from a file that were made to collide in a dict, where each new key would be compared with all others.

Hashes of texts are salted in each process, but those of numbers, and of tuples of numbers, are known to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from ..errors import FormatError

FEW = 128  # keys that may collide: to compare each with each takes a microsecond per key
MOST_COLLISIONS = 32  # per key. Random keys have 1 or 2, fractions and multiples of large powers of 2 up to 12
SHIFT = 5  # bits of the hash that CPython consumes at each collision
UNSIGNED = 2**64 - 1


def check_keys(keys: Sequence[object], what: str) -> None:
    """Check that a dict, or a set, of these keys is made in time linear in their number.

    Parameters
    ----------
    keys
        The keys, in the order in which they are put into the dict.
    what
        What has these keys, in errors.

    Raises
    ------
    FormatError
        If too many of them collide.
    """
    if len(keys) <= FEW or {*map(type, keys)} == {str} or (_are_integers(keys) and min(keys) >= 0 and max(keys) < 2 * len(keys)):
        return  # dense integers do not collide
    table = _Table(MOST_COLLISIONS * len(keys))
    for key in keys:
        table.add((hash(key) & UNSIGNED, key))
        if table.left < 0:
            raise FormatError(f"{what}: the keys were made to collide", f"{len(keys)} keys")


def _are_integers(keys: Sequence[object]) -> TypeGuard[Sequence[int]]:
    return {*map(type, keys)} == {int}


class _Table:
    """The places of keys in a dict of CPython.

    Attributes
    ----------
    left
        How many more collisions are allowed.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self.entries: list[tuple[int, object]] = []
        self.slots: list[tuple[int, object] | None] = [None] * 8

    def add(self, entry: tuple[int, object]) -> None:
        """Put a key in, with its hash."""
        place = self.place_of(entry)
        if self.slots[place] is not None:  # the same key again
            return
        self.slots[place] = entry
        self.entries.append(entry)
        # a dict doubles when it is filled to two thirds
        if 3 * len(self.entries) > 2 * len(self.slots):
            self.slots = [None] * (2 * len(self.slots))
            for known in self.entries:
                self.slots[self.place_of(known)] = known

    def place_of(self, entry: tuple[int, object]) -> int:
        """Where a key is, or would be put."""
        mask = len(self.slots) - 1
        rest = entry[0]
        place = rest & mask
        while self.left >= 0 and self.slots[place] not in (None, entry):
            self.left -= 1
            rest >>= SHIFT
            place = (place * 5 + rest + 1) & mask
        return place

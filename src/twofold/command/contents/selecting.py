"""Which items of many are shown."""

import random
from collections.abc import Sequence

from .content import Selection


def selected(count: int, selection: Selection) -> Sequence[int]:
    """The positions that are shown of so many: the first, or as many at random, in order."""
    shown = min(count, selection.count)
    return range(shown) if selection.seed is None else sorted(random.Random(selection.seed).sample(range(count), shown))


def spread(count: int, most: int) -> Sequence[int]:
    """At most so many positions, evenly spaced."""
    return range(count) if count <= most else [k * count // most for k in range(most)]

"""One kernel that writes scalars and copies many arrays: the transfers into and out of a captured graph.

Addresses and scalars are passed by value among the kernel's arguments, so there is no staging buffer to keep alive until it has run.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from .launch import THREADS, Kernel, filled, function

#: Sizes of the argument table in 64-bit words; the launch takes the smallest that fits. All arguments together may take 4 KiB.
SIZES = (32, 128, 480)
MAX_WORDS = SIZES[-1]
#: Approximate number of bytes that a thread block copies, and the most thread blocks per copy.
BYTES_PER_BLOCK, MAX_BLOCKS = 1 << 14, 2048

#: (source address, target address, bytes).
Copy = tuple[int, int, int]


def copy_batch(words: np.ndarray, place: int, copies: Sequence[Copy]) -> None:
    """Write uint64 words to an address of the current device and make copies; in one launch unless the table overflows."""
    rest = list(copies)
    while words.size or rest:
        now, words = words[:MAX_WORDS], words[MAX_WORDS:]
        # a copy takes three words of the table: source, target, bytes
        room = (MAX_WORDS - now.size) // 3
        _launch(now, place, rest[:room])
        rest, place = rest[room:], place + now.nbytes


def _launch(words: np.ndarray, place: int, copies: Sequence[Copy]) -> None:
    count, used = words.size, words.size + 3 * len(copies)
    size = next(s for s in SIZES if s >= used)
    table = np.zeros((), _table(size))
    table["word"][:count] = words
    table["word"][count:used] = [number for copy in copies for number in copy]
    # the grid is as wide as the largest copy needs; its second axis is the copies
    blocks = min(max(-(-max((n for _, _, n in copies), default=0) // BYTES_PER_BLOCK), 1), MAX_BLOCKS)
    numbers = np.uint64(place), np.int32(count), np.int32(len(copies))
    _kernel(size)((blocks, max(len(copies), 1)), (THREADS,), (table, *numbers))


@cache
def _table(size: int) -> np.dtype:
    return np.dtype([("word", np.uint64, (size,))])


@cache
def _kernel(size: int) -> Kernel:
    return function(kernel_source(size), "tf_copy_batch")


def kernel_source(size: int) -> str:
    """The kernel's source for a table of ``size`` words: the words to write, then source, target and bytes of each copy."""
    return filled({"WORDS": str(size)}, "copy_batch")

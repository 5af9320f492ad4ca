"""What goes into a captured program and comes out of it: numbers by value and copies of arrays, many of them by one kernel."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from .launch import THREADS, Kernel, filled, function

#: Sizes of the kernel's table in words; all of its parameters may take 4 KiB.
SIZES = (32, 128, 480)
MOST = SIZES[-1]
#: Bytes that a block of threads copies, about, and the most blocks for one copy.
SHARE, BLOCKS = 1 << 14, 2048

#: From where, to where, how many bytes.
Copy = tuple[int, int, int]


def hand_over(words: np.ndarray, place: int, copies: Sequence[Copy]) -> None:
    """Write words (uint64) to an address of the current device, and copy memory there; by one launch unless there is very much."""
    rest = list(copies)
    while words.size or rest:
        now, words = words[:MOST], words[MOST:]
        room = (MOST - now.size) // 3
        _launch(now, place, rest[:room])
        rest, place = rest[room:], place + now.nbytes


def _launch(words: np.ndarray, place: int, copies: Sequence[Copy]) -> None:
    count, used = words.size, words.size + 3 * len(copies)
    size = next(s for s in SIZES if s >= used)
    table = np.zeros((), _table(size))
    table["word"][:count] = words
    table["word"][count:used] = [number for copy in copies for number in copy]
    blocks = min(max(-(-max((n for _, _, n in copies), default=0) // SHARE), 1), BLOCKS)
    numbers = np.uint64(place), np.int32(count), np.int32(len(copies))
    _kernel(size)((blocks, max(len(copies), 1)), (THREADS,), (table, *numbers))


@cache
def _table(size: int) -> np.dtype:
    return np.dtype([("word", np.uint64, (size,))])


@cache
def _kernel(size: int) -> Kernel:
    return function(text(size), "tf_hand_over")


def text(size: int) -> str:
    """The text for a table of so many words: numbers, then for each copy from where, to where and how many bytes."""
    return filled(TEXT, {"WORDS": str(size)})


TEXT = """
typedef unsigned long long tf_word;
struct tf_table { tf_word word[WORDS]; };
struct alignas(16) tf_pair { tf_word first, second; };

TF_KERNEL tf_hand_over(const tf_table table, const tf_word place, const int count, const int copies) {
    if (blockIdx.x == 0 && blockIdx.y == 0)
        for (int k = threadIdx.x; k < count; k += blockDim.x) ((tf_word *)place)[k] = table.word[k];
    if ((int)blockIdx.y >= copies) return;
    const tf_word *entry = table.word + count + 3 * blockIdx.y;
    const tf_word from = entry[0], to = entry[1], size = entry[2];
    const tf_word begin = (tf_word)blockIdx.x * blockDim.x + threadIdx.x, step = (tf_word)gridDim.x * blockDim.x;
    const tf_word pairs = (from | to) % sizeof(tf_pair) ? 0 : size / sizeof(tf_pair);
    for (tf_word k = begin; k < pairs; k += step) ((tf_pair *)to)[k] = ((const tf_pair *)from)[k];
    for (tf_word k = pairs * sizeof(tf_pair) + begin; k < size; k += step) ((char *)to)[k] = ((const char *)from)[k];
}
"""

"""`buckets`: which arrays are summed in one message, and `bucket_sizes`: how large the messages of a model are."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

#: Bytes of the first bucket, which must be sent early, and of the last, which must end early; bytes of the others. One large message
#: takes longer than several of 4 MB.
FIRST, MOST = 1 << 20, 1 << 22
#: Bytes from which the arrays before the first large one are worth a message of their own.
LEAST = 1 << 14


def buckets(sizes: Sequence[int], kinds: Sequence[object]) -> list[list[int]]:
    """Divide arrays into messages: neighbors of one kind, the last arrays first, because backward makes their gradients first.

    Parameters
    ----------
    sizes
        Bytes of each array.
    kinds
        Values that are equal for arrays that fit into one message.

    Returns
    -------
    list
        Lists of numbers of arrays. Only a single array may exceed the limit. Two large arrays are never in one list: each is sent as soon
        as it is computed, without a copy. The arrays before the first large one, whose gradients are made last, have a list of their own,
        so that little is left to send after backward.

    Examples
    --------
    >>> from twofold.kvstore.buckets import buckets
    >>> buckets([100_000, 1_500_000, 100, 2_000_000, 800_000, 500_000], ["float32"] * 6)
    [[5], [4, 3, 2], [1], [0]]
    """
    found: list[list[int]] = []
    filled = limit = 0
    sums = list(accumulate(sizes))
    last = sum(total <= FIRST for total in sums)
    # the arrays that fit into the first MB of the model get the last message, unless they are too few to be worth one
    end = last - 1 if last and sums[last - 1] >= LEAST else -1
    for k in reversed(range(len(sizes))):
        if found and kinds[k] == kinds[k + 1] and k != end and filled + sizes[k] <= limit and (filled < FIRST or sizes[k] < FIRST):
            found[-1].append(k)
            filled += sizes[k]
        else:
            limit = MOST if found else FIRST
            found.append([k])
            filled = sizes[k]
    return found


def bucket_sizes(nbytes: int) -> Iterator[int]:
    """Sizes of the buckets in which gradients are summed, in the order in which the backward pass fills them."""
    size = FIRST
    while nbytes > 0:
        yield min(size, nbytes)
        nbytes -= size
        size = MOST

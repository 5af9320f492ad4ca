"""The longest increasing subsequence, by binary search, and for a short sequence by comparing all pairs."""

import numpy as np


def longest_increasing(x):
    tails = np.empty(len(x))
    last = np.empty(len(x), dtype=int)
    before = np.full(len(x), -1)
    length = 0
    for k in range(len(x)):
        at = np.searchsorted(tails[:length], x[k])
        tails[at] = x[k]
        last[at] = k
        if at > 0:
            before[k] = last[at - 1]
        length = max(length, at + 1)
    k = last[length - 1]
    found = []
    while k >= 0:
        found.append(k)
        k = before[k]
    return np.array(found[::-1])


def by_pairs(x):
    length = np.ones(len(x), dtype=int)
    for k in range(1, len(x)):
        smaller = x[:k] < x[k]
        if smaller.any():
            length[k] = length[:k][smaller].max() + 1
    return length.max()


if __name__ == "__main__":
    rng = np.random.default_rng(23)
    x = np.cumsum(rng.normal(size=60_000)) + rng.normal(0, 40, 60_000)
    found = longest_increasing(x)
    print("length", len(found), "increasing", bool(np.all(np.diff(x[found]) > 0)), "first", x[found[0]].round(8))
    print("by pairs", by_pairs(x[:3000]), "again", len(longest_increasing(x[:3000])))

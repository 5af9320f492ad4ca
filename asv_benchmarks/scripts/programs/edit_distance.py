"""Edit distances between words and between two longer texts, and the alignment of the latter."""

import numpy as np


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d


def alignment(d, a, b):
    i, j = len(a), len(b)
    kept = 0
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1] and d[i, j] == d[i - 1, j - 1]:
            kept, i, j = kept + 1, i - 1, j - 1
        elif d[i, j] == d[i - 1, j - 1] + 1:
            i, j = i - 1, j - 1
        elif d[i, j] == d[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
    return kept


if __name__ == "__main__":
    rng = np.random.default_rng(14)
    text = "".join("acgt"[k] for k in rng.integers(0, 4, 500))
    changed = [c for c in text if rng.random() > 0.1]
    for at in rng.integers(0, len(changed), 60):
        changed[at] = "acgt"[rng.integers(0, 4)]
    d = edit_distance(text, "".join(changed))
    print("distance", d[-1, -1], "kept", alignment(d, text, "".join(changed)))
    words = ["kitten", "sitting", "mitten", "smitten", "knitting"]
    print([[int(edit_distance(a, b)[-1, -1]) for b in words] for a in words])

"""Connected components of a binary image by spreading the smallest label."""

import numpy as np

rng = np.random.default_rng(12)
n = 220
mask = rng.random((n, n)) < 0.55

labels = np.where(mask, np.arange(1, n * n + 1).reshape(n, n), 0)
big = n * n + 1
rounds = 0
while True:
    padded = np.full((n + 2, n + 2), big)
    padded[1:-1, 1:-1] = np.where(mask, labels, big)
    smallest = padded[1:-1, 1:-1].copy()
    for shifted in (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
        smallest = np.minimum(smallest, shifted)
    new = np.where(mask, smallest, 0)
    rounds += 1
    if np.array_equal(new, labels):
        break
    labels = new

names, sizes = np.unique(labels[mask], return_counts=True)
order = np.argsort(-sizes, kind="stable")
print("components", len(names), "after", rounds, "rounds")
print("largest", names[order[:5]], sizes[order[:5]])

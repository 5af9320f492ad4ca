"""The 0/1 knapsack problem, one row of the table at a time, and the items that were chosen."""

import numpy as np

rng = np.random.default_rng(10)
items, capacity = 500, 40_000
weight = rng.integers(20, 400, items)
value = rng.integers(10, 500, items)

best = np.zeros(capacity + 1, dtype=np.int64)
taken = np.zeros((items, capacity + 1), dtype=bool)
for k in range(items):
    w = weight[k]
    candidate = best[:-w] + value[k]
    better = candidate > best[w:]
    taken[k, w:] = better
    best[w:] = np.where(better, candidate, best[w:])

chosen = []
room = capacity
for k in reversed(range(items)):
    if taken[k, room]:
        chosen.append(k)
        room -= weight[k]
chosen = np.array(chosen[::-1])

print("value", best[-1], "weight", weight[chosen].sum(), "of", capacity)
print("items", len(chosen), chosen[:8], "check", value[chosen].sum() == best[-1])

"""Sales by customer and by month: groups by unique keys, counts and weighted counts, rankings."""

import numpy as np

rng = np.random.default_rng(29)
n = 400_000
customer = rng.integers(1000, 6000, n)
month = rng.integers(0, 12, n)
amount = rng.gamma(2.0, 20.0, n).round(2)

keys, inverse, counts = np.unique(customer, return_inverse=True, return_counts=True)
totals = np.bincount(inverse, weights=amount)
averages = totals / counts
top = np.argsort(-totals)[:5]

table = np.zeros((len(keys), 12))
np.add.at(table, (inverse, month), amount)
largest = np.full(len(keys), -np.inf)
np.maximum.at(largest, inverse, amount)

order = np.argsort(customer, kind="stable")
bounds = np.flatnonzero(np.diff(customer[order])) + 1
medians = np.array([np.median(group) for group in np.split(amount[order], bounds)])

above = amount > averages[inverse]
print("customers", len(keys), "top", keys[top], totals[top].round(2))
print("by month", table.sum(axis=0).round(2)[:4], "largest", largest.max())
print(f"median of medians {np.median(medians):.4f}, sales above average {above.sum()}")

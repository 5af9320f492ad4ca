"""Two tables joined by sorting and binary search; trades matched with the last quote before them."""

import numpy as np

np.random.seed(30)
quotes, trades = 300_000, 200_000
quote_time = np.sort(np.random.rand(quotes) * 86400)
bid = 100 + np.cumsum(np.random.randn(quotes)) * 0.01
ask = bid + 0.01 * (1 + np.random.rand(quotes))
trade_time = np.random.rand(trades) * 86400
size = np.random.randint(1, 500, trades)

at = np.searchsorted(quote_time, trade_time, side="right") - 1
valid = at >= 0
mid = 0.5 * (bid[at[valid]] + ask[at[valid]])
order = np.argsort(trade_time[valid])
notional = np.cumsum((mid * size[valid])[order])
print(f"matched {valid.sum()}, value {notional[-1]:.4f}")

left = np.random.permutation(200_000)[:120_000]
right = np.random.permutation(200_000)[:120_000]
price = np.random.rand(120_000)
sorter = np.argsort(right)
found = np.searchsorted(right, left, sorter=sorter)
found[found == len(right)] = 0
match = right[sorter[found]] == left
joined = price[sorter[found[match]]]
both = np.intersect1d(left, right)
missing = np.setdiff1d(left, right)
print("joined", match.sum(), "in both", len(both), "missing", len(missing), f"mean price {joined.mean():.10f}")
ranks = np.empty(len(price), dtype=int)
ranks[np.argsort(price)] = np.arange(len(price))
print("ranks", ranks[:5], "deciles", np.quantile(price, [0.1, 0.5, 0.9]).round(8))

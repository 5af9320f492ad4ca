"""Bootstrap confidence intervals of the mean, the median and a correlation."""

import numpy as np

rng = np.random.default_rng(28)
x = rng.lognormal(0.5, 0.8, 400)
y = 0.6 * x + rng.normal(0, 1.0, 400)
resamples = 2000

means = np.empty(resamples)
medians = np.empty(resamples)
correlations = np.empty(resamples)
for b in range(resamples):
    idx = rng.integers(0, len(x), len(x))
    xb, yb = x[idx], y[idx]
    means[b] = xb.mean()
    medians[b] = np.median(xb)
    correlations[b] = np.corrcoef(xb, yb)[0, 1]

for name, values in [("mean", means), ("median", medians), ("correlation", correlations)]:
    low, high = np.percentile(values, [2.5, 97.5])
    print(f"{name}: {values.mean():.10f} in [{low:.10f}, {high:.10f}]")

pooled = np.concatenate([x, y])
observed = x.mean() - y.mean()
count = 0
for _ in range(3000):
    shuffled = rng.permutation(pooled)
    count += shuffled[:400].mean() - shuffled[400:].mean() >= observed
print("permutation test", count / 3000)

"""Measurements of many sensors standardized, clipped and scored for outliers."""

import numpy as np


def z_score(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


np.random.seed(32)
n, sensors = 300_000, 8
data = np.random.randn(n, sensors) * np.arange(1, sensors + 1) + 10.0
data[::1000] += 50.0

z = z_score(data)
outliers = np.abs(z) > 4
clipped = np.clip(z, -3, 3)
squashed = clipped / (1 + np.abs(clipped))
score = np.sqrt((squashed**2).sum(axis=1))
robust = 1 / (1 + np.exp(-2.0 * (score - score.mean()) / score.std()))
scaled = (data - data.min(axis=0)) / (data.max(axis=0) - data.min(axis=0))
entropy = -np.mean(scaled * np.log(scaled + 1e-9) + (1 - scaled) * np.log(1 - scaled + 1e-9))

print("outliers by sensor", outliers.sum(axis=0))
print(f"score {score.mean():.10f} {score.max():.10f}, robust {robust.mean():.10f}")
print(f"entropy {entropy:.10f}")

"""Histogram equalization and Otsu's threshold of a grey image."""

import numpy as np

rng = np.random.default_rng(4)
y, x = np.mgrid[-1:1:1500j, -1:1:1500j]
scene = 90 + 50 * np.exp(-4 * (x**2 + y**2)) + rng.normal(0, 6, x.shape)
image = np.clip(scene, 0, 255).astype(np.uint8)

hist = np.bincount(image.ravel(), minlength=256)
cdf = hist.cumsum()
cdf_min = cdf[cdf > 0][0]
table = np.round((cdf - cdf_min) / (image.size - cdf_min) * 255).clip(0, 255).astype(np.uint8)
equalized = table[image]

probability = hist / image.size
omega = np.cumsum(probability)
mu = np.cumsum(probability * np.arange(256))
with np.errstate(divide="ignore", invalid="ignore"):
    between = (mu[-1] * omega - mu) ** 2 / (omega * (1 - omega))
threshold = np.nanargmax(between)
binary = image > threshold

print("before", image.min(), image.max(), round(float(image.mean()), 6))
print("after", equalized.min(), equalized.max(), round(float(equalized.mean()), 6))
print("levels used", len(np.unique(equalized)), "threshold", threshold, "foreground", binary.sum())

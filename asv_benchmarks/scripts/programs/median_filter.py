"""A 3x3 median filter against salt-and-pepper noise."""

import numpy as np


def median_filter(image, size=3):
    pad = size // 2
    padded = np.pad(image, pad, mode="edge")
    h, w = image.shape
    stack = np.stack([padded[i : i + h, j : j + w] for i in range(size) for j in range(size)], axis=-1)
    return np.median(stack, axis=-1)


np.random.seed(8)
y, x = np.mgrid[0:300, 0:300]
image = np.sin(x / 20.0) + np.cos(y / 30.0)
noisy = image.copy()
salt = np.random.rand(*image.shape)
noisy[salt < 0.05] = -3.0
noisy[salt > 0.95] = 3.0

once = median_filter(noisy)
twice = median_filter(once)
for name, result in [("noisy", noisy), ("once", once), ("twice", twice)]:
    print(f"{name:6} error {np.abs(result - image).mean():.10f} largest {np.abs(result - image).max():.10f}")

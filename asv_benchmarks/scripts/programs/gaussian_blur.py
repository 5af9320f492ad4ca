"""A separable Gaussian blur of a large image, then unsharp masking."""

import numpy as np


def gaussian_kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    return kernel / kernel.sum()


def blur(image, kernel):
    radius = len(kernel) // 2
    h, w = image.shape
    padded = np.pad(image, ((radius, radius), (0, 0)), mode="reflect")
    rows = np.zeros_like(image)
    for k, weight in enumerate(kernel):
        rows += weight * padded[k : k + h, :]
    padded = np.pad(rows, ((0, 0), (radius, radius)), mode="reflect")
    result = np.zeros_like(image)
    for k, weight in enumerate(kernel):
        result += weight * padded[:, k : k + w]
    return result


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:1200, 0:1600]
    image = 128 + 60 * np.sin(x / 37.0) * np.cos(y / 23.0) + rng.normal(0, 10, (1200, 1600))
    image = np.clip(image, 0, 255)
    smooth = blur(image, gaussian_kernel(2.0))
    sharp = np.clip(image + 1.5 * (image - smooth), 0, 255)
    print(f"image {image.mean():.8f} {image.std():.8f}")
    print(f"blurred {smooth.mean():.8f} {smooth.std():.8f} {smooth[600, 800]:.8f}")
    print(f"sharpened {sharp.mean():.8f} {sharp.std():.8f} {sharp[600, 800]:.8f}")

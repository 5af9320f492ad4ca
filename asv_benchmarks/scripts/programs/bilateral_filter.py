"""A bilateral filter: a blur that keeps edges."""

import numpy as np


def bilateral(image, radius, sigma_space, sigma_range):
    h, w = image.shape
    padded = np.pad(image, radius, mode="edge")
    total = np.zeros((h, w))
    weights = np.zeros((h, w))
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + h, radius + dx : radius + dx + w]
            closeness = np.exp(-(dx**2 + dy**2) / (2 * sigma_space**2))
            similarity = np.exp(-((shifted - image) ** 2) / (2 * sigma_range**2))
            weight = closeness * similarity
            total += weight * shifted
            weights += weight
    return total / weights


def main():
    rng = np.random.default_rng(3)
    image = np.zeros((600, 600))
    image[150:450, 150:450] = 0.8
    image[300:, 300:] += 0.1
    noisy = image + rng.normal(0, 0.05, image.shape)
    result = bilateral(noisy, 3, 2.0, 0.2)
    print(f"error before {np.sqrt(np.mean((noisy - image) ** 2)):.8f} after {np.sqrt(np.mean((result - image) ** 2)):.8f}")
    print(f"edge {result[300, 148:153].round(6)}")


if __name__ == "__main__":
    main()

"""Clustering by k-means with several random starts."""

import numpy as np


def kmeans(X, k, rng, max_iter=50):
    centres = X[rng.choice(len(X), k, replace=False)]
    for _ in range(max_iter):
        distances = np.sqrt(((X[:, np.newaxis] - centres) ** 2).sum(axis=2))
        labels = np.argmin(distances, axis=1)
        new = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        if np.allclose(new, centres):
            break
        centres = new
    return centres, labels, distances.min(axis=1).sum()


def main():
    rng = np.random.default_rng(21)
    truth = rng.uniform(-10, 10, (8, 4))
    X = np.concatenate([rng.normal(c, 1.0, (400, 4)) for c in truth])
    rng.shuffle(X)
    results = [kmeans(X, 8, rng) for _ in range(8)]
    best = min(results, key=lambda r: r[2])
    centres, labels, inertia = best
    order = np.argsort(centres[:, 0])
    print(f"inertia {inertia:.6f}")
    print("sizes", np.bincount(labels, minlength=8)[order])
    print("first coordinates", centres[order, 0].round(6))


if __name__ == "__main__":
    main()

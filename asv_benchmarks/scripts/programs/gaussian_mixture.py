"""A mixture of Gaussians fitted by expectation and maximization."""

import numpy as np


def log_gaussian(X, mean, cov):
    d = X.shape[1]
    L = np.linalg.cholesky(cov)
    y = np.linalg.solve(L, (X - mean).T)
    return -0.5 * (d * np.log(2 * np.pi) + np.sum(y**2, axis=0)) - np.sum(np.log(np.diag(L)))


def em(X, k, steps, rng):
    n, d = X.shape
    means = X[rng.choice(n, k, replace=False)]
    covs = np.array([np.cov(X.T)] * k)
    weights = np.ones(k) / k
    for _ in range(steps):
        logs = np.array([np.log(weights[j]) + log_gaussian(X, means[j], covs[j]) for j in range(k)]).T
        top = logs.max(axis=1, keepdims=True)
        norm = top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        resp = np.exp(logs - norm)
        Nk = resp.sum(axis=0)
        weights = Nk / n
        means = (resp.T @ X) / Nk[:, None]
        for j in range(k):
            diff = X - means[j]
            covs[j] = (resp[:, j, None] * diff).T @ diff / Nk[j] + 1e-6 * np.eye(d)
    return weights, means, norm.sum()


if __name__ == "__main__":
    rng = np.random.default_rng(9)
    X = np.vstack(
        [
            rng.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.0]], 1500),
            rng.multivariate_normal([4, 4], [[1.5, -0.4], [-0.4, 0.5]], 1000),
            rng.multivariate_normal([-4, 3], [[0.4, 0.0], [0.0, 2.0]], 500),
        ]
    )
    weights, means, likelihood = em(X, 3, 300, rng)
    order = np.argsort(weights)
    print("weights", weights[order].round(6))
    print("means", means[order].round(5).tolist())
    print(f"log likelihood {likelihood:.5f}")

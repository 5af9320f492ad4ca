"""Recommendations: ratings factorized by stochastic gradient descent, one rating at a time."""

import numpy as np

np.random.seed(1)
users, items, k = 200, 150, 8
P_true = np.random.normal(0, 0.6, (users, k))
Q_true = np.random.normal(0, 0.6, (items, k))
pairs = np.random.permutation(users * items)[:12_000]
u, i = pairs // items, pairs % items
ratings = 3.0 + np.sum(P_true[u] * Q_true[i], axis=1) + 0.1 * np.random.randn(len(u))

P = np.random.normal(0, 0.1, (users, k))
Q = np.random.normal(0, 0.1, (items, k))
bu, bi = np.zeros(users), np.zeros(items)
mean = ratings[:10_000].mean()
lr, reg = 0.02, 0.02

for epoch in range(4):
    squared = 0.0
    for n in range(10_000):
        a, b = u[n], i[n]
        error = ratings[n] - (mean + bu[a] + bi[b] + P[a] @ Q[b])
        squared += error**2
        bu[a] += lr * (error - reg * bu[a])
        bi[b] += lr * (error - reg * bi[b])
        Pa = P[a].copy()
        P[a] += lr * (error * Q[b] - reg * P[a])
        Q[b] += lr * (error * Pa - reg * Q[b])
    print(f"epoch {epoch}: {np.sqrt(squared / 10_000):.8f}")

rest = slice(10_000, None)
predicted = mean + bu[u[rest]] + bi[i[rest]] + np.einsum("nk,nk->n", P[u[rest]], Q[i[rest]])
print(f"test {np.sqrt(np.mean((predicted - ratings[rest]) ** 2)):.8f}")

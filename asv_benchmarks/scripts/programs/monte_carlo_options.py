"""Option prices for several strikes and volatilities by Monte Carlo simulation with common random numbers."""

import numpy as np

S0, r, T = 100.0, 0.03, 1.0
n = 1_000_000

rng = np.random.default_rng(42)
z = rng.standard_normal(n)
discount = np.exp(-r * T)

for sigma in (0.1, 0.2, 0.3, 0.4):
    drift = (r - 0.5 * sigma**2) * T
    up = S0 * np.exp(drift + sigma * np.sqrt(T) * z)
    down = S0 * np.exp(drift - sigma * np.sqrt(T) * z)
    for K in (90.0, 100.0, 110.0):
        payoff = 0.5 * discount * (np.maximum(up - K, 0) + np.maximum(down - K, 0))
        corridor = np.where((up > K) & (up < K + 20), 1.0, 0.0)
        price, error = payoff.mean(), payoff.std() / np.sqrt(n)
        print(f"sigma {sigma} K {K:g}: {price:.8f} +- {error:.8f}, corridor {discount * corridor.mean():.8f}")

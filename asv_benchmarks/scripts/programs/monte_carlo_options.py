"""Prices of an Asian and a barrier option, by Monte Carlo simulation of the stock's path."""

import numpy as np

S0, K, barrier = 100.0, 105.0, 140.0
r, sigma, T = 0.03, 0.25, 1.0
paths, steps = 500_000, 24
dt = T / steps

rng = np.random.default_rng(42)
S = np.full(paths, S0)
total = np.zeros(paths)
alive = np.ones(paths)
for _ in range(steps):
    z = rng.standard_normal(paths)
    S = S * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
    total += S
    alive = alive * np.where(barrier > S, 1.0, 0.0)

discount = np.exp(-r * T)
asian = discount * np.maximum(total / steps - K, 0)
knock_out = discount * np.maximum(S - K, 0) * alive
european = discount * np.maximum(S - K, 0)
for name, payoff in [("asian", asian), ("knock-out", knock_out), ("european", european)]:
    print(f"{name}: {payoff.mean():.8f} +- {payoff.std(ddof=1) / np.sqrt(paths):.8f}")

"""Prices and sensitivities of two million European options by the Black-Scholes formula."""

import numpy as np


def normal_cdf(x):
    # Abramowitz and Stegun, 26.2.17
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(S, K, T, r, sigma):
    d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    call = S * normal_cdf(d1) - K * np.exp(-r * T) * normal_cdf(d2)
    put = call - S + K * np.exp(-r * T)
    vega = S * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi) * np.sqrt(T)
    return call, put, vega


if __name__ == "__main__":
    rng = np.random.default_rng(31)
    n = 2_000_000
    S = rng.uniform(50, 150, n)
    K = rng.uniform(50, 150, n)
    T = rng.uniform(0.1, 2.0, n)
    sigma = rng.uniform(0.1, 0.5, n)
    call, put, vega = black_scholes(S, K, T, 0.02, sigma)
    print(f"call {call.mean():.10f} put {put.mean():.10f} vega {vega.mean():.10f}")
    print(f"in the money {np.mean(S > K):.6f}, dearest {call.max():.8f}")

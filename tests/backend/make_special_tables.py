"""Prints the coefficient tables of src/twofold/backend/special_functions.py; needs mpmath.

Run: python tests/backend/make_special_tables.py. Each table is the rational function that agrees with its target at the Chebyshev
nodes of an interval, found with 50 digits by solving P(x) - f(x) Q(x) = 0 at the nodes, Q(0) = 1. Beside each stands its largest
relative error between the nodes.
"""

import math
from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 50
ROOT = mp.findroot(mp.digamma, 1.46163214496836)

Function = Callable[[mp.mpf], mp.mpf]


def rational(f: Function, a: float, b: float, degree: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Coefficients of P and Q, both of that degree, lowest power first."""
    count = 2 * degree + 1
    system, right = mp.matrix(count, count), mp.matrix(count, 1)
    for i in range(count):
        x = (mp.mpf(a) + b) / 2 + (mp.mpf(b) - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count))
        y = f(x)
        right[i] = y
        for j in range(degree + 1):
            system[i, j] = x**j
        for j in range(1, degree + 1):
            system[i, degree + j] = -y * x**j
    solved = list(mp.lu_solve(system, right))
    return solved[: degree + 1], [mp.mpf(1), *solved[degree + 1 :]]


def largest_error(f: Function, p: list[float], q: list[float], a: float, b: float) -> float:
    """The largest relative error of P/Q (with coefficients rounded to doubles) at 1000 points."""
    places = [mp.mpf(a) + (mp.mpf(b) - a) * (k + mp.mpf("0.37")) / 1000 for k in range(1000)]
    return float(max(abs(mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x) / f(x) - 1) for x in places))


def away_from_zero(t: mp.mpf) -> mp.mpf:
    """``t`` itself, except for 0, where the targets are limits."""
    return t if abs(t) > mp.mpf("1e-20") else mp.mpf("1e-20")


def gammaln_small(v: mp.mpf) -> mp.mpf:
    """Log-gamma of 1 + v without its zeros at v = 0 and v = 1."""
    v = 1 + away_from_zero(away_from_zero(v) - 1)
    return mp.loggamma(1 + v) / (v * (v - 1))


def erf_of_square(z: mp.mpf) -> mp.mpf:
    """Erf without its zero, in the square of its argument."""
    root = mp.sqrt(away_from_zero(z))
    return mp.erf(root) / root


def erfinv_central(u: mp.mpf) -> mp.mpf:
    """Erfinv without its zero, in 0.5625 minus the square of its argument."""
    root = mp.sqrt(away_from_zero(mp.mpf(9) / 16 - u))
    return mp.erfinv(root) / root


TARGETS: dict[str, tuple[Function, float, float, int]] = {
    "ERF_CENTRAL": (erf_of_square, 0.0, 1.0, 5),
    "ERFC_SCALED": (lambda x: mp.erfc(x) * mp.exp(x * x), 1.0, 6.0, 9),
    "ERFINV_CENTRAL": (erfinv_central, 0.0, 0.5625, 7),
    "ERFINV_MIDDLE": (lambda t: mp.erfinv(1 - mp.exp(-((t + mp.mpf(1.125)) ** 2))), 0.05, 1.625, 7),
    "ERFINV_TAIL": (lambda t: mp.erfinv(1 - mp.exp(-((t + mp.mpf(2.75)) ** 2))), 0.0, 3.33, 7),
    "GAMMALN_SMALL": (gammaln_small, 0.0, 2.0, 8),
    "GAMMALN_MIDDLE": (lambda t: mp.loggamma(2 + t) / t, 1.0, 8.0, 9),
    "DIGAMMA_SMALL": (lambda t: mp.digamma(1 + t) / (1 + t - ROOT), 0.0, 1.25, 7),
    "DIGAMMA_MIDDLE": (lambda t: mp.digamma(1 + t) / (1 + t - ROOT), 1.25, 9.0, 9),
}


def table(name: str) -> str:
    """One table as Python source."""
    f, a, b, degree = TARGETS[name]
    p, q = (list(map(float, c)) for c in rational(f, a, b, degree))
    lines = [f"#: On [{a:g}, {b:g}]; relative error {largest_error(f, p, q, a, b):.0e}.", f"{name} = ("]
    lines += [f"    ({', '.join(map(repr, c))})," for c in (p, q)]
    return "\n".join([*lines, ")"])


if __name__ == "__main__":
    root = ROOT - 1
    high = float(root)
    print(f"#: The positive zero of digamma less 1, in two parts.\nDIGAMMA_ROOT_LESS_1 = ({high!r}, {float(root - high)!r})")
    print(f"STIRLING = {tuple(float(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in range(1, 10))}")
    print(f"DIGAMMA_SERIES = {tuple(float(-mp.bernoulli(2 * k) / (2 * k)) for k in range(1, 10))}")
    print(f"ZETA_TAIL = {tuple(float(mp.bernoulli(2 * k) / math.factorial(2 * k)) for k in range(1, 13))}")
    for each in TARGETS:
        print(table(each))

"""Prints backends/twofold_numpy/jit/tables.py: the polynomials of the compiled functions; needs mpmath.

Run: python tests/backend/make_jit_tables.py > backends/twofold_numpy/jit/tables.py. Each polynomial has the least largest relative
error of the function built from it, found with 100 digits by Remez' exchange algorithm (E. Remez 1934, "Sur la détermination des
polynômes d'approximation de degré donnée"), its coefficients then rounded to the format. Beside each stands that error before rounding.
"""

import struct
import textwrap
from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp

mp.mp.dps = 100
GRID = 1500

Function = Callable[[mp.mpf], mp.mpf]


class Target(NamedTuple):
    """What a polynomial approximates on an interval; ``weight`` turns its error into the relative error of the whole function."""

    meaning: str
    function: Function
    weight: Function
    interval: tuple[mp.mpf, mp.mpf]
    degrees: dict[str, int]


def remez(target: Target, degree: int) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients, lowest first, and the largest weighted error on a grid of Chebyshev points."""
    low, high = target.interval
    places = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / GRID) for k in range(GRID + 1)]
    values, weights = [target.function(x) for x in places], [target.weight(x) for x in places]
    count = degree + 2
    chosen = [round(k * GRID / (count - 1)) for k in range(count)]
    for _ in range(40):
        system, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, k in enumerate(chosen):
            right[row] = values[k]
            system[row, count - 1] = (-1) ** row / weights[k]
            for j in range(degree + 1):
                system[row, j] = places[k] ** j
        *coefficients, level = mp.lu_solve(system, right)
        errors = [(v - mp.polyval(coefficients[::-1], x)) * w for x, v, w in zip(places, values, weights, strict=True)]
        largest = max(map(abs, errors))
        if largest < abs(level) * mp.mpf("1.01"):
            return coefficients, largest
        chosen = extremes(errors, count)
    raise ArithmeticError(f"no polynomial of degree {degree} found: {target.meaning}")


def extremes(errors: list[mp.mpf], count: int) -> list[int]:
    """Where errors of alternating sign are largest."""
    found: list[int] = []
    for k, error in enumerate(errors):
        if not found or (error > 0) != (errors[found[-1]] > 0):
            found.append(k)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = k
    while len(found) > count:
        least = min(range(len(found)), key=lambda k: abs(errors[found[k]]))
        if least in (0, len(found) - 1):
            del found[least]
        elif len(found) == count + 1:
            del found[0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1]
        else:  # with its smaller neighbour, so that signs still alternate
            start = min(least - 1, least, key=lambda k: abs(errors[found[k]] + errors[found[k + 1]] - errors[found[least]]))
            del found[start : start + 2]
    return found


def away_from_zero(t: mp.mpf) -> mp.mpf:
    """``t`` itself, except for 0, where the targets are limits."""
    return t if abs(t) > mp.mpf("1e-22") else mp.mpf("1e-22")


def exp_rest(r: mp.mpf) -> mp.mpf:
    """What follows 1 + r in exp(r), over r²."""
    r = away_from_zero(r)
    return (mp.expm1(r) - r) / r**2


def log_rest(f: mp.mpf) -> mp.mpf:
    """What follows f - f²/2 in log(1 + f), over f³."""
    f = away_from_zero(f)
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def log_ratio_rest(z: mp.mpf) -> mp.mpf:
    """What follows 2s in log((1 + s) / (1 - s)), over s³, in z = s²."""
    s = mp.sqrt(away_from_zero(z))
    return (2 * mp.atanh(s) - 2 * s) / s**3


def erf_rest(z: mp.mpf) -> mp.mpf:
    """Erf(x) / x - 1, in z = x²."""
    x = mp.sqrt(away_from_zero(z))
    return mp.erf(x) / x - 1


def log_erfc(x: mp.mpf) -> mp.mpf:
    """The logarithm of the complementary error function."""
    return mp.log(mp.erfc(x))


def sin_rest(z: mp.mpf) -> mp.mpf:
    """What follows r in sin(r), over r³, in z = r²."""
    r = mp.sqrt(away_from_zero(z))
    return (mp.sin(r) - r) / r**3


def cos_rest(z: mp.mpf) -> mp.mpf:
    """What follows 1 - r² / 2 in cos(r), over r⁴, in z = r²."""
    r = mp.sqrt(away_from_zero(z))
    return (mp.cos(r) - 1 + r**2 / 2) / r**4


QUARTER_PI_SQUARED = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
HALF_LOG_2 = mp.log(2) / 2 * mp.mpf("1.0001")
ROOTS = mp.sqrt(2) / 2 - 1, mp.sqrt(2) - 1
TARGETS = {
    "EXP": Target(
        "(exp(r) - 1 - r) / r² for |r| ≤ log(2) / 2; the error is that of exp(r) - 1",
        exp_rest,
        lambda r: away_from_zero(r) ** 2 / abs(mp.expm1(away_from_zero(r))),
        (-HALF_LOG_2, HALF_LOG_2),
        {"float": 5, "double": 10},
    ),
    "LOG": Target(
        "(log(1 + f) - f + f² / 2) / f³ for √½ ≤ 1 + f ≤ √2",
        log_rest,
        lambda f: abs(away_from_zero(f) ** 3 / mp.log1p(away_from_zero(f))),
        ROOTS,
        {"float": 8},
    ),
    "LOG_RATIO": Target(
        "(log((1 + s) / (1 - s)) - 2s) / s³ in s² for √½ ≤ (1 + s) / (1 - s) ≤ √2",
        log_ratio_rest,
        lambda z: away_from_zero(z) / 2,
        (mp.mpf(0), (ROOTS[1] / (2 + ROOTS[1])) ** 2),
        {"double": 6},
    ),
    "ERF": Target(
        "erf(x) / x - 1 in x² for |x| ≤ 1",
        erf_rest,
        lambda z: 1 / (1 + erf_rest(z)),
        (mp.mpf(0), mp.mpf(1)),
        {"float": 6, "double": 11},
    ),
    "LOG_ERFC_FLOAT": Target(
        "log(1 - erf(x)) for 1 ≤ x ≤ 4; the error is that of erf(x)",
        log_erfc,
        lambda x: mp.erfc(x) / mp.erf(x),
        (mp.mpf(1), mp.mpf(4)),
        {"float": 7},
    ),
    "LOG_ERFC_DOUBLE": Target(
        "log(1 - erf(x)) for 1 ≤ x ≤ 6; the error is that of erf(x)",
        log_erfc,
        lambda x: mp.erfc(x) / mp.erf(x),
        (mp.mpf(1), mp.mpf(6)),
        {"double": 18},
    ),
    "SIN": Target(
        "(sin(r) - r) / r³ in r² for |r| ≤ π / 4",
        sin_rest,
        lambda z: away_from_zero(z) ** mp.mpf(1.5) / mp.sin(mp.sqrt(away_from_zero(z))),
        (mp.mpf(0), QUARTER_PI_SQUARED),
        {"float": 2, "double": 5},
    ),
    "COS": Target(
        "(cos(r) - 1 + r² / 2) / r⁴ in r² for |r| ≤ π / 4",
        cos_rest,
        lambda z: away_from_zero(z) ** 2 / mp.cos(mp.sqrt(away_from_zero(z))),
        (mp.mpf(0), QUARTER_PI_SQUARED),
        {"float": 2, "double": 5},
    ),
}


def rounded(value: mp.mpf, kind: str) -> float:
    """The nearest number in the format."""
    return struct.unpack("f", struct.pack("f", float(value)))[0] if kind == "float" else float(value)


if __name__ == "__main__":
    print('"""Polynomials of `functions`, lowest power first; generated by tests/backend/make_jit_tables.py."""\n# fmt: off')
    for name, target in TARGETS.items():
        print(f"\n#: {target.meaning}.\n{name} = {{")
        for kind, degree in target.degrees.items():
            coefficients, error = remez(target, degree)
            numbers = ", ".join(repr(rounded(c, kind)) for c in coefficients)
            print(f'    "{kind}": (  # 2 ** {mp.nstr(mp.log(error, 2), 4)}')
            print(textwrap.fill(numbers, 120, initial_indent=" " * 8, subsequent_indent=" " * 8) + "\n    ),")
        print("}")

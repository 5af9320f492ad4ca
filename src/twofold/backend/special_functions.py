"""Special functions over any array-API namespace, with the coefficients that the C printer uses too.

Operands are arrays of real floating-point numbers, and all steps are computed in their dtype: pass float64 for results within a few ulp.
Both branches of a case distinction are computed, so adapters switch floating-point warnings off around a call.

The rational functions interpolate their targets at the Chebyshev nodes of an interval; tests/backend/make_special_tables.py computes
them. A table holds the coefficients of the numerator and of the denominator, lowest power first.
"""

import math
from collections.abc import Callable

from .kernel import Array, Namespace

Rational = tuple[tuple[float, ...], tuple[float, ...]]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# fmt: off
#: The positive zero of digamma, minus 1, as a sum of two numbers.
DIGAMMA_ROOT_LESS_1 = (0.46163214496836236, -1.5522348162858677e-17)
#: B₂ₖ / (2k (2k - 1)) with the Bernoulli numbers B₂ₖ, for k from 1.
STIRLING = (
    0.08333333333333333, -0.002777777777777778, 0.0007936507936507937, -0.0005952380952380953, 0.0008417508417508417,
    -0.0019175269175269176, 0.00641025641025641, -0.029550653594771242, 0.17964437236883057,
)
#: -B₂ₖ / 2k.
DIGAMMA_SERIES = (
    -0.08333333333333333, 0.008333333333333333, -0.003968253968253968, 0.004166666666666667, -0.007575757575757576,
    0.021092796092796094, -0.08333333333333333, 0.4432598039215686, -3.0539543302701198,
)
#: B₂ₖ / (2k)!.
ZETA_TAIL = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
    -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15, -2.174868698558062e-16,
    5.5090028283602295e-18, -1.3954464685812522e-19,
)
#: On [0, 1]; relative error 2e-17.
ERF_CENTRAL = (
    (1.1283791670955126, 0.14365581715028763, 0.0455033341653278, 0.0018829155471563983, 0.00019709588069752516, 8.625602445726376e-08),
    (1.0, 0.46064498648983654, 0.0938746087651241, 0.010705251871973175, 0.0006937362332349159, 2.0866484101019162e-05),
)
#: On [1, 6]; relative error 6e-17.
ERFC_SCALED = (
    (
        1.0000000014145503, 2.0124760232437087, 2.0056129114914154, 1.2582851420430567, 0.5381792281733071,
        0.16031180746324028, 0.032599290429124704, 0.004181886844861534, 0.00026593608120219567, -1.2464623612983985e-14,
    ),
    (
        1.0, 3.140855205883835, 4.549688409952494, 4.003456617717668, 2.368624199638635, 0.9825520523104587,
        0.28785141584470136, 0.058016415678493104, 0.007412201516408302, 0.00047135942937067397,
    ),
)
#: On [0, 0.5625]; relative error 7e-17.
ERFINV_CENTRAL = (
    (
        1.0845597967968248, 7.160921199707379, 18.039487150473597, 21.727106021614006, 12.832151510619875, 3.408658782601145,
        0.31730417194039606, 0.004629517836199464,
    ),
    (
        1.0, 7.121354241112377, 19.70783200731746, 26.78300806716227, 18.607684554381887, 6.247619308964538,
        0.8535064285470091, 0.030108495873496597,
    ),
)
#: On [0.05, 1.625]; relative error 7e-17.
ERFINV_MIDDLE = (
    (
        0.7606323869674722, 2.9145986852355668, 4.675219764168843, 4.043283609429384, 2.0028932333588503, 0.5497555840674104,
        0.07318012206704287, 0.003424185487451847,
    ),
    (
        1.0, 2.5130527558480282, 2.723683535666829, 1.5603177917995315, 0.4791006013896815, 0.06938536586323907,
        0.0034231022643821016, 1.7690873089145965e-08,
    ),
)
#: On [0, 3.33]; relative error 6e-17.
ERFINV_TAIL = (
    (
        2.453983256287524, 5.3109875977769745, 4.631562889461007, 2.1035977782767414, 0.5323723892270185, 0.07380057594829705,
        0.005047474748903292, 0.0001254869549347361,
    ),
    (
        1.0, 1.7386133055971937, 1.149548706357299, 0.3719020146338662, 0.06117444723444375, 0.004703553204770578,
        0.0001254750177277174, 1.0318368347551296e-10,
    ),
)
#: On [0, 2]; relative error 6e-17.
GAMMALN_SMALL = (
    (
        0.5772156649015329, 1.7957408691512327, 2.186166542970679, 1.3223232365299926, 0.41735592672574723,
        0.06616935852850662, 0.004626756140980625, 0.00010308980435750115, 1.544286007973169e-07,
    ),
    (
        1.0, 3.535926624621293, 5.020520573163792, 3.6713403501825623, 1.4765832102801146, 0.32382126709358533,
        0.03611594437143113, 0.0017449500495445168, 2.4676745873327574e-05,
    ),
)
#: On [1, 8]; relative error 5e-17.
GAMMALN_MIDDLE = (
    (
        0.4227843351068746, 0.9962593317671166, 0.8726786713162035, 0.3755478943869489, 0.08641689707628109,
        0.01074561318937951, 0.0006938168411524078, 2.1109531178329936e-05, 2.479356355607033e-07, 6.880875424533591e-10,
    ),
    (
        1.0, 1.5937021371854307, 1.007876915864538, 0.3247507117747184, 0.05715490636977715, 0.005498515897444491,
        0.00027549307757394035, 6.451533425209782e-06, 5.658205609084456e-08, 1.055989682695358e-10,
    ),
)
#: On [0, 1.25]; relative error 3e-17.
DIGAMMA_SMALL = (
    (
        1.2503801375034054, 2.0326321858684397, 1.2104359862015737, 0.33495021483437115, 0.04446967493195364,
        0.0025848871178831764, 4.860165343639801e-05, 5.685393912980474e-08,
    ),
    (
        1.0, 2.3091581990699717, 1.944680519390747, 0.778985642255881, 0.15881344521287974, 0.016045843552443793,
        0.0007050309182634019, 9.310571951741298e-06,
    ),
)
#: On [1.25, 9]; relative error 3e-17.
DIGAMMA_MIDDLE = (
    (
        1.25038013740465, 2.0948236002865603, 1.3149642086066513, 0.39980550222771555, 0.06322005742314196,
        0.0051804545588391235, 0.0002066932843206627, 3.474455862052115e-06, 1.7471971729290285e-08, 4.266956242862215e-12,
    ),
    (
        1.0, 2.3588962041349313, 2.062275932119146, 0.8813041474259361, 0.201403980359709, 0.025081064341281864,
        0.0016542718972441851, 5.338002335969235e-05, 7.147008047368492e-07, 2.680753610441811e-09,
    ),
)
# fmt: on


def polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """A polynomial by Horner's scheme; coefficients lowest power first."""
    value = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        value = (value + c) * x
    return value + coefficients[0]


def rational(x: Array, table: Rational) -> Array:
    """A rational function."""
    return polynomial(x, table[0]) / polynomial(x, table[1])


def erf(xp: Namespace, x: Array) -> Array:
    """Gauss error function: ``x R(x²)`` up to 1 and ``1 - exp(-x²) R(|x|)`` above, after W. J. Cody, Math. Comp. 23 (1969)."""
    size = xp.abs(x)
    # from 6 on erfc is below half an ulp of 1: the result is 1 whatever the rational function gives
    beyond = 1 - xp.exp(-size * size) * rational(xp.where(size < 6, size, 6), ERFC_SCALED)
    inner = xp.where(size < 1, x, 0)
    return xp.where(xp.isnan(x), x, xp.where(size < 1, x * rational(inner * inner, ERF_CENTRAL), xp.sign(x) * beyond))


def erfinv(xp: Namespace, x: Array) -> Array:
    """Inverse of `erf`: rational in x² in the middle and in ``sqrt(-log(1 - |x|))`` in the tails.

    The intervals are those of M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988).
    """
    size = xp.abs(x)
    inner = xp.where(size < 0.75, x, 0)
    # 1 - |x| is at least 2⁻⁵³ or 0, so the root is at most 6.07, or infinite; it is NaN beyond ±1
    root = xp.sqrt(-xp.log(1 - size))
    middle, tail = rational(root - 1.125, ERFINV_MIDDLE), rational(root - 2.75, ERFINV_TAIL)
    beyond = xp.sign(x) * xp.where(size == 1, math.inf, xp.where(root < 2.75, middle, tail))
    return xp.where(size < 0.75, x * rational(0.5625 - inner * inner, ERFINV_CENTRAL), beyond)


def gammaln(xp: Namespace, x: Array) -> Array:
    """Logarithm of |Γ(x)|: rational up to 10, with the zeros at 1 and 2 factored out, then Stirling's series; reflection below 0.

    Source: NIST Digital Library of Mathematical Functions, 5.11 and 5.5(ii).
    """
    size = xp.abs(x)
    low = size < 1
    # ln Γ(1 + v) is 0 at v = 0 and v = 1; below 1, ln Γ(x) = ln Γ(1 + x) - ln x
    v = xp.where(low, size, size - 1)
    small = xp.where(low, -xp.log(size), 0) + v * (v - 1) * rational(v, GAMMALN_SMALL)
    t = size - 2
    middle = t * rational(t, GAMMALN_MIDDLE)
    series = polynomial(1 / (size * size), STIRLING) / size
    # Stirling's (x - 1/2) ln x - x + ln(2π)/2 + …, with x - 1/2 factored out
    large = (size - 0.5) * (xp.log(size) - 1) + (HALF_LOG_2PI - 0.5 + series)
    positive = xp.where(size < 3, small, xp.where(size < 10, middle, large))
    # from the distance to the nearest integer, which is exact: the product of pi and a large x would lose its fraction
    sine = xp.abs(xp.sin(math.pi * (size - xp.round(size))))
    # |Γ(-x) Γ(x)| = π / (x |sin πx|)
    reflected = xp.log(math.pi / (size * sine)) - positive
    return xp.where(xp.isinf(x), math.inf, xp.where(x < 0, reflected, positive))


def digamma(xp: Namespace, x: Array) -> Array:
    """Derivative of `gammaln`: rational up to 10, with the zero factored out, then the asymptotic series; reflection below 0.

    At ±0 the result is ∓infinity, at the other poles NaN.
    """
    # ψ(1 - x) - ψ(x) = π cot πx takes negative numbers to positive ones
    y = xp.where(x < 0, 1 - x, x)
    t = xp.where(y < 1, y, y - 1)
    # beside the root the first difference is exact, so the root's second part decides the last digits
    near = (t - DIGAMMA_ROOT_LESS_1[0]) - DIGAMMA_ROOT_LESS_1[1]
    small = near * rational(t, DIGAMMA_SMALL) - xp.where(y < 1, 1 / y, 0)
    middle = near * rational(t, DIGAMMA_MIDDLE)
    square = 1 / (y * y)
    large = xp.log(y) - 0.5 / y + square * polynomial(square, DIGAMMA_SERIES)
    positive = xp.where(y < 2.25, small, xp.where(y < 10, middle, large))
    fraction = x - xp.round(x)
    reflected = xp.where(fraction == 0, math.nan, positive - math.pi / xp.tan(math.pi * fraction))
    return xp.where(x < 0, reflected, positive)


def polygamma(xp: Namespace, x: Array, order: int) -> Array:
    """The derivative of `digamma` of an order, by the Hurwitz zeta function (a sum and its Euler-Maclaurin tail); reflection below 0.

    Source: NIST Digital Library of Mathematical Functions, 5.15 and 25.11(iii).
    """
    if order == 0:
        return digamma(xp, x)
    factor = math.factorial(order) if order <= 170 else math.inf
    sign = -1.0 if order % 2 == 0 else 1.0
    y = xp.where(x < 0, 1 - x, x)
    positive = sign * factor * _zeta(xp, order + 1, y)
    fraction = x - xp.round(x)
    cot = xp.cos(math.pi * fraction) / xp.sin(math.pi * fraction)
    # ψₙ(x) = (-1)ⁿ ψₙ(1 - x) - dⁿ/dxⁿ π cot πx
    reflected = -sign * positive - polynomial(cot, cotangent_derivative(order))
    return xp.where((x <= 0) & ((fraction == 0) | xp.isinf(x)), sign * math.inf, xp.where(x < 0, reflected, positive))


def _zeta(xp: Namespace, s: int, x: Array) -> Array:
    """Sum of (x + k)**-s over k >= 0, for x >= 0."""
    total, far, last = xp.zeros_like(x), x, zeta_terms(s)
    for _ in range(last):
        # elements that are already beyond the last term do not change: their terms are part of the tail
        near = far < last
        total = total + xp.where(near, far ** -float(s), 0)
        far = xp.where(near, far + 1, far)
    inverse = 1 / far
    tail = inverse * (0.5 + inverse * polynomial(inverse * inverse, zeta_tail(s)))
    # Euler-Maclaurin: x¹⁻ˢ / (s - 1) + x⁻ˢ / 2 + Σ B₂ₖ/(2k)! s (s + 1) … x¹⁻ˢ⁻²ᵏ, with x¹⁻ˢ factored out
    return total + far ** (1.0 - s) * (1 / (s - 1) + tail)


def zeta_terms(s: int) -> int:
    """The argument from which the tail alone gives the zeta function; below it, terms of the sum are added."""
    return 12 + s


def zeta_tail(s: int) -> tuple[float, ...]:
    """The coefficients of the tail: B₂ₖ/(2k)! times s (s + 1) … (s + 2k - 2)."""
    rising, out = float(s), []
    for k, b in enumerate(ZETA_TAIL):
        out.append(b * rising)
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2)
    return tuple(out)


def cotangent_derivative(order: int) -> tuple[float, ...]:
    """The derivative of ``pi cot(pi x)`` of an order, as a polynomial in c = ``cot(pi x)``: d/dx is ``-pi (1 + c²)`` d/dc."""
    p = [0, 1]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(p)][1:]
        p = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple(math.pi ** (order + 1) * c for c in p)


#: The formulas of the primitives of these names.
FORMULAS: dict[str, Callable[..., Array]] = {formula.__name__: formula for formula in (erf, erfinv, gammaln, polygamma)}

"""Elementary functions as branch-free vector expressions, accurate to 2 ulp in float32 and float64.

Range reduction and reconstruction are the classical ones (W. Cody and W. Waite 1980, "Software Manual for the Elementary Functions";
J.-M. Muller, "Elementary Functions"); the polynomials are this project's own, in `tables`. Every multiply-add is a fused instruction, so
results are the same on every processor that has it.
"""

import math
import struct
from typing import NamedTuple

from .ir import Vector, fma, polynomial
from .llvm_text import llvm_text
from .tables import COS, ERF, EXP, LOG, LOG_ERFC_DOUBLE, LOG_ERFC_FLOAT, LOG_RATIO, SIN


class Format(NamedTuple):
    """Parameters of a floating-point format.

    Attributes
    ----------
    mantissa
        Stored bits of the significand.
    bias
        Bias of the exponent.
    log_2
        log(2) as a head, with so few bits that its product with any exponent is exact, and a tail.
    smallest
        The smallest normal number.
    exp_range
        The range of finite nonzero results of exp, slightly extended.
    tanh_end, erf_end
        Arguments from which tanh and erf round to 1.
    half_pi
        π / 2 as a sum of three numbers.
    turn_end
        Arguments below this are reduced by `half_pi` in sin and cos; for larger ones the C library is called.
    """

    mantissa: int
    bias: int
    log_2: tuple[float, float]
    smallest: float
    exp_range: tuple[float, float]
    tanh_end: float
    erf_end: float
    half_pi: tuple[float, float, float]
    turn_end: float

    @property
    def shifter(self) -> float:
        """Adding this rounds a number to an integer, which is then in the lowest bits of the significand."""
        return 1.5 * 2.0**self.mantissa


FORMATS = {
    "float": Format(
        mantissa=23,
        bias=127,
        log_2=(0.693145751953125, 1.4286068203094173e-06),
        smallest=2.0**-126,
        exp_range=(-104.0, 89.0),
        tanh_end=10.0,
        erf_end=4.0,
        half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
        turn_end=32768.0,
    ),
    "double": Format(
        mantissa=52,
        bias=1023,
        log_2=(0.6931471805598903, 5.497923018708371e-14),
        smallest=2.0**-1022,
        exp_range=(-746.0, 710.0),
        tanh_end=20.0,
        erf_end=6.0,
        half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        turn_end=1048576.0,
    ),
}
LOG2_E, TWO_OVER_PI = 1.4426950408889634, 0.6366197723675814


def _exact(value: float, kind: str) -> float:
    """The nearest number of a format."""
    return struct.unpack("f", struct.pack("f", value))[0] if kind == "float" else value


def _bits(value: float, kind: str) -> int:
    """A number's bits in a format."""
    return struct.unpack(*(("<I", struct.pack("<f", value)) if kind == "float" else ("<Q", struct.pack("<d", value))))[0]


def _clamp(x: Vector, low: float, high: float) -> Vector:
    """``x`` clamped to [low, high]; NaN stays NaN."""
    return _clamp_above(x.compare("olt", low).choose(x.like(low), x), high)


def _clamp_above(x: Vector, high: float) -> Vector:
    """The smaller of ``x`` and ``high``; NaN stays NaN."""
    return x.compare("ogt", high).choose(x.like(high), x)


def _reduce_by_log2(x: Vector) -> tuple[Vector, Vector]:
    """An integer k and r such that x = k log(2) + r and |r| ≤ log(2) / 2."""
    f = FORMATS[x.kind]
    # adding the shifter rounds x / log(2) to an integer, and subtracting it gives that integer as a number
    k = fma(x, _exact(LOG2_E, x.kind), f.shifter) - f.shifter
    # the product with the head is exact, because the head has so few bits; then the tail's part is subtracted
    r = fma(k, -f.log_2[0], x)
    return k, fma(k, _exact(-f.log_2[1], x.kind), r)


def _power_of_2(k: Vector) -> Vector:
    """2 to the power of an integer in the range of normal exponents, by building its bits."""
    f = FORMATS[k.kind]
    # the sum has k + bias in its lowest bits; the shift moves these to the exponent and all others out
    return ((k + (f.shifter + f.bias)).bits() << f.mantissa).bits()


def exp(x: Vector) -> Vector:
    """Exponential function: 2^k exp(r), with 2^k as two factors, since it may overflow where the result does not."""
    x = _clamp(x, *FORMATS[x.kind].exp_range)
    k, r = _reduce_by_log2(x)
    p = fma(r * r, polynomial(EXP[x.kind], r), r) + 1.0
    half = FORMATS[x.kind].shifter
    first = fma(k, 0.5, half) - half  # k / 2, rounded to an integer
    return p * _power_of_2(first) * _power_of_2(k - first)


def _expm1_of_reduced(k: Vector, r: Vector) -> Vector:
    """exp(x) - 1 if 2^k does not overflow."""
    scale = _power_of_2(k)
    return fma(scale, fma(r * r, polynomial(EXP[r.kind], r), r), scale - 1.0)


def expm1(x: Vector) -> Vector:
    """exp(x) - 1, computed with 2^(k-1), which does not overflow; tiny arguments are returned unchanged."""
    f = FORMATS[x.kind]
    k, r = _reduce_by_log2(_clamp(x, -60.0, f.exp_range[1]))
    scale = _power_of_2(k - 1.0)
    result = fma(scale, fma(r * r, polynomial(EXP[x.kind], r), r), scale - 0.5) * 2.0
    return x.code.call("fabs", x).compare("olt", 2.0 ** (-f.mantissa - 2)).choose(x, result)


def tanh(x: Vector) -> Vector:
    """Hyperbolic tangent: e / (e + 2) with e = exp(2|x|) - 1, and a correction for the rounding of the divisor and the quotient."""
    size = _clamp_above(x.code.call("fabs", x), FORMATS[x.kind].tanh_end)
    e = _expm1_of_reduced(*_reduce_by_log2(size + size))
    divisor = e + 2.0
    # what rounding has taken from the divisor: `divisor - 2` is exact
    lost = e - (divisor - 2.0)
    inverse = 1.0 / divisor
    quotient = e * inverse
    # the remainder of the division by the exact divisor; it is divided too
    rest = fma(-quotient, lost, fma(-quotient, divisor, e))
    return x.code.call("copysign", fma(rest, inverse, quotient), x)


def _split(x: Vector) -> tuple[Vector, Vector]:
    """Exponent and significand of a positive normal number: x = m 2^e with √½ ≤ m < √2."""
    f = FORMATS[x.kind]
    least, whole = _bits(math.sqrt(0.5), x.kind), 2.0**f.mantissa
    # integer arithmetic on the bits: with √½ as origin the exponent field is the e of a significand in [√½, √2)
    shifted = x.bits() + ((f.bias << f.mantissa) - least)
    m = ((shifted & ((1 << f.mantissa) - 1)) + least).bits()
    e = ((shifted >> f.mantissa) | _bits(whole, x.kind)).bits() - (whole + f.bias)
    return e, m


def _log_of(x: Vector, correction: Vector | None = None) -> Vector:
    """Logarithm of a positive finite number, plus a small correction; subnormal numbers are scaled up first."""
    f = FORMATS[x.kind]
    tiny = x.compare("olt", f.smallest)
    lift = float(f.mantissa + 1)
    e, m = _split(tiny.choose(x * 2.0**lift, x))
    e = tiny.choose(e - lift, e)
    g = m - 1.0
    low = e * _exact(f.log_2[1], x.kind)
    # small terms are summed first: beside the large ones each of them would be rounded away
    low = low if correction is None else low + correction
    square = g * g
    if x.kind == "float":
        rest = fma(square * g, polynomial(LOG["float"], g), low)
        return fma(e, f.log_2[0], g + fma(square, -0.5, rest))
    # log(1 + g) = 2 atanh(s), whose series has odd powers only
    s = g / (g + 2.0)
    z = s * s
    half = square * 0.5
    rest = fma(s, fma(z, polynomial(LOG_RATIO["double"], z), half), low)
    return fma(e, f.log_2[0], g - (half - rest))


def _log_edges(x: Vector, result: Vector) -> Vector:
    """A logarithm with the special cases 0, negative, infinity and NaN."""
    result = x.compare("olt", math.inf).choose(result, x)
    result = x.compare("oeq", 0.0).choose(x.like(-math.inf), result)
    return x.compare("olt", 0.0).choose(x.like(math.nan), result)


def log(x: Vector) -> Vector:
    """Natural logarithm: e log(2) + log(m), the latter by a polynomial (float32) or the series of atanh (float64) around 1."""
    return _log_edges(x, _log_of(x))


def log1p(x: Vector) -> Vector:
    """log(1 + x): the logarithm of the rounded sum u, plus the rounding error divided by u."""
    u = x + 1.0
    large = x.compare("ogt", 1.0)
    # the rounding error of the sum, exact if the larger operand is subtracted first (Dekker's fast two-sum)
    lost = large.choose(1.0 - (u - x), x - (u - 1.0))
    result = _log_edges(u, _log_of(u, lost / u))
    return x.code.call("fabs", x).compare("olt", 2.0 ** -(FORMATS[x.kind].mantissa + 2)).choose(x, result)


def erf(x: Vector) -> Vector:
    """Gauss error function: a polynomial in x² up to 1, then 1 - exp(polynomial)."""
    size = _clamp_above(x.code.call("fabs", x), FORMATS[x.kind].erf_end)
    near = fma(size, polynomial(ERF[x.kind], size * size), size)
    tail = LOG_ERFC_FLOAT["float"] if x.kind == "float" else LOG_ERFC_DOUBLE["double"]
    k, r = _reduce_by_log2(polynomial(tail, size))
    far = 0.0 - _expm1_of_reduced(k, r)
    return x.code.call("copysign", size.compare("olt", 1.0).choose(near, far), x)


def sin(x: Vector) -> Vector:
    """Sine: sine or cosine of x reduced by multiples of π / 2; tiny arguments are returned unchanged."""
    return x.code.call("fabs", x).compare("olt", 2.0 ** -FORMATS[x.kind].mantissa).choose(x, _sine_quarters(x, "sin", 0))


def cos(x: Vector) -> Vector:
    """Cosine: the sine of x plus a quarter turn."""
    return _sine_quarters(x, "cos", 1)


def _sine_quarters(x: Vector, name: str, quarters: int) -> Vector:
    """Sine of x plus a number of quarter turns; in x - k π / 2 the first term is exact, since k is small."""
    f = FORMATS[x.kind]
    shifted = fma(x, _exact(TWO_OVER_PI, x.kind), f.shifter)
    k, r = shifted - f.shifter, x
    for part in f.half_pi:
        r = fma(k, -part, r)
    # the number of quarter turns is in the lowest bits of the shifted sum
    turn = shifted.bits() + quarters
    z = r * r
    half = z * 0.5
    whole = 1.0 - half
    sine = fma(r * z, polynomial(SIN[x.kind], z), r)
    # `(1 - whole) - half` is the rounding error of `whole`
    cosine = whole + fma(z * z, polynomial(COS[x.kind], z), (1.0 - whole) - half)
    size = (turn & 1).compare("ne", 0).choose(cosine, sine)
    near = (turn & 2).compare("ne", 0).choose(-size, size)
    return _with_library_beyond(x, near, name, f.turn_end)


def _with_library_beyond(x: Vector, near: Vector, name: str, end: float) -> Vector:
    """``near``, with the C library's function for elements of magnitude ``end`` or larger, lane by lane."""
    code, kind, lanes = x.code, x.kind, x.code.lanes
    library, size = name + ("f" if kind == "float" else ""), x.code.call("fabs", x)
    code.declarations[f"declare {kind} @{library}({kind})"] = None
    code.declarations[llvm_text("lane_by_lane", NAME=name, LIBRARY=library, KIND=kind, LANES=lanes, VECTOR=x.type)] = None
    far = size.compare("uge", end)
    return code.emit(f"call {x.type} @{name}.beyond.{kind}({x.typed}, {near.typed}, {far.typed})", kind)


def power(x: Vector, y: Vector) -> Vector:
    """Power of float32 numbers, in float64: exp(y log|x|), with the sign of x for odd y; the special cases are C's."""
    size, exponent = x.code.call("fabs", x), y.convert("fpext", "double")
    product = exponent * log(size.convert("fpext", "double"))
    result = size.compare("oeq", 1.0).choose(x.like(1.0), exp(product).convert("fptrunc", "float"))
    # a whole number whose half is not whole is odd; large floats are all even
    is_whole, half = x.code.call("floor", y).compare("oeq", y), y * 0.5
    is_odd = is_whole & x.code.call("floor", half).compare("une", half)
    result = is_odd.choose(x.code.call("copysign", result, x), result)
    has_none = x.compare("olt", 0.0) & size.compare("olt", math.inf) & (is_whole ^ True)
    return y.compare("oeq", 0.0).choose(x.like(1.0), has_none.choose(x.like(math.nan), result))

"""Uniform, exponential and standard normal floats from the random words of `primitive_gather.random_bits`.

The same words give the same uniform numbers on every device; the others agree to rounding. Every element consumes a fixed number of words,
so that the result never depends on how a program is run.
"""

import math

#: Random bits per uniform number: the size of the significand, so that every number is exact and below 1.
BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def substream(xp, rng, number):
    """The key of an independent stream derived from ``rng`` (6 words), whose number is the last word of the counter."""
    # word 3 is the counter's highest: streams are 2¹⁹² blocks of numbers apart, so they never overlap
    here = xp.equal(xp.iota(size=6, dtype="int64"), 3)
    return rng + xp.astype(here, dtype="uint64") * number


def working(dtype):
    """The dtype in which samples of a dtype are computed: float32 for 16-bit floats."""
    return "float64" if dtype == "float64" else "float32"


def uniform(xp, rng, shape, dtype):
    """Uniform numbers in [0, 1), each from the highest bits of one word."""
    bits = BITS[dtype]
    words = xp.right_shift(xp.random_bits(rng, shape=shape), 64 - bits)
    return xp.astype(words, dtype=dtype) * 2.0**-bits


def bernoulli(xp, rng, shape, probability):
    """Bools that are true with a probability, which is resolved to 2⁻⁵³."""
    return xp.less(xp.right_shift(xp.random_bits(rng, shape=shape), 11), round(probability * 2.0**53))


def _minus_log(xp, words, bits, dtype):
    """Exponential numbers from words of ``bits`` bits; u = (word + 1) / 2^bits is in (0, 1], so -log(u) is finite."""
    return -xp.log((xp.astype(words, dtype=dtype) + 1) * 2.0**-bits)


def exponential(xp, rng, shape, dtype):
    """Standard exponential numbers by inversion, computed in float32 or float64 (see `working`)."""
    bits = 53 if working(dtype) == "float64" else 40
    return _minus_log(xp, xp.right_shift(xp.random_bits(rng, shape=shape), 64 - bits), bits, working(dtype))


def normal(xp, rng, shape, dtype):
    """Standard normal numbers of a shape, computed in float32 or float64 (see `working`).

    Source: Box & Muller, "A note on the generation of random normal deviates", Ann. Math. Statist. 29, 1958. A float64 uses
    two words; a float32 one, with 40 bits for the radius (up to 7.4) and 24 for the angle.
    """
    if working(dtype) == "float64":
        words = xp.right_shift(xp.random_bits(rng, shape=(2, *shape)), 11)
        radial, angular = (xp.reshape(half, shape=shape) for half in xp.split(words, [1], 0))
        return _box_muller(xp, radial, 53, angular, 53, "float64")
    words = xp.random_bits(rng, shape=shape)
    # the radius needs more bits than the angle: its resolution limits how far the tail of the distribution reaches
    radial, angular = xp.right_shift(words, 24), xp.bitwise_and(words, (1 << 24) - 1)
    return _box_muller(xp, radial, 40, angular, 24, "float32")


def _box_muller(xp, radial, radial_bits, angular, angular_bits, dtype):
    # sqrt(-2 ln u₁) · cos(2π u₂)
    angle = xp.astype(angular, dtype=dtype) * (2 * math.pi * 2.0**-angular_bits)
    return xp.sqrt(2 * _minus_log(xp, radial, radial_bits, dtype)) * xp.cos(angle)

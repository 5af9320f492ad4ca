"""Random floating-point numbers from the random words of `primitive_gather.random_bits`: uniform and standard normal.

The same words give the same uniform numbers on every device; the normal ones agree to rounding.
"""

import math

#: Random bits of a uniform number: the significand of each dtype, so that every number is exact and below 1.
BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def uniform(xp, rng, shape, dtype):
    """Uniform numbers in [0, 1) of a shape, from the highest bits of a word each."""
    bits = BITS[dtype]
    words = xp.right_shift(xp.random_bits(rng, shape=shape), 64 - bits)
    return xp.astype(words, dtype=dtype) * 2.0**-bits


def bernoulli(xp, rng, shape, probability):
    """Bools that are true with a probability (to 2⁻⁵³, as a float64 tells it)."""
    return xp.less(xp.right_shift(xp.random_bits(rng, shape=shape), 11), round(probability * 2.0**53))


def normal(xp, rng, shape, dtype):
    """Standard normal numbers of a shape.

    Source: Box & Muller, "A note on the generation of random normal deviates", Ann. Math. Statist. 29, 1958. A float64 takes
    two words; narrower ones take one, computed in float32: 40 bits for the radius (up to 7.4) and 24 for the angle.
    """
    if dtype == "float64":
        words = xp.right_shift(xp.random_bits(rng, shape=(2, *shape)), 11)
        radial, angular = (xp.reshape(half, shape=shape) for half in xp.split(words, [1], 0))
        return _box_muller(xp, radial, 53, angular, 53, dtype)
    words = xp.random_bits(rng, shape=shape)
    radial, angular = xp.right_shift(words, 24), xp.bitwise_and(words, (1 << 24) - 1)
    return xp.cast(_box_muller(xp, radial, 40, angular, 24, "float32"), dtype)


def _box_muller(xp, radial, radial_bits, angular, angular_bits, dtype):
    u = (xp.astype(radial, dtype=dtype) + 1) * 2.0**-radial_bits  # in (0, 1]: its logarithm is finite
    angle = xp.astype(angular, dtype=dtype) * (2 * math.pi * 2.0**-angular_bits)
    return xp.sqrt(-2 * xp.log(u)) * xp.cos(angle)

"""16-bit floats in kernels: float32 numbers in registers, which are rounded after each step, as NumPy and ml_dtypes round them."""

from .ir import Vector

#: Their element type in memory.
STORED = "i16"
#: The bits of a float32 NaN that bfloat16 can have, and of its sign.
_NAN, _SIGN = 0x7FC00000, -0x80000000
#: Half a unit of bfloat16's last place, less one, and the bits that it keeps.
_BELOW_HALF, _KEPT = 0x7FFF, -0x10000


def widened(value: Vector, dtype: str) -> Vector:
    """Numbers in memory as float32."""
    if dtype == "float16":
        return value.convert("bitcast", "half").convert("fpext", "float")
    return (value.convert("zext", "i32") << 16).bits()


def rounded(value: Vector, dtype: str) -> Vector:
    """float32 numbers rounded to the nearest ones of a dtype, of two equally near ones to the even one."""
    if dtype == "float16":
        return value.convert("fptrunc", "half").convert("fpext", "float")
    bits = value.bits()
    # adding almost half of the last place, or exactly half to odd numbers, carries into what is kept
    nearest = (bits + ((bits >> 16) & 1) + _BELOW_HALF) & _KEPT
    # which would make infinity or -0.0 of some NaN
    return value.compare("uno", value).choose((bits & _SIGN) | _NAN, nearest).bits()


def narrowed(value: Vector, dtype: str) -> Vector:
    """Rounded numbers as they are in memory."""
    if dtype == "float16":
        return value.convert("fptrunc", "half").convert("bitcast", STORED)
    return (value.bits() >> 16).convert("trunc", STORED)

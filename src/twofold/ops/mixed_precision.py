"""Casts of automatic mixed precision, which do not change integers and float64."""

from ..dtype import HALVES
from ..opdef import Count, DType, op

#: The dtypes between which these operators cast.
CAST = ("float32", *HALVES)


@op("amp_cast", keeps_shape=True)
def amp_cast(xp, data, *, dtype: DType):
    """The array in a dtype if it is of float32 or a 16-bit float; else unchanged."""
    return xp.cast(data, dtype) if xp.dtype_of(data) in CAST else data


# an unknown dtype is taken for a float: it must not be inferred to be the one that it is cast to
amp_cast.dtypes(lambda dtypes, *, dtype: [dtype if dtypes[0] in (None, *CAST) else dtypes[0]])


def _common(dtypes, cast_narrow):
    """The dtype to cast to: the widest among the arrays that are cast, or the narrowest."""
    # by the number of bits: float16 and bfloat16 are equally wide, and MXNet has no bfloat16 arrays on CPUs
    wide = "float32" in dtypes
    narrow = next((d for d in dtypes if d in HALVES), "float32")
    return narrow if cast_narrow or not wide else "float32"


@op("amp_multicast", outputs=lambda num_outputs, **_: num_outputs)
def amp_multicast(xp, *data, num_outputs: Count, cast_narrow: bool = False):
    """The arrays of float32 and 16-bit floats in the widest dtype among them, in the narrowest with ``cast_narrow``; others unchanged.

    ``num_outputs`` is the number of arrays.
    """
    dtype = _common([xp.dtype_of(x) for x in data], cast_narrow)
    cast = [xp.cast(x, dtype) if xp.dtype_of(x) in CAST else x for x in data]
    return tuple(cast) if len(cast) > 1 else cast[0]


@amp_multicast.dtypes
def _(dtypes, *, num_outputs, cast_narrow):
    if None in dtypes:
        # the dtype to cast to is not known before all are
        return [None] * num_outputs
    dtype = _common(dtypes, cast_narrow)
    return [dtype if d in CAST else d for d in dtypes]


amp_cast.sample(lambda draw: draw(draw.integer((2, 3), -4, 5), dtype="float16"))
amp_cast.sample(lambda draw: draw(draw.integer((2, 3), -4, 5, "int32"), dtype="float16"))


@amp_multicast.sample
def _(draw):
    arrays = [draw.integer((2, 3), -4, 5, dtype) for dtype in ("float16", "float32", "int32")]
    return [draw(*arrays, num_outputs=3), draw(*arrays, num_outputs=3, cast_narrow=True)]

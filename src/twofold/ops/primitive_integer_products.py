"""Products of 8-bit integers with int32 sums, as ONNX's MatMulInteger and ConvInteger compute them. Quantized layers consist of these.

One operand has int8 or uint8 elements, the weight int8 ones. Sums are those of integer arithmetic, bit for bit; beyond int32 they wrap.
"""

from ..errors import DTypeError, ShapeError
from ..opdef import Index, Shape, primitive
from .primitive_convolve import convolved, convolved_shape, multiplications

KINDS = ("int8", "uint8")


def _check(name, data, weight):
    if data.dtype not in KINDS or weight.dtype != "int8":
        given = f"{data.dtype} and {weight.dtype}"
        raise DTypeError(f"{name}: the operands are not 8-bit integers", given, "pass int8 or uint8 data and an int8 weight")


def _product(np, rows, weight):
    # widened before, so that products do not wrap in 8 bits
    return rows.astype(np.int32) @ weight.astype(np.int32).T


@primitive(packed=True, alone=True, differentiable=False, reference=_product)
def integer_matmul(xp, rows: Index, weight: Index):
    """Rows (m, k) of int8 or uint8 numbers times the transpose of an int8 weight (n, k): int32 (m, n)."""


@integer_matmul.type
def _(rows, weight):
    _check("integer_matmul", rows, weight)
    if not len(rows.shape) == len(weight.shape) == 2 or rows.shape[1] != weight.shape[1]:
        raise ShapeError("integer_matmul: the rows differ in length", f"{rows.shape} and {weight.shape}", "pass (m, k) and (n, k)")
    return (rows.shape[0], weight.shape[0]), "int32"


integer_matmul.cost(lambda result, rows, weight: result.size * rows.shape[1])


@primitive(differentiable=False)
def integer_convolve(xp, data: Index, weight: Index, *, stride: Shape, dilate: Shape, pad: Shape, groups: int):
    """`convolve` of int8 or uint8 data (n, c, d…) with an int8 weight (f, c / groups, kernel…): int32 (n, f, o…)."""


@integer_convolve.type
def _(data, weight, **params):
    _check("integer_convolve", data, weight)
    return convolved_shape(data.shape, weight.shape, **params), "int32"


integer_convolve.cost(lambda result, data, weight: multiplications(result, weight))


def _extremes(make, shape, dtype):
    """All numbers of an 8-bit type, the least and the largest most often, in an order without a pattern."""
    low, high = (-128, 127) if dtype == "int8" else (0, 255)
    drawn = make.np.random.default_rng(0).integers(low - 100, high + 101, shape)
    return make.array(make.np.clip(drawn, low, high), dtype)


@integer_matmul.cases
def _(make):
    shapes = ((1, 1, 1), (1, 4, 3), (3, 4, 64), (5, 9, 65), (2, 5, 1100), (33, 18, 130), (0, 4, 3), (2, 0, 3), (2, 4, 0))
    for m, n, k in shapes:
        for dtype in KINDS:
            yield make(_extremes(make, (m, k), dtype), _extremes(make, (n, k), "int8"), want=lambda a, b: _product(make.np, a, b))


@integer_convolve.cases
def _(make):
    dense = {"stride": (1, 1), "dilate": (1, 1), "pad": (0, 0), "groups": 1}
    cases = [
        ((2, 3, 6, 7), (5, 3, 3, 3), dense | {"pad": (1, 1)}),
        ((1, 4, 5, 5), (9, 4, 1, 1), dense),
        ((2, 8, 9, 8), (6, 4, 3, 2), dense | {"stride": (2, 2), "pad": (1, 0), "groups": 2}),
        ((1, 10, 20, 21), (17, 10, 3, 3), dense | {"dilate": (2, 1), "pad": (2, 1)}),
        ((2, 6, 9), (4, 6, 3), {"stride": (2,), "dilate": (1,), "pad": (1,), "groups": 1}),
        ((1, 2, 3, 4, 4), (3, 2, 2, 2, 2), {"stride": (1,) * 3, "dilate": (1,) * 3, "pad": (0,) * 3, "groups": 1}),
        ((1, 600, 4, 4), (3, 600, 2, 2), dense),
        ((0, 4, 5, 5), (2, 4, 3, 3), dense),
    ]
    for shape, weight, params in cases:
        for dtype in KINDS:
            want = lambda x, w, **params: convolved(make.np, make.windows, x.astype("int32"), w.astype("int32"), **params)  # noqa: E731
            yield make(_extremes(make, shape, dtype), _extremes(make, weight, "int8"), **params, want=want)

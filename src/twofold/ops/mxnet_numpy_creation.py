"""MXNet's NumPy operators that create arrays from parameters. ``ctx`` names the device for front ends; here it has no effect."""

import math
from functools import partial

from ..errors import ParameterError
from ..opdef import Derived, DType, Operand, Shape, numpy_op
from .creation import arange as legacy_arange
from .creation import eye as legacy_eye

made = partial(numpy_op, differentiable=False)


@made("_npi_zeros", row="zeros(shape, dtype=None, order='C', ctx=None, device=None)", writes="dtype")
def npi_zeros(xp, *, shape: Shape = (), ctx: str = "", dtype: DType = "float32"):
    """Zeros."""
    return xp.zeros(shape, dtype)


@made("_npi_ones", row="ones(shape, dtype=None, order='C', ctx=None, device=None)", writes="dtype")
def npi_ones(xp, *, shape: Shape = (), ctx: str = "", dtype: DType = "float32"):
    """Ones."""
    return xp.ones(shape, dtype)


for _op in (npi_zeros, npi_ones):
    _op.sample(lambda draw: draw(shape=(2, 3)))


@made("_npi_full_like", row="full_like(a, fill_value, dtype=None, order='C', ctx=None, out=None, device=None)")
def npi_full_like(xp, a, *, fill_value: float, ctx: str = "", dtype: DType | None = None):
    """An array with another's shape, filled with one value, and with its dtype unless one is given."""
    return xp.full(shape=a.shape, value=fill_value, dtype=dtype or xp.dtype_of(a))


npi_full_like.dtypes(lambda dtypes, *, dtype, **_: [dtype or dtypes[0]])
npi_full_like.sample(lambda draw: draw(draw.real((2, 3)), fill_value=2.0, gradient=False))


@made("_npi_arange", like=legacy_arange, without=("dtype",))
def npi_arange(xp, *, ctx: str = "", dtype: DType = "float32", **params):
    """``start, start + step, …`` below ``stop``; ``start`` alone is the end."""
    return legacy_arange.rule(xp, dtype=dtype, **params)


npi_arange.sample(lambda draw: draw(start=1.0, stop=3.0, step=0.25))


@made("_npi_eye", row="eye(N, M=None, k=0, dtype=None, ctx=None, device=None)", writes="M k dtype")
def npi_eye(xp, *, N: int, M: int | None = None, k: int = 0, ctx: str = "", dtype: DType = "float32"):
    """Ones on the diagonal ``k`` of an (N, M) matrix, square if ``M`` is None; zeros elsewhere."""
    if N < 0 or (M or 0) < 0:
        raise ParameterError("eye: a size is negative", f"N={N}, M={M}", "pass sizes of 0 or more")
    if M == 0 or N == 0:
        return xp.zeros((N, N if M is None else M), dtype)
    return legacy_eye.rule(xp, N=N, M=M or 0, k=k, dtype=dtype)


npi_eye.sample(lambda draw: draw(N=2, M=4, k=1))


@made("_npi_identity")
def npi_identity(xp, *, shape: Shape = (), ctx: str = "", dtype: DType = "float32"):
    """The identity matrix of a shape (n, n)."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ParameterError("identity: the shape is not square", str(shape), "pass (n, n)")
    return npi_eye.rule(xp, N=shape[0], dtype=dtype)


npi_identity.sample(lambda draw: draw(shape=(3, 3)))


@made("_npi_indices", row="indices(dimensions, dtype=None, ctx=None, device=None)", writes="dtype")
def npi_indices(xp, *, dimensions: Shape, dtype: DType = "int32", ctx: str = ""):
    """For each axis of a shape the coordinates of all elements along it: (number of axes, *shape)."""
    axes = []
    for k, n in enumerate(dimensions):
        column = xp.reshape(xp.iota(size=n, dtype="int64"), shape=tuple(n if j == k else 1 for j in range(len(dimensions))))
        axes.append(xp.broadcast_to(column, shape=dimensions))
    return xp.cast(xp.stack(axes, 0), dtype) if axes else xp.zeros((0,), dtype)


npi_indices.sample(lambda draw: draw(dimensions=(2, 3)))


@made("_npi_logspace")
def npi_logspace(
    xp,
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    base: float = 10.0,
    ctx: str = "",
    dtype: DType = "float32",
):
    """``num`` powers of a base, whose exponents are evenly spaced from ``start`` to ``stop``."""
    if num < 0:
        raise ParameterError("logspace: the number of values is negative", f"num={num}", "pass 0 or more")
    step = (stop - start) / max(1, num - 1 if endpoint else num)
    return xp.cast(xp.power(base, xp.iota(size=num, dtype="float64") * step + start), dtype)


npi_logspace.sample(lambda draw: draw(start=0.0, stop=2.0, num=5))


def cosines(xp: Derived, places: Operand, count: int, *weights: float) -> Operand | float:
    """A sum of cosines of multiples of one period over ``count`` places."""
    angle = places * (2 * math.pi / (count - 1))
    total = weights[0]
    for k, w in enumerate(weights[1:], 1):
        total = total + w * xp.cos(angle * float(k))
    return total


def declare_window(name: str, weights: tuple[float, ...]) -> None:
    """Declare a window function: a sum of cosines."""

    def rule(xp, *, M: int | None = None, ctx: str = "", dtype: DType = "float32"):
        count = max(M or 0, 0)
        # a single point has no period to be placed in: the angle would be divided by 0
        if count <= 1:
            return xp.ones((count,), dtype)
        return xp.cast(cosines(xp, xp.iota(size=count, dtype="float64"), count, *weights), dtype)

    rule.__name__, rule.__doc__ = f"npi_{name}", f"The {name.title()} window of ``M`` points."
    new = made(f"_npi_{name}", row=f"{name}(M, dtype=None, ctx=None, device=None)", writes="dtype")(rule)
    new.sample(lambda draw: draw(M=6))


declare_window("hanning", (0.5, -0.5))
declare_window("hamming", (0.54, -0.46))
declare_window("blackman", (0.42, -0.5, 0.08))


@made("_npi_share_memory")
def npi_share_memory(xp, a, b):
    """Whether two arrays share memory: values in a graph never do."""
    return xp.full(shape=(), value=False, dtype="bool")


npi_share_memory.dtypes(lambda dtypes: ["bool"])
npi_share_memory.sample(lambda draw: draw(draw.real((2,)), draw.real((2,)), gradient=False))


@made("_npi_diag_indices_from")
def npi_diag_indices_from(xp, data):
    """The coordinates of the main diagonal of an array with axes of one size: (number of axes, size)."""
    n = data.shape[0]
    if any(size != n for size in data.shape) or len(data.shape) < 2:
        raise ParameterError("diag_indices_from: the axes differ in size", str(data.shape), "pass a square array")
    return xp.broadcast_to(xp.iota(size=n, dtype="int64"), shape=(len(data.shape), n))


npi_diag_indices_from.dtypes(lambda dtypes: ["int64"])
npi_diag_indices_from.sample(lambda draw: draw(draw.real((3, 3)), gradient=False))

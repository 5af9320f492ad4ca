"""Where operators differ from MXNet 1.9.1 on purpose: stored cases with what Twofold gives instead.

Each title is a row of docs/reference/compatibility.md, which says why.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.ops import neural_differences


class Difference(NamedTuple):
    """One case.

    Attributes
    ----------
    title
        The row of the documentation.
    case
        The name of the stored case.
    kind
        ``"result"``, ``"accepted"`` (a result where MXNet refuses), or ``"gradient 0"`` … by input position.
    ours
        Twofold's value as an expression of NumPy: ``x`` are the inputs, ``h`` the head gradients, ``out`` MXNet's first result and
        ``want`` its value.
    """

    title: str
    case: str
    kind: str
    ours: str


ZERO_POWER = "np.where((x[0] == 0) & (out == 0), 0, want)"
ZEROTH_POWER = "np.where((x[0] == 0) & (x[1] == 0), 0, want)"
ROW = "np.array([np.linspace(-1, 1, 4), -np.ones(4), np.ones(4)])"
SATURATED = "(x[0] * np.float32({factor}) + (x[0] @ np.array([0.299, 0.587, 0.114], 'float32'))[..., None] * np.float32(1 - {factor}))"
BYTES = f"np.clip({SATURATED}, 0, 255).astype('uint8')"
DIFFERENCES = [
    Difference("Gradients of image operators", "_image_flip_left_right.1", "gradient 0", "h[0][:, ::-1]"),
    Difference("Gradients of image operators", "_image_flip_top_bottom.1", "gradient 0", "h[0][::-1]"),
    *[
        Difference("Saturation of images", f"_image_random_saturation.{k}", "result", expression.format(factor=factor))
        for k, (expression, factor) in enumerate(((SATURATED, 1.3), (BYTES, 1.3), (SATURATED, 0.5), (BYTES, 0.5)))
    ],
    Difference("Even numbers of channels", "LRN.4", "accepted", "x[0] / (2 + 0.5e-4 * x[0] ** 2) ** 0.75"),
    Difference("Shapes of images", "_image_normalize.4", "accepted", "x[0]"),
    Difference("Shapes of images", "_image_random_brightness.4", "accepted", "x[0]"),
    Difference("Shapes of images", "_image_flip_left_right.2", "accepted", "x[0][:, :, ::-1]"),
    Difference("Shapes of images", "_image_flip_top_bottom.2", "accepted", "x[0][:, ::-1]"),
    Difference("Shapes of images", "_image_crop.2", "accepted", "x[0][1:3, 2:4]"),
    Difference("Grids of one row", "GridGenerator.3", "result", f"(x[0].reshape(2, 2, 3) @ {ROW}).reshape(2, 2, 1, 4).astype('float32')"),
    Difference(
        "Grids of one row", "GridGenerator.3", "gradient 0", f"np.einsum('nchw,kw->nck', h[0], {ROW}).reshape(2, 6).astype('float32')"
    ),
    *[Difference("Gradient of a power of 0", c, "gradient 0", ZEROTH_POWER) for c in ("_power.1", "_power.7", "broadcast_power.3")],
    Difference("Gradient of a power of 0", "_power_scalar.2", "gradient 0", "np.where(x[0] == 0, 0, want)"),
    Difference("Gradient of a power of 0", "_power.1", "gradient 1", ZERO_POWER),
    Difference("Gradient of a power of 0", "_power.7", "gradient 1", ZERO_POWER),
    Difference("Gradient of a power of 0", "broadcast_power.3", "gradient 1", ZERO_POWER),
    Difference("Gradient of a power of 0", "_rpower_scalar.2", "gradient 0", "np.where(out == 0, 0, want)"),
    Difference("Gradient of a product with zeros", "prod.17", "gradient 0", "h[0][:, None] * np.array([[6, 0, 0], [0, 0, 0]], 'float32')"),
    Difference(
        "Gradient of a product with zeros", "nanprod.17", "gradient 0", "h[0][:, None] * np.array([[6, 0, 0], [0, 0, 0]], 'float32')"
    ),
    Difference("NaN", "sign.1", "result", "np.sign(x[0])"),
    Difference("NaN", "abs.1", "gradient 0", "h[0] * np.sign(x[0])"),
    Difference("Poles of the gamma function", "gamma.1", "gradient 0", "np.where(x[0] == 0, np.inf, want)"),
    Difference(
        "Poles of the gamma function",
        "gammaln.1",
        "gradient 0",
        "np.where(x[0] == 0, np.inf, np.where((x[0] < 0) & (x[0] == np.floor(x[0])), np.nan, want))",
    ),
    Difference("Swapped bounds", "clip.1", "result", "np.full(6, -1, 'float32')"),
    Difference("Gradient of values written to one place", "scatter_nd.3", "gradient 0", "h[0][1, 0] * np.array([0, 1], 'float32')"),
    Difference("Gradient of a singular determinant", "_linalg_det.8", "gradient 0", "h[0] * np.array([[4, -2], [-2, 1]])"),
    Difference("Norms of whole numbers", "norm.19", "result", "np.array([5, 10], 'int32')"),
    Difference("Norms in another dtype", "norm.16", "accepted", "np.linalg.norm(x[0].astype('float64')).reshape(1)"),
    Difference("Dtypes of products", "dot.14", "accepted", "(x[0].astype('float32') @ x[1].astype('float32')).astype('float16')"),
    Difference("Dtypes of products", "dot.15", "accepted", "x[0] @ x[1]"),
    Difference("Dtypes of products", "_linalg_gemm2.7", "accepted", "(x[0].astype('float32') @ x[1].astype('float32')).astype('float16')"),
    Difference("Dtypes of arguments", "hard_sigmoid.4", "accepted", "np.zeros(3, 'int32')"),
    Difference("Dtypes of arguments", "batch_take.1", "accepted", "x[0][np.arange(3), x[1].astype(int)]"),
    Difference("Complex numbers", "Cast.14", "accepted", "x[0].astype('complex64')"),
    Difference("Arrays without elements or axes", "_zeros.10", "accepted", "np.zeros((), 'float32')"),
    Difference("Arrays without elements or axes", "_arange.9", "accepted", "np.zeros(0, 'float32')"),
    Difference("Arrays without elements or axes", "_arange.10", "accepted", "np.zeros(0, 'float32')"),
    Difference("Arrays without elements or axes", "diag.9", "accepted", "np.zeros(0, 'float32')"),
    Difference("Arrays without elements or axes", "slice_axis.5", "accepted", "x[0][:, 2:2]"),
    Difference("Negative axes", "transpose.4", "accepted", "x[0].transpose(-1, 0, 1)"),
    Difference("Negative axes", "reverse.2", "accepted", "x[0][..., ::-1]"),
    Difference("Negative axes", "broadcast_axis.4", "accepted", "np.broadcast_to(x[0], (1, 2, 3))"),
    Difference("Missing leading axes", "broadcast_to.3", "accepted", "np.broadcast_to(x[0], (2, 3))"),
    Difference("Padding", "Pad.8", "accepted", "np.pad(x[0], ((0, 0), (1, 1), (0, 0), (0, 0)))"),
    Difference("Padding", "Pad.9", "accepted", "np.pad(x[0], 1)"),
    Difference("Dtype by code", "_zeros_without_dtype.0", "accepted", "np.zeros((2, 2), 'float32')"),
    *[Difference(*row) for row in neural_differences.ROWS],
]

#: Operators whose float64 values and gradients MXNet computes with float32 constants or approximations.
SINGLE_PRECISION = {"degrees", "radians", "hard_sigmoid", "erf", "erfinv", "gamma", "gammaln", *neural_differences.SINGLE_PRECISION}

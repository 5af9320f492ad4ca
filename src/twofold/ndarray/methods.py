"""MXNet's fluent methods of `NDArray`. Each calls the operator of the same name, with the array as its first operand."""

from ..opdef.registry import NAMES, OPS
from .array import NDArray
from .functions import split_v2
from .namespace import generate

#: Names of the methods, which are registered names of operators.
FLUENT = (  # noqa: SIM905  (a list would take seventy lines)
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes cbrt ceil clip cos cosh "
    "degrees depth_to_space diag exp expm1 fix flip floor log log10 log1p log2 log_softmax max mean min nanprod nansum norm one_hot "
    "ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh "
    "size_array slice slice_axis slice_like softmax softmin sort space_to_depth split sqrt square sum swapaxes take tan tanh tile "
    "topk transpose trunc zeros_like"
).split()


def attach() -> None:
    """Attach the methods listed here, and those that operators declare, to `NDArray`."""
    declared = {op.method if isinstance(op.method, str) else op.names[0]: op for op in OPS.values() if op.method and op.names}
    listed = {name: NAMES[name] for name in FLUENT}
    for name, op in (declared | listed).items():
        if name.isidentifier() and not name.startswith("_") and name not in vars(NDArray):
            method = generate(op, name, "twofold.ndarray")
            method.__qualname__ = f"NDArray.{name}"
            setattr(NDArray, name, method)
    NDArray.split_v2 = split_v2  # type: ignore[attr-defined]


attach()

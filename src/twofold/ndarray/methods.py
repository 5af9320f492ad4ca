"""MXNet's fluent methods of `NDArray`. Each calls the operator of the same name, with the array as its first operand."""

from ..opdef.frontend import attach_method
from ..opdef.registry import OPS
from .array import NDArray
from .functions import split_v2
from .namespace import generate


def attach() -> None:
    """Attach the methods listed here, and those that operators declare, to `NDArray`."""
    for op in [op for op in OPS.values() if op.method_name]:
        name = op.method_name
        if name.isidentifier() and not name.startswith("_") and name not in vars(NDArray):
            attach_method(NDArray, name, generate(op, name, "twofold.ndarray"))
    NDArray.split_v2 = split_v2  # type: ignore[attr-defined]


attach()

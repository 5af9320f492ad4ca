"""MXNet's fluent methods of `NDArray`. Each calls the operator of the same name, with the array as its first operand."""

from functools import partial

from ..opdef import OPS
from ..opdef.frontend import LazyMethod
from .array import NDArray
from .functions import split_v2
from .namespace import generate


def attach() -> None:
    """Attach the methods listed here, and those that operators declare, to `NDArray`."""
    for op in [op for op in OPS.values() if op.method_name]:
        name = op.method_name
        if name.isidentifier() and not name.startswith("_") and name not in vars(NDArray):
            setattr(NDArray, name, LazyMethod(NDArray, name, partial(generate, op, name, "twofold.ndarray")))
    NDArray.split_v2 = split_v2  # type: ignore[attr-defined]


attach()

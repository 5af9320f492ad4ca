"""``mx.npx``: operators of neural networks on arrays of MXNet's NumPy dialect, files, devices, MXNet's switches.

The operators are those of ``mx.nd``, with MXNet's dtypes and NumPy's shapes; the switches are those of `twofold.numpy_extension`.
"""

from collections.abc import Sequence
from typing import Any

from .. import numpy_extension as shared
from ..device import Device
from ..errors import ParameterError
from ..ndarray.saving import load_arrays, save_arrays
from ..opdef import NAMES
from ..opdef.frontend import function_of
from ..opdef.numpy_rows import sizes
from ..ops import mxnet_numpy_shapes
from ..suggestions import missing_name
from . import extension_random as random
from .array import ndarray
from .array_functions import CALLS, FUNCTIONS

__all__ = ["constraint_check", "image", "load", "random", "reshape", "save"]

PREFIX = "_npx_"
#: Names that are not about arrays.
SHARED = (
    "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "is_np_array", "is_np_shape", "np_array", "np_shape", "num_gpus",
    "reset_np", "seed", "set_np", "set_np_shape", "use_np", "use_np_array", "use_np_shape", "waitall",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in SHARED:
        return getattr(shared, name)
    if name == "Context":
        return Device
    op = NAMES.get(PREFIX + name)
    if op is None:
        raise missing_name("mxnet.numpy_extension", name, __dir__(), "npx")
    found = globals()[name] = function_of(op, name, CALLS.call, __name__, extra=() if op.arrays else ("ctx",), fast=CALLS.fast)
    return found


def __dir__() -> list[str]:
    operators = [n.removeprefix(PREFIX) for n in NAMES if n.startswith(PREFIX) and not n.startswith(PREFIX + "_")]
    return sorted({*__all__, *SHARED, *operators, "Context"})


image = shared.images(__name__, __getattr__)


def constraint_check(x: object, msg: str = "Constraint violated.") -> ndarray:
    """True, as an array, if every element is not 0.

    Raises
    ------
    ParameterError
        If an element is 0, with the given message.
    """
    found = FUNCTIONS.all(x)
    if not found:
        raise ParameterError(msg)
    return found


def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C") -> ndarray:
    """A copy in a new shape, which may contain codes.

    Parameters
    ----------
    a
        The array.
    newshape
        Sizes, or codes: -1 infers a size, -2 keeps one, -3 drops a size of 1, -4 keeps all remaining ones, -5 merges two,
        -6 splits one into the two that follow.
    reverse
        Read the codes from the right.
    order
        Must be ``"C"``.
    """
    params = {"newshape": sizes(newshape), "reverse": reverse, "order": order}
    return FUNCTIONS.apply(mxnet_numpy_shapes.npx_reshape, (FUNCTIONS.operand(a),), params)


def save(file: Any, arr: Any) -> None:
    """Write arrays to a file: one array, a list, or a dictionary by name."""
    save_arrays(file, arr, numpy_shape=True)


def load(file: Any) -> Sequence[ndarray] | dict[str, ndarray]:
    """Read the arrays of a file, as a list or, if they have names, a dictionary."""
    return load_arrays(file, ndarray)

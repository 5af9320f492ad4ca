"""Which arrays stand among the arguments of a call, and whether a gradient would have to pass through it."""

from collections.abc import Iterator
from typing import Any

from ..dtype import is_float
from ..errors import AutogradError
from ..imperative.array import Array
from ..imperative.record import tls
from ..imperative.write import is_tracked
from ..ops import primitive_math


def arrays_in(value: Any) -> Iterator[Array]:
    """The arrays in nested sequences and dictionaries."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from arrays_in(v)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


def is_recorded(value: Any) -> bool:
    """Whether an array among nested sequences and dictionaries is on the tape, so that what is computed from it has a gradient."""
    if tls.tape is None:
        return False
    return any(map(_is_recorded, arrays_in(value)))


def _is_recorded(a: Any) -> bool:
    if type(a)._root is None:
        return is_tracked(a._v)
    detached = any(sig.op is primitive_math.stop_gradient for sig in a._chain)  # what `detach` gives is a view of the recorded array
    return not detached and is_tracked(a._base._v)


def refuse_cut(name: str, args: Any, results: Any) -> None:
    """Raise where a function without a gradient rule made floating-point numbers from recorded arrays.

    Integers and bools (places, counts, tests) have no gradient anyway.

    Raises
    ------
    AutogradError
        If the gradient would be cut.
    """
    if tls.tape is not None and any(is_float(a._dtype) or a._dtype.startswith("complex") for a in arrays_in(results)) and is_recorded(args):
        raise AutogradError(
            f"{name} has no gradient",
            "a recorded array",
            "call it on x.detach(), or inside autograd.pause(), if the result is to be a constant",
        )

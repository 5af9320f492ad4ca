"""Private functions of MXNet's that published scripts import all the same."""

from numbers import Number
from typing import Any

from ..errors import InvalidValue
from ..gluon.signatures import Functions, Operand
from ..io.array_iterator import named_arrays
from ..ndarray import NDArray

__all__: list[str] = []


def _apply_weighting(F: Functions, loss: Operand, weight: float | None = None, sample_weight: Operand | None = None) -> Operand:
    """A loss times the weights of the samples, which broadcast to it, and times a number: what losses of scripts call."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    if not isinstance(weight, Number):
        raise InvalidValue("weight must be a number", repr(weight), "pass weights of samples as sample_weight")
    return loss * weight


def _init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, NDArray]]:
    """(name, array) pairs of the data of an iterator: what iterators of scripts call."""
    pairs = [] if data is None else named_arrays(data, default_name)
    if not pairs and not allow_empty:
        raise InvalidValue("an iterator needs data", "no array", "pass at least one")
    return pairs

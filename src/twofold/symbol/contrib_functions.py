"""The functions of ``mx.sym.contrib`` that are not operators: AdamW with a number as the gradients' scale, Zipfian sampling."""

import math
from collections.abc import Sequence

from ..errors import ParameterError
from ..ndarray.contrib_functions import adamw, zipfian
from ..opdef import Op
from ..ops.creation import full_value
from .compose import apply_op
from .namespace import NAMESPACES
from .random import uniform
from .symbol import Symbol

__all__ = ["adamw_update", "mp_adamw_update", "rand_zipfian"]


def _scaled(
    op: Op, arrays: Sequence[Symbol], rescale_grad: float | Symbol, settings: dict[str, float], out: Symbol | None, name: str | None
) -> Symbol:
    """The node of an update whose last operand is the gradients' scale; its states are auxiliary."""
    if out is not None:
        raise ParameterError(f"{op.spoken}: symbols are not written to", "out", "leave out out")
    if not isinstance(rescale_grad, Symbol):
        rescale_grad = apply_op(full_value, full_value.title, (), {"shape": (1,), "value": float(rescale_grad)})
    return apply_op(op, op.title, (*arrays, rescale_grad), settings, name)


adamw_update, mp_adamw_update = adamw(_scaled, __name__)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Classes sampled from a log-uniform (Zipfian) distribution, and expected counts; see ``mx.nd.contrib.rand_zipfian``."""
    drawn = uniform(0, math.log(range_max + 1), shape=(num_sampled,), dtype="float64")
    return zipfian(drawn, true_classes, range_max, num_sampled)


for _name in __all__:
    setattr(NAMESPACES["contrib"], _name, globals()[_name])

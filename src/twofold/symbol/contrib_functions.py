"""The functions of ``mx.sym.contrib`` that are not operators: AdamW with a number as the gradients' scale, Zipfian sampling."""

import math

from ..ndarray.contrib_functions import zipfian
from ..ops import optimizer_adamw
from ..ops.creation import full_value
from .compose import apply_op
from .namespace import NAMESPACES
from .random import uniform
from .symbol import Symbol

__all__ = ["adamw_update", "mp_adamw_update", "rand_zipfian"]


def _scale(rescale_grad: float | Symbol) -> Symbol:
    if isinstance(rescale_grad, Symbol):
        return rescale_grad
    return apply_op(full_value, full_value.title, (), {"shape": (1,), "value": float(rescale_grad)})


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: float | Symbol,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    name: str | None = None,
) -> Symbol:
    """AdamW as a node; ``mean`` and ``var`` are auxiliary states. Parameters as for ``mx.nd.contrib.adamw_update``."""
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    arrays = (weight, grad, mean, var, _scale(rescale_grad))
    return apply_op(optimizer_adamw.adamw_update, optimizer_adamw.adamw_update.title, arrays, settings, name)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: float | Symbol,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    name: str | None = None,
) -> Symbol:
    """`adamw_update` of the float32 master copy of a 16-bit weight."""
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    arrays = (weight, grad, mean, var, weight32, _scale(rescale_grad))
    return apply_op(optimizer_adamw.mp_adamw_update, optimizer_adamw.mp_adamw_update.title, arrays, settings, name)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Classes sampled from a log-uniform (Zipfian) distribution, and expected counts; see ``mx.nd.contrib.rand_zipfian``."""
    drawn = uniform(0, math.log(range_max + 1), shape=(num_sampled,), dtype="float64")
    return zipfian(drawn, true_classes, range_max, num_sampled)


for _name in __all__:
    setattr(NAMESPACES["contrib"], _name, globals()[_name])

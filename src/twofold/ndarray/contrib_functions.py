"""The functions of ``mx.nd.contrib`` that are not operators: updates of lists of weights, tests of numbers, sampling."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ..imperative.storage import applied
from ..opdef import Op
from ..opdef.frontend import named, with_arrays
from ..ops import optimizer_adamw, optimizer_lamb, primitive_math
from .array import NDArray
from .graph_sampling import (
    dgl_adjacency,
    dgl_csr_neighbor_non_uniform_sample,
    dgl_csr_neighbor_uniform_sample,
    dgl_graph_compact,
    dgl_subgraph,
)
from .namespace import NAMESPACES, call
from .new_arrays import full
from .random import uniform
from .types import DeviceLike

__all__ = [
    "adamw_update",
    "dgl_adjacency",
    "dgl_csr_neighbor_non_uniform_sample",
    "dgl_csr_neighbor_uniform_sample",
    "dgl_graph_compact",
    "dgl_subgraph",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
]

#: Arrays or symbols.
A = TypeVar("A")
Arrays = Sequence[NDArray]


def _test(op: Op, doc: str) -> Callable[[NDArray], NDArray]:
    @named(op.name, f"1 where an element {doc}, else 0, in the dtype of the array.")
    def function(data: NDArray) -> NDArray:
        return applied(op.bind(True), (data,)).astype(data._dtype)

    function.__module__ = __name__
    return function


isnan = _test(primitive_math.isnan, "is NaN")
isinf = _test(primitive_math.isinf, "is infinite")
isfinite = _test(primitive_math.isfinite, "is neither NaN nor infinite")


#: Applies AdamW's operators: ``apply(op, arrays, rescale_grad, settings, out, name)``.
Apply: TypeAlias = Callable[[Op, Sequence[A], "float | A", dict[str, float], "A | None", "str | None"], A]


def _adamw(
    apply: Apply[A],
    op: Op,
    arrays: Sequence[A],
    rescale_grad: float | A,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: A | None = None,
    name: str | None = None,
) -> A:
    """AdamW: ``weight - eta · (lr · mean / (sqrt(var) + epsilon) + wd · weight)``. Writes new values to ``mean`` and ``var``.

    ``mean`` and ``var`` are the running averages of the gradient and of its square, in the shape of the weight; ``weight32`` of
    ``mp_adamw_update`` is the float32 master copy of a 16-bit weight.

    Parameters
    ----------
    rescale_grad
        Factor of the gradient, a number or an array (1,). If it is 0 or not finite nothing changes.
    lr, eta, beta1, beta2, epsilon, wd
        Learning rate, multiplier of the schedule, decay rates of the averages, constant in the denominator, weight decay.
    clip_gradient
        Bound on the absolute value of the rescaled gradient; negative for none.
    out
        The array to write the new weight to; None for symbols.
    name
        The name of a symbol's node. It has no effect on arrays.
    """
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
    return apply(op, arrays, rescale_grad, settings, out, name)


def adamw(apply: Apply[A], module: str) -> Iterator[Callable[..., A]]:
    """``adamw_update`` and ``mp_adamw_update``, of arrays or of symbols, for a module."""
    for op in (optimizer_adamw.adamw_update, optimizer_adamw.mp_adamw_update):
        names = [i.name for i in op.arrays[:-1]]
        yield with_arrays(partial(_adamw, apply, op), names, op.title.removeprefix("_"), module, _adamw.__doc__)


def _scaled(
    op: Op, arrays: Arrays, rescale_grad: float | NDArray, settings: Mapping[str, object], out: Any, name: str | None = None
) -> Any:
    """The result of an update whose last operand is the gradients' scale."""
    scale = rescale_grad if isinstance(rescale_grad, NDArray) else full((1,), rescale_grad, ctx=arrays[0].context)
    return call(op, (*arrays, scale), dict(settings), out)


def _together(lists: Sequence[Arrays]) -> list[NDArray]:
    """The arrays of each weight beside one another."""
    return [x for group in zip(*lists, strict=True) for x in group]


def _multi_adamw(
    op: Op,
    lists: Sequence[Arrays],
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: NDArray | Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Any:
    """`adamw_update` of several weights, each with its own rate, decay and multiplier; ``size`` is their number, 0 for all.

    ``weights32`` of ``multi_mp_adamw_update`` are the float32 master copies of 16-bit weights. Returns the list of new weights, or ``out``.
    """
    settings = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(lists[0]), **kwargs}
    return _scaled(op, _together(lists), rescale_grad, settings, out)


def _multi_lamb(
    op: Op,
    lists: Sequence[Arrays],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: NDArray | Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Any:
    """LAMB updates of several weights; writes new values to ``mean`` and ``var``. Returns the list of new weights, or ``out``.

    ``mean`` and ``var`` are the running averages of the gradients and of their squares; ``weights32`` of ``multi_mp_lamb_update`` are the
    float32 master copies of 16-bit weights.

    Parameters
    ----------
    step_count, lrs, wds
        For each weight the number of this update (from 1), the learning rate and the weight decay.
    out
        The arrays to write the new weights to.
    num_tensors
        The number of weights; 0 for all.
    **kwargs
        Parameters of the operator: ``beta1``, ``beta2``, ``epsilon``, ``rescale_grad``, ``lower_bound``, ``upper_bound``,
        ``clip_gradient``, ``bias_correction``.
    """
    settings = {"learning_rates": lrs, "wds": wds, "step_count": step_count, "num_tensors": num_tensors or len(lists[0]), **kwargs}
    return call(op, _together(lists), settings, out)


def _multi(update: Callable[..., Any], op: Op, *masters: str) -> Callable[..., Any]:
    """The function of an operator on lists of arrays."""
    lists = ("weights", "grads", "mean", "var", *masters)
    return with_arrays(partial(update, op), lists, op.title.removeprefix("_"), __name__, update.__doc__)


adamw_update, mp_adamw_update = adamw(_scaled, __name__)
multi_adamw_update = _multi(_multi_adamw, optimizer_adamw.multi_adamw_update)
multi_mp_adamw_update = _multi(_multi_adamw, optimizer_adamw.multi_mp_adamw_update, "weights32")
multi_lamb_update = _multi(_multi_lamb, optimizer_lamb.multi_lamb_update)
multi_mp_lamb_update = _multi(_multi_lamb, optimizer_lamb.multi_mp_lamb_update, "weights32")


def rand_zipfian(true_classes: NDArray, num_sampled: int, range_max: int, ctx: DeviceLike = None) -> tuple[NDArray, NDArray, NDArray]:
    """Sample classes from a log-uniform (Zipfian) distribution: P(k) = log((k + 2) / (k + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes
        Classes (n,) whose expected counts are computed.
    num_sampled
        The number of classes to sample, with replacement.
    range_max
        The number of classes; samples are in [0, range_max).
    ctx
        The device; the current one if None.

    Returns
    -------
    samples : NDArray
        int64 (num_sampled,).
    expected_count_true, expected_count_sample : NDArray
        How often each of the true classes, and each sampled class, is expected among the samples: float64 (n,), (num_sampled,).
    """
    drawn = uniform(0, math.log(range_max + 1), shape=(num_sampled,), dtype="float64", ctx=ctx)
    return zipfian(drawn, true_classes, range_max, num_sampled)


def zipfian(drawn: Any, true_classes: Any, range_max: int, num_sampled: int) -> tuple[Any, Any, Any]:
    """The results of `rand_zipfian`, from numbers that are uniform on [0, log(range_max + 1)): arrays or symbols."""
    # the exponential of a uniform number is below range_max + 1; rounding may reach it
    samples = (drawn.exp() - 1).astype("int64") % range_max
    total = math.log(range_max + 1)

    def expected(classes: Any) -> Any:
        wide = classes.astype("float64")
        return ((wide + 2.0) / (wide + 1.0)).log() / total * num_sampled

    return samples, expected(true_classes), expected(samples)


for _name in __all__:
    setattr(NAMESPACES["contrib"], _name, globals()[_name])

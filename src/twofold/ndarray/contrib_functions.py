"""The functions of ``mx.nd.contrib`` that are not operators: updates of lists of weights, tests of numbers, sampling."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from ..imperative.storage import applied
from ..opdef import Op
from ..opdef.frontend import named
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


class AdamW(Generic[A]):
    """The functions of one weight, of arrays or of symbols.

    Parameters
    ----------
    apply
        Applies an operator to arrays and a scale, which may be a number.
    """

    def __init__(self, apply: Apply[A]) -> None:
        self._apply = apply

    def adamw_update(
        self,
        weight: A,
        grad: A,
        mean: A,
        var: A,
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

        Parameters
        ----------
        weight, grad, mean, var
            The weight; its gradient, and the running averages of that and of its square, in the same shape.
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
        return self._apply(optimizer_adamw.adamw_update, (weight, grad, mean, var), rescale_grad, settings, out, name)

    def mp_adamw_update(
        self,
        weight: A,
        grad: A,
        mean: A,
        var: A,
        weight32: A,
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
        """`adamw_update` of the float32 master copy ``weight32`` of a 16-bit weight; other parameters as there."""
        settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd, "clip_gradient": clip_gradient}
        return self._apply(optimizer_adamw.mp_adamw_update, (weight, grad, mean, var, weight32), rescale_grad, settings, out, name)


def _scaled(
    op: Op, arrays: Arrays, rescale_grad: float | NDArray, settings: Mapping[str, object], out: Any, name: str | None = None
) -> Any:
    """The result of an update whose last operand is the gradients' scale."""
    scale = rescale_grad if isinstance(rescale_grad, NDArray) else full((1,), rescale_grad, ctx=arrays[0].context)
    return call(op, (*arrays, scale), dict(settings), out)


_ADAMW = AdamW[NDArray](_scaled)
adamw_update, mp_adamw_update = _ADAMW.adamw_update, _ADAMW.mp_adamw_update


def _together(*lists: Arrays) -> list[NDArray]:
    """The arrays of each weight beside one another."""
    return [x for group in zip(*lists, strict=True) for x in group]


def multi_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
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

    Returns the list of new weights, or ``out``.
    """
    settings = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights), **kwargs}
    return _scaled(optimizer_adamw.multi_adamw_update, _together(weights, grads, mean, var), rescale_grad, settings, out)


def multi_mp_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: NDArray | Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Any:
    """`multi_adamw_update` of 16-bit weights with float32 master copies."""
    settings = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights), **kwargs}
    return _scaled(optimizer_adamw.multi_mp_adamw_update, _together(weights, grads, mean, var, weights32), rescale_grad, settings, out)


def multi_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: NDArray | Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Any:
    """LAMB updates of several weights; writes new values to ``mean`` and ``var``. Returns the list of new weights, or ``out``.

    Parameters
    ----------
    weights, grads, mean, var
        The weights; their gradients, and the running averages of these and of their squares.
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
    settings = {"learning_rates": lrs, "wds": wds, "step_count": step_count, "num_tensors": num_tensors or len(weights), **kwargs}
    return call(optimizer_lamb.multi_lamb_update, _together(weights, grads, mean, var), settings, out)


def multi_mp_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: NDArray | Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Any:
    """`multi_lamb_update` of 16-bit weights with float32 master copies."""
    settings = {"learning_rates": lrs, "wds": wds, "step_count": step_count, "num_tensors": num_tensors or len(weights), **kwargs}
    return call(optimizer_lamb.multi_mp_lamb_update, _together(weights, grads, mean, var, weights32), settings, out)


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
    """What `rand_zipfian` returns, from numbers that are uniform on [0, log(range_max + 1)): arrays or symbols."""
    # the exponential of a uniform number is below range_max + 1; rounding may reach it
    samples = (drawn.exp() - 1).astype("int64") % range_max
    total = math.log(range_max + 1)

    def expected(classes: Any) -> Any:
        wide = classes.astype("float64")
        return ((wide + 2.0) / (wide + 1.0)).log() / total * num_sampled

    return samples, expected(true_classes), expected(samples)


for _name in __all__:
    setattr(NAMESPACES["contrib"], _name, globals()[_name])

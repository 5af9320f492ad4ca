"""Layer-wise optimizers for large batches: each weight's step is scaled to the weight's own norm."""

from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from typing import Any, TypedDict, Unpack

from .. import ndarray as nd
from ..ndarray.array import NDArray
from ..ops import optimizer_lamb
from .base import Index, Optimizer, register
from .hyperparameters import Options, RateOptions
from .multi_tensor import update_weights
from .sgd import WithMaster, WithMomentum


@register
class LARS(WithMaster):
    """`SGD` with the layer-wise learning rate ``lr · eta · |weight| / (|grad| + wd · |weight| + eps)``.

    Parameters
    ----------
    momentum
        The momentum; with 0 there is no state.
    lazy_update
        See `SGD`.
    eta
        The trust coefficient.
    eps
        Added to the denominator.
    momentum_correction
        Scale the momentum by changes of the learning rate.
    kwargs
        See `Optimizer`.

    Notes
    -----
    You, Gitman and Ginsburg, Large batch training of convolutional networks, 2017. Parameters named as biases, scales and offsets
    use the plain learning rate.
    """

    aggregate_num = 4
    takes_rows = True
    progress_attributes = (*Optimizer.progress_attributes, "last_lr", "cur_lr", "_rate_read_at")
    _rate_read_at = -1  # update count at which the learning rate was last read

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Unpack[RateOptions],
    ) -> None:
        super().__init__(momentum, **kwargs)
        self.momentum_correction, self.lazy_update, self.eta, self.eps = momentum_correction, lazy_update, eta, eps
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def _is_decayed(self, name: str) -> bool:
        return name.endswith("_weight")

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        lr, wd, _ = self._begin(index)
        # The state holds steps, each made with the rate of its time; this brings them to the present rate
        # (Goyal et al., Accurate, large minibatch SGD, 2017, section 3).
        momentum = self.momentum * self._correction()
        rate = self._rate(index, weight, grad, lr, wd)
        if self.lazy_update and grad.stype == "row_sparse":
            self._update_rows(weight, grad, state, float(rate), wd, momentum)
            return
        step = -rate * (self._scaled(grad if grad.stype == "default" else grad.tostype("default")) + wd * weight)
        if state is not None:
            state[:] = step = momentum * state + step
        weight[:] = weight + step

    def _update_rows(self, weight: NDArray, grad: NDArray, state: NDArray | None, rate: float, wd: float, momentum: float) -> None:
        common = self._common(rate, wd)
        if state is None:
            nd.sgd_update(weight, grad, out=weight, lazy_update=True, **common)
        else:
            nd.sgd_mom_update(weight, grad, state, out=weight, momentum=momentum, lazy_update=True, **common)

    def _clipped(self, grad: NDArray) -> NDArray:
        # MXNet's LARS applies the operators of SGD, for which 0 and a negative number are no bound
        return super()._clipped(grad) if (self.clip_gradient or -1.0) >= 0 else grad

    def _correction(self) -> float:
        """Ratio of the learning rate to that of the previous update. All weights of one update see the same ratio."""
        # the schedule is read when the first weight of an update comes, and remembered for the others
        if self.cur_lr is None or self.num_update != self._rate_read_at:
            # the first update has no rate before it, so its ratio is 1
            self.last_lr = self.learning_rate if self.cur_lr is None else self.cur_lr
            self.cur_lr = self.learning_rate
            self._rate_read_at = self.num_update
        return self.cur_lr / self.last_lr if self.momentum_correction and self.last_lr else 1.0

    def _rate(self, index: Index, weight: NDArray, grad: NDArray, lr: float, wd: float) -> NDArray | float:
        if str(self.idx2name.get(index, index)).endswith(("gamma", "beta", "bias")):
            return lr
        # the norm of the rescaled gradient, without rescaling the gradient itself
        w_norm, g_norm = nd.norm(weight), nd.norm(grad) * self.rescale_grad
        ratio = self.eta * w_norm / (g_norm + wd * w_norm + self.eps)
        # without the plain rate, a weight that starts at 0 would have the ratio 0, and stay 0
        # chosen on the device: reading a norm would wait for the gradient, once per weight
        return lr * nd.where(w_norm * g_norm > 0, ratio, nd.ones_like(ratio))


@register
class LAMB(Optimizer):
    """`Adam` with each weight's step scaled to the weight's norm.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the two running means.
    epsilon
        Added to the root, so that the quotient stays finite.
    lower_bound, upper_bound
        Bounds on the weight norm used for scaling; None for no bound.
    bias_correction
        Correct the means for their start at 0.
    kwargs
        See `Optimizer`.

    Notes
    -----
    You et al., Large batch optimization for deep learning: training BERT in 76 minutes, 2019.
    """

    _state_arrays = 2  # mean of the gradients, mean of their squares
    aggregate_num = 45

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.lower_bound = beta1, beta2, epsilon, lower_bound
        self.upper_bound, self.bias_correction = upper_bound, bias_correction

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        scalars = tuple(map(float, (self.beta1, self.beta2, self.epsilon, t, wd, self.rescale_grad, lr)))  # in the operator's order
        bounds = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound, "clip_gradient": self.clip_gradient}
        # a bound of 0 means no bound, as in MXNet; the operator's defaults then apply
        given = {name: float(bound) for name, bound in bounds.items() if bound}
        update_weights(optimizer_lamb.lamb_update, [(weight, grad, *state)], [scalars], bias_correction=self.bias_correction, **given)


class _Accumulated(TypedDict):
    """The sum of the gradients since the last step, 0 at first, and the number of all gradients so far, under MXNet's names."""

    cum_grad: NDArray | int
    num_cums: int


@register
class LBSGD(WithMomentum):
    """`SGD` with gradient accumulation: gradients are averaged over ``batch_scale`` updates, and the learning rate warms up.

    Parameters
    ----------
    momentum, multi_precision
        See `SGD` and `Optimizer`.
    warmup_strategy
        Curve along which the learning rate rises to ``batch_scale`` times its value: ``"linear"``, ``"power2"`` or ``"sqrt"``.
        ``"lars"`` scales it by ``sqrt(|weight|² / (|grad|² + wd · |weight|²))`` instead. Any other name raises it in one step, at
        the end of the warm-up.
    warmup_epochs, updates_per_epoch
        Length of the warm-up in epochs, and of an epoch in updates.
    batch_scale
        Number of gradients accumulated per step.
    begin_epoch
        Number of epochs already completed.
    num_epochs
        Has no effect, as in MXNet.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Goyal et al., Accurate, large minibatch SGD: training ImageNet in 1 hour, 2017; for ``"lars"`` see `LARS`.
    """

    progress_attributes = (*Optimizer.progress_attributes, "cumgrads")
    takes_rows = True

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, multi_precision=multi_precision, **kwargs)
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.cumgrads: dict[Index, _Accumulated] = {}

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        """Accumulate a gradient, and update the weight if the batch is complete."""
        batch = self.cumgrads.get(index, {"cum_grad": 0, "num_cums": 0})
        before = batch["cum_grad"]
        # a row-sparse gradient stays one, so that its update is lazy
        total = grad + before.as_in_context(grad.context) if isinstance(before, NDArray) else grad
        # never reset: the warm-up counts all gradients so far
        count = batch["num_cums"] + 1
        lr, wd = self._get_lr(index), self._get_wd(index)  # before counting: the schedule gets the number of updates done so far
        self._update_count(index)
        # the batch is not complete yet: the weight stays
        if count % self.batch_scale:
            self.cumgrads[index] = {"cum_grad": total.copy() if total is grad else total, "num_cums": count}
            return
        mean = total / self.batch_scale
        lr *= self._lars(weight, mean, wd) if self.warmup_strategy == "lars" else self._warm_up(self.init_updates + count)
        if state is None:
            nd.sgd_update(weight, mean, out=weight, **self._common(lr, wd))
        else:
            nd.sgd_mom_update(weight, mean, state, out=weight, momentum=self.momentum, **self._common(lr, wd))
        self.cumgrads[index] = {"cum_grad": 0, "num_cums": count}

    def move_progress(self, rekeyed: Callable[[Mapping[Any, Any]], dict[Any, Any]], device_ids: Iterable[int]) -> None:
        """As `Optimizer.move_progress`, with the accumulated gradients."""
        super().move_progress(rekeyed, device_ids)
        self.cumgrads = rekeyed(self.cumgrads)

    def _warm_up(self, updates: int) -> float:
        # The linear scaling rule of Goyal et al.: a step from n gradients may be n times as long, but not from the start.
        length, highest = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if updates >= length:
            return highest
        curves = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}
        # MXNet leaves the first step at the plain rate, on every curve
        if updates <= 1 or self.warmup_strategy not in curves:
            return 1.0
        return 1.0 + (highest - 1.0) * (updates / length) ** curves[self.warmup_strategy]

    def _lars(self, weight: NDArray, grad: NDArray, wd: float) -> float:
        # on the host: the rate is a scalar of the update operator
        w, g = (float(nd.norm(x).asscalar()) ** 2 for x in (weight, grad))
        # MXNet's bounds; 1e-18 keeps the quotient finite for a weight and a gradient of zeros
        return min(max(sqrt(w / (g + wd * w + 1e-18)), 0.01), 100.0)

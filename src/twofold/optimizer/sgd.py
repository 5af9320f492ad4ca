"""Gradient descent, with and without momentum, and its stochastic variants."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from math import sqrt
from typing import Any, Unpack

from .. import ndarray as nd
from .. import random
from ..ndarray.array import NDArray
from ..ops import optimizer_sgd
from .argument_errors import check_arrays
from .attempt import Attempt, restore
from .base import Index, Indices, Optimizer, State, Weights, each, register, zeros_like
from .hyperparameters import Options, RateOptions
from .multi_tensor import are_independent, update_weights


class WithMomentum(Optimizer):
    """Base of optimizers whose state is a momentum, or None where that is 0."""

    def __init__(self, momentum: float = 0.0, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """The momentum, or None."""
        return zeros_like(weight) if self.momentum else None


class WithMaster(WithMomentum):
    """Base of optimizers whose state for a 16-bit weight is (momentum, float32 master copy): MXNet's files have that order."""

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """Like `create_state`; for a 16-bit weight with ``multi_precision``, (state, float32 master copy)."""
        if not self._has_master(weight):
            return super().create_state_multi_precision(index, weight)
        master = weight.astype("float32")
        return self.create_state(index, master), master

    def _update_through_master(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        momentum, master = state
        # the base class expects the master copy first
        super()._update_through_master(index, weight, grad, (master, momentum))


@register
class SGD(WithMaster):
    """Stochastic gradient descent: ``mom ← momentum · mom − lr · (grad + wd · weight)``, ``weight ← weight + mom``.

    Parameters
    ----------
    momentum
        The momentum; with 0 there is no state.
    lazy_update
        Update only the rows present in a row-sparse gradient. A dense gradient has every row.
    kwargs
        See `Optimizer`.
    """

    aggregate_num = 4

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update

    def _aggregates_all(self) -> bool:
        # A subclass that overrides the method expects one weight at a time, as in MXNet; one that sets the number, no more than that.
        if self.aggregate_num != SGD.aggregate_num:
            return False
        return type(self).update is SGD.update and type(self).update_multi_precision is SGD.update_multi_precision

    def update(self, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
        """Update one weight or a list of weights."""
        # one program takes one operator for all: weights with a momentum cannot share it with weights without
        indices: Any = index
        states: Any = state
        gradients: Any = grad
        several = weight if isinstance(weight, (list, tuple)) and isinstance(index, (list, tuple)) else None
        if several is not None and are_independent(several) and len(set(map(type, states))) == 1:
            # as `Attempt` does, without its calls: small networks spend much of a step here
            former, number = self._index_update_count.copy(), self.num_update
            try:
                self._apply(index, several, grad, states)
            except BaseException:
                restore(self, indices, former, {"num_update": number})
                check_arrays(*several, *gradients)
                raise
            return
        for i, w, g, mom in each(index, weight, grad, state):
            with Attempt(self, (i,)):
                self._apply([i], [w], [g], [mom])

    def _apply(self, index: Any, weight: Sequence[NDArray], grad: Any, state: Any) -> None:
        """Update all weights with one program. Either all weights have a momentum or none has."""
        # Python's floats are weak scalars; the dtype of NumPy's would take part in promotion
        self._update_count(index)
        scale = float(self.rescale_grad)
        rates, decays = map(float, self._get_lrs(index)), map(float, self._get_wds(index))
        params: dict[str, Any] = {"lazy_update": self.lazy_update}
        if self.clip_gradient:
            params["clip_gradient"] = self.clip_gradient
        # the scalars stand in the operator's order
        if state[0] is None:
            scalars = list(zip(rates, decays, repeat(scale), strict=False))
            update_weights(optimizer_sgd.sgd_update, list(zip(weight, grad, strict=True)), scalars, **params)
        else:
            scalars = list(zip(rates, repeat(float(self.momentum)), decays, repeat(scale), strict=False))
            update_weights(optimizer_sgd.sgd_mom_update, list(zip(weight, grad, state, strict=True)), scalars, **params)

    def _update_through_master(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        mom, master = state
        lr, wd, _ = self._begin(index)
        common, lazy = self._common(lr, wd), self.lazy_update
        if mom is None:
            nd.mp_sgd_update(weight, grad, master, out=weight, lazy_update=lazy, **common)
        else:
            nd.mp_sgd_mom_update(weight, grad, mom, master, out=weight, momentum=self.momentum, lazy_update=lazy, **common)


@register
class ccSGD(SGD):
    """`SGD` under the name it had before MXNet 0.9.

    Parameters
    ----------
    args, kwargs
        See `SGD`.
    """


@register
class NAG(WithMaster):
    """Nesterov's accelerated gradient: descent along the gradient at the point that momentum is about to reach.

    ``mom ← momentum · mom + g``, ``weight ← weight − lr · (g + momentum · mom)`` with ``g = grad + wd · weight``. As in MXNet, which
    writes in place, the decay that enters ``mom`` is then ``wd`` times the *updated* weight, unless that is row-sparse.

    Parameters
    ----------
    momentum
        The momentum; with 0 there is no state.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in deep learning, 2013.
    """

    takes_rows = True

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        lr, wd, _ = self._begin(index)
        common = self._common(lr, wd)
        if state is None:  # of a row-sparse gradient, the rows that it stores
            nd.sgd_update(weight, grad, out=weight, **common)
            return
        update = partial(nd.nag_mom_update, weight, grad.tostype("default"), state, out=weight, momentum=self.momentum, **common)
        _in_place(update, weight, state, lr * wd if weight.stype == "default" else 0.0)

    def _update_through_master(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        mom, master = state
        lr, wd, _ = self._begin(index)
        common = self._common(lr, wd)
        if mom is None:
            nd.mp_sgd_update(weight, grad, master, out=weight, **common)
            return
        update = partial(nd.mp_nag_mom_update, weight, grad, mom, master, out=weight, momentum=self.momentum, **common)
        _in_place(update, master, mom, lr * wd)


def _in_place(update: Callable[[], object], weight: NDArray, mom: NDArray, decay: float) -> None:
    """Run an update of NAG as MXNet's kernel does, in place: the decay that enters the momentum is that of the updated weight."""
    before = weight.copy() if decay else weight  # the update overwrites it
    update()
    if decay:
        mom[:] = mom - decay * (weight - before)


@register
class Signum(WithMomentum):
    """Descent along the sign of the gradient, or of its momentum.

    Parameters
    ----------
    learning_rate
        The learning rate.
    momentum
        The momentum; with 0 there is no state.
    wd_lh
        Decoupled weight decay, applied outside the sign.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Bernstein, Wang, Azizzadenesheli and Anandkumar, signSGD: compressed optimisation for non-convex problems, 2018. ``wd_lh``:
    Loshchilov and Hutter, Fixing weight decay regularization in Adam, 2017.
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Unpack[Options]) -> None:
        super().__init__(momentum, learning_rate=learning_rate, **kwargs)
        self.wd_lh = wd_lh

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        lr, wd, _ = self._begin(index)
        common = self._common(lr, wd)
        if state is None:
            nd.signsgd_update(weight, grad, out=weight, **common)
        else:
            nd.signum_update(weight, grad, state, out=weight, momentum=self.momentum, wd_lh=self.wd_lh, **common)


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: half a gradient step plus normal noise of variance ``lr``.

    Parameters
    ----------
    rescale_grad, param_idx2name, wd, clip_gradient, learning_rate, lr_scheduler, sym, begin_num_update, multi_precision, param_dict
        See `Optimizer`.

    Notes
    -----
    Welling and Teh, Bayesian learning via stochastic gradient Langevin dynamics, 2011.
    """

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: None) -> None:
        lr, wd, _ = self._begin(index)
        # the paper's step: half the rate for the gradient of the log posterior, and noise with the rate as its variance
        noise = random.normal(0, sqrt(lr), shape=weight.shape, dtype=weight._dtype, ctx=weight.context)
        weight[:] = weight - (lr / 2) * (self._scaled(grad) + wd * weight) + noise


@register
class DCASGD(Optimizer):
    """Delay-compensated asynchronous descent: approximates how the gradient changed while it was in flight.

    ``mom ← momentum · mom − lr · (g + wd · weight + lamda · g² · (weight − previous weight))``.

    Parameters
    ----------
    momentum
        The momentum.
    lamda
        Strength of the compensation.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Zheng et al., Asynchronous stochastic gradient descent with delay compensation, 2017.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        # MXNet's attribute, which MXNet does not use either; the previous weight is in the state
        self.weight_previous: dict[Index, NDArray] = {}
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray | None, NDArray]:
        """(momentum or None, the weight before the last update)."""
        return (zeros_like(weight) if self.momentum else None), weight.copy()

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        lr, wd, _ = self._begin(index)
        mom, previous = state
        g = self._scaled(grad)
        # lamda · g² approximates the diagonal of the Hessian: to first order this is the gradient at the current weight
        step = -lr * (g + wd * weight + self.lamda * g * g * (weight - previous))
        if mom is not None:
            # before the weight changes: the next gradient is corrected for the distance from this one
            mom[:] = step = self.momentum * mom + step
        previous[:] = weight
        weight[:] = weight + step


@register
class Test(Optimizer):
    """Adds the rescaled gradient, for tests: ``weight ← weight + rescale_grad · grad``; the state becomes the weight.

    Parameters
    ----------
    rescale_grad, param_idx2name, wd, clip_gradient, learning_rate, lr_scheduler, sym, begin_num_update, multi_precision, param_dict
        See `Optimizer`.
    """

    _state_arrays = 1
    __test__ = False  # keeps pytest from collecting it

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight

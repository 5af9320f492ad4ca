"""AdamW: Adam whose weight decay is applied to the weight itself; the gradient's scale is an array, as of a dynamic loss scaler.

An update whose scale is 0 or not finite is skipped: weight and states do not change.
Source: Loshchilov & Hutter, "Decoupled weight decay regularization", ICLR 2019.
"""

from ..opdef import Count, Floats, Scalar, op
from .optimizer_multi import grouped, updated_in_turn, written_states
from .optimizer_sgd import average


def _updated(xp, weight, grad, mean, var, rescale_grad, *, lr, eta, wd, beta1, beta2, epsilon, clip_gradient):
    """(weight, mean, var) after an update."""
    scale = xp.cast_like(xp.reshape(rescale_grad, shape=()), weight)
    applies = xp.logical_and(xp.isfinite(scale), xp.not_equal(scale, 0))
    gradient = grad * scale
    if clip_gradient >= 0:
        gradient = xp.clip(gradient, -clip_gradient, clip_gradient)
    new_mean, new_var = average(xp, beta1, mean, gradient), average(xp, beta2, var, gradient * gradient)
    new = weight - eta * (lr * new_mean / (xp.sqrt(new_var) + epsilon) + wd * weight)
    # Selected after computing: the scale is an array, whose value is not known when the program is compiled. What is left out may be NaN
    return [xp.where(applies, after, before) for after, before in ((new, weight), (new_mean, mean), (new_var, var))]


@op("_adamw_update", mutates=("mean", "var"), differentiable=False, keeps_shape=("weight", "grad", "mean", "var"))
def adamw_update(
    xp,
    weight,
    grad,
    mean,
    var,
    rescale_grad,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    eta: Scalar,
    clip_gradient: float = -1.0,
):
    """``weight - eta · (lr · mean / (sqrt(var) + epsilon) + wd · weight)``; the gradient is multiplied by ``rescale_grad`` (1,) first.

    ``mean`` and ``var`` are running averages of the gradient and of its square.
    """
    settings = {"lr": lr, "eta": eta, "wd": wd, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
    new, mean, var = _updated(xp, weight, grad, mean, var, rescale_grad, **settings)
    return new, {"mean": mean, "var": var}


@op(
    "_mp_adamw_update",
    like=adamw_update,
    mutates=("mean", "var", "weight32"),
    differentiable=False,
    keeps_shape=("weight", "grad", "mean", "var", "weight32"),
)
def mp_adamw_update(xp, weight, grad, mean, var, weight32, rescale_grad, **params):
    """`adamw_update` on the float32 master weight; returns it cast to the weight's dtype."""
    new, mean, var = _updated(xp, weight32, xp.cast_like(grad, weight32), mean, var, rescale_grad, **params)
    return xp.cast_like(new, weight), {"mean": mean, "var": var, "weight32": new}


def _declare_multi(name, width, doc):
    """Declare the update of many weights, with ``width`` arrays for each, followed by the gradients' scale."""

    def rule(
        xp,
        *data,
        lrs: Floats,
        beta1: Scalar = 0.9,
        beta2: Scalar = 0.999,
        epsilon: Scalar = 1e-8,
        wds: Floats,
        etas: Floats,
        clip_gradient: float = -1.0,
        num_weights: Count = 1,
    ):
        # the numbers may be arrays that follow the scale
        arrays, (scale, *rest) = data[: width * num_weights], data[width * num_weights :] or (None,)
        groups, numbers = grouped(name, (*arrays, *rest), width, num_weights, {"lrs": lrs, "wds": wds, "etas": etas})

        def update(weight, grad, mean, var, lr, wd, eta):
            settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
            return _updated(xp, weight, grad, mean, var, scale, lr=lr, wd=wd, eta=eta, **settings)

        return updated_in_turn(xp, update, groups, width, numbers)

    rule.__name__, rule.__doc__ = name, doc
    facts = {"numbers": ("lrs", "wds", "etas"), "outputs": lambda **params: params["num_weights"]}
    return op(f"_{name}", mutates=written_states(width, range(2, width)), differentiable=False, **facts)(rule)


multi_adamw_update = _declare_multi(
    "multi_adamw_update",
    4,
    """AdamW on ``num_weights`` weights: weight, gradient, mean, var of each; after them the gradients' scale (1,).

    Rates, decays and multipliers ``etas`` have one number per weight. Returns the new weights.
    """,
)
multi_mp_adamw_update = _declare_multi(
    "multi_mp_adamw_update", 5, "`multi_adamw_update` with 16-bit weights, each with a float32 master weight as its fifth array."
)


def _scale(draw):
    return draw.integer((1,), 1, 3)


def _masters(draw, shape):
    return [*[draw.integer(shape, -4, 5, dtype="float16")] * 2, *[draw.integer(shape, 0, 5)] * 3]


RATES = {"lrs": (0.1, 0.2), "wds": (0.0, 0.01), "etas": (1.0, 0.5), "num_weights": 2}


@adamw_update.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), _scale(draw), lr=0.1, eta=0.5, wd=0.1, gradient=False)


mp_adamw_update.sample(lambda draw: draw(*_masters(draw, (2, 3)), _scale(draw), lr=0.1, eta=0.5, wd=0.1, clip_gradient=1.0, gradient=False))


@multi_adamw_update.sample
def _(draw):
    arrays = [x for shape in ((2, 3), (4,)) for x in (*[draw.real(shape)] * 3, draw.real(shape, low=0, high=1))]
    return draw(*arrays, _scale(draw), gradient=False, **RATES)


multi_mp_adamw_update.sample(lambda draw: draw(*_masters(draw, (2, 3)), *_masters(draw, (4,)), _scale(draw), gradient=False, **RATES))

"""LAMB: Adam with each weight's step scaled to the weight's norm, in two phases and for many weights at once.

Source: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", ICLR 2020.
"""

from ..opdef import Count, Floats, Scalar, Shape, op
from .optimizer_multi import grouped, norm, updated_in_turn, written_states
from .optimizer_sgd import average, decayed, like, prepared, weight_update


def _direction(xp, weight, mean, var, beta1, beta2, epsilon, t, wd, bias_correction):
    """The step before it is scaled to the weight's norm."""
    if bias_correction:
        # the powers are small numbers on the host or 0-d: the correction costs a division per element
        mean = mean / like(xp, 1 - _power(xp, beta1, t), mean)
        var = var / like(xp, 1 - _power(xp, beta2, t), var)
    return decayed(weight, mean / (xp.sqrt(var) + epsilon), wd)


def _power(xp, base, exponent):
    return base**exponent if isinstance(base, float) and isinstance(exponent, (int, float)) else xp.power(base, exponent)


def _trust(xp, weight_norm, step_norm, lower_bound, upper_bound):
    """The factor of the rate: the bounded norm of the weight over that of the step, 1 where one of them is 0."""
    # a negative bound means none; bounds belong to the structure, unlike run-time numbers, so without them there are no extra operations
    bounded = weight_norm
    if lower_bound >= 0:
        bounded = xp.maximum(bounded, lower_bound)
    if upper_bound >= 0:
        bounded = xp.minimum(bounded, upper_bound)
    # not "greater than 0", which NaN is not: after a gradient with NaN, all of the weight is NaN, as in MXNet
    both = xp.logical_and(xp.not_equal(bounded, 0), xp.not_equal(step_norm, 0))
    return xp.where(both, bounded / step_norm, xp.ones_like(bounded))


@weight_update("lamb_update_phase1", mutates=("mean", "var"))
def lamb_update_phase1(
    xp,
    weight,
    grad,
    mean,
    var,
    *,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-6,
    t: Scalar,
    bias_correction: bool = True,
    wd: Scalar,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """The step of LAMB before it is scaled: mean / (sqrt(var) + epsilon) + wd · weight, with running averages as in Adam.

    ``bias_correction`` divides the averages by 1 - beta^t. `lamb_update_phase2` applies the step.
    """
    gradient = prepared(xp, grad, rescale_grad, clip_gradient)
    mean, var = average(xp, beta1, mean, gradient), average(xp, beta2, var, gradient * gradient)
    return _direction(xp, weight, mean, var, beta1, beta2, epsilon, t, wd, bias_correction), {"mean": mean, "var": var}


@op("lamb_update_phase2", differentiable=False, alike=True, keeps_shape=("weight", "g"))
def lamb_update_phase2(xp, weight, g, r1, r2, *, lr: Scalar, lower_bound: float = -1.0, upper_bound: float = -1.0):
    """``weight - lr · r1 / r2 · g``, where g is the step, r1 (1,) the norm of the weight, and r2 (1,) that of the step.

    r1 is first clipped to the bounds; a negative bound has no effect. The factor is 1 where one of the norms is 0.
    """
    return weight - lr * _trust(xp, r1, r2, lower_bound, upper_bound) * g


@op(
    "mp_lamb_update_phase1",
    like=lamb_update_phase1,
    mutates=("mean", "var"),
    differentiable=False,
    keeps_shape=("weight", "grad", "mean", "var", "weight32"),
)
def mp_lamb_update_phase1(xp, weight, grad, mean, var, weight32, **params):
    """`lamb_update_phase1` of the float32 master weight; its step is float32 too."""
    return lamb_update_phase1.rule(xp, weight32, xp.cast_like(grad, weight32), mean, var, **params)


@op("mp_lamb_update_phase2", mutates=("weight32",), differentiable=False, keeps_shape=("weight", "g", "weight32"))
def mp_lamb_update_phase2(xp, weight, g, r1, r2, weight32, *, lr: Scalar, lower_bound: float = -1.0, upper_bound: float = -1.0):
    """`lamb_update_phase2` of the float32 master weight; returns it cast to the weight's dtype."""
    new = weight32 - lr * _trust(xp, r1, r2, lower_bound, upper_bound) * g
    return xp.cast_like(new, weight), {"weight32": new}


@weight_update("_lamb_update", like=lamb_update_phase1, mutates=("mean", "var"))
def lamb_update(xp, weight, grad, mean, var, *, lr: Scalar, lower_bound: float = -1.0, upper_bound: float = -1.0, **params):
    """Both phases of LAMB with the norms between them."""
    step, states = lamb_update_phase1.rule(xp, weight, grad, mean, var, **params)
    # the norms need all of the weight and the step before the first element can be written: an update is two passes over memory
    factor = _trust(xp, norm(xp, weight), norm(xp, step), lower_bound, upper_bound)
    return weight - lr * factor * step, states


def _declare_multi(name, width, doc):
    """Declare the update of many weights, with ``width`` arrays for each."""

    def rule(
        xp,
        *data,
        learning_rates: Floats,
        beta1: Scalar = 0.9,
        beta2: Scalar = 0.999,
        epsilon: Scalar = 1e-6,
        wds: Floats,
        rescale_grad: Scalar = 1.0,
        lower_bound: float = -1.0,
        upper_bound: float = -1.0,
        clip_gradient: float = -1.0,
        bias_correction: bool = True,
        step_count: Shape,
        num_tensors: Count = 1,
    ):
        # weight, gradient and states of one parameter follow each other among the arrays
        groups, numbers = grouped(name, data, width, num_tensors, {"learning_rates": learning_rates, "wds": wds, "step_count": step_count})
        settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "rescale_grad": rescale_grad, "lower_bound": lower_bound}
        settings |= {"upper_bound": upper_bound, "clip_gradient": clip_gradient, "bias_correction": bias_correction}

        def update(weight, grad, mean, var, lr, wd, t):
            new, own = lamb_update.rule(xp, weight, grad, mean, var, lr=lr, wd=wd, t=t, **settings)
            return new, own["mean"], own["var"]

        return updated_in_turn(xp, update, groups, width, numbers)

    rule.__name__, rule.__doc__ = name, doc
    # numbers that change at every step are arrays in imperative calls, so that a schedule does not compile anew
    facts = {"numbers": ("learning_rates", "wds", "step_count"), "outputs": lambda **params: params["num_tensors"]}
    return op(f"_{name}", mutates=written_states(width, range(2, width)), differentiable=False, **facts)(rule)


multi_lamb_update = _declare_multi(
    "multi_lamb_update",
    4,
    """LAMB on ``num_tensors`` weights: weight, gradient, mean, var of each. Returns the new weights.

    Rates, decays and numbers of steps have one number per weight.
    """,
)
multi_mp_lamb_update = _declare_multi(
    "multi_mp_lamb_update", 5, "`multi_lamb_update` with 16-bit weights, each with a float32 master weight as its fifth array."
)
mp_lamb_update_phase1.dtypes(lambda dtypes, **_: [dtypes[4]])


def _states(draw, shape=(2, 3)):
    return [draw.integer(shape, -4, 5), draw.integer(shape, 0, 5)]


def _halves(draw, shape=(2, 3)):
    return [draw.integer(shape, -4, 5, dtype="float16")] * 2


@lamb_update_phase1.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), t=2, wd=0.1, clip_gradient=1.0, gradient=False)


@lamb_update_phase2.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 2, draw.real((1,), low=1, high=3), draw.real((1,), low=1, high=3), lr=0.1, gradient=False)


mp_lamb_update_phase1.sample(lambda draw: draw(*_halves(draw), *_states(draw), draw.integer((2, 3), -4, 5), t=2, wd=0.1, gradient=False))


@mp_lamb_update_phase2.sample
def _(draw):
    step, norms = draw.integer((2, 3), -4, 5), [draw.integer((1,), 1, 4)] * 2
    return draw(_halves(draw)[0], step, *norms, draw.integer((2, 3), -4, 5), lr=0.1, upper_bound=2.0, gradient=False)


lamb_update.sample(lambda draw: draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), lr=0.1, wd=0.1, t=2, gradient=False))


RATES = {"learning_rates": (0.1, 0.2), "wds": (0.0, 0.01), "step_count": (1, 3), "num_tensors": 2}


@multi_lamb_update.sample
def _(draw):
    arrays = [x for shape in ((2, 3), (4,)) for x in (*[draw.real(shape)] * 3, draw.real(shape, low=0, high=1))]
    return draw(*arrays, lower_bound=1.0, gradient=False, **RATES)


@multi_mp_lamb_update.sample
def _(draw):
    shapes = (2, 3), (4,)
    arrays = [x for shape in shapes for x in (*_halves(draw, shape), *_states(draw, shape), draw.integer(shape, -4, 5))]
    return draw(*arrays, gradient=False, **RATES)

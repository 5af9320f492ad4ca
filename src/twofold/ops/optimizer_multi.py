"""Updates of many weights by one operator, the norms that layer-wise rates are made of, and checks for finite gradients.

The arrays of each weight come together: weight, gradient, states; then those of the next weight. A ``preloaded`` operator takes the rates
and decays as two arrays at the end.
"""

import inspect

from ..errors import ParameterError, ShapeError
from ..opdef import Count, Floats, Op, Scalar, op
from .optimizer_sgd import mp_sgd_mom_update, mp_sgd_update, sgd_mom_update, sgd_update


def number_at(xp, values, k, like):
    """Number ``k`` of a tuple, or of an array (n,), in the dtype of the float32 or wider array that it multiplies."""
    if isinstance(values, tuple):
        return values[k]
    # 0-d, so that it is an operand of a fused update and does not broadcast the weight
    return xp.cast_like(xp.reshape(xp.slice(values, key=((k, k + 1, None),)), shape=()), like)


def grouped(name, data, width, count, numbers):
    """The arrays of each of ``count`` weights, ``width`` each; and the numbers, which may be arrays after them (see `Front.numbers`).

    ``numbers`` are tuples by name, with one number for each weight.
    """
    rest = data[width * count :]
    if len(data) not in (width * count, width * count + len(numbers)):
        given = f"{len(data)} arrays for {count} weights"
        raise ShapeError(f"{name}: the number of arrays is wrong", given, f"pass {width} for each weight, and their number")
    found = list(rest) or list(numbers.values())
    for key, values in zip(numbers, found, strict=True):
        have = len(values) if isinstance(values, tuple) else values.shape[0]
        if have != count:
            raise ParameterError(f"{name}: {key} needs one number for each weight", f"{have} for {count}", f"pass {count} numbers")
    return [data[width * k : width * (k + 1)] for k in range(count)], found


def written_states(width, states):
    """Positions of the states, at the places ``states`` of each group of ``width`` arrays; see `Op.mutates`."""

    def positions(**params):
        count = params["num_weights" if "num_weights" in params else "num_tensors"]
        return tuple(width * k + place for k in range(count) for place in states)

    return positions


def results_of(updates, width, places):
    """The result of a rule for several weights: the new weights, and the new states by position, from each weight's (weight, states)."""
    states = {width * k + place: new for k, (_, own) in enumerate(updates) for place, new in zip(places, own, strict=True)}
    return tuple(weight for weight, _ in updates), states


def updated_in_turn(xp, update, groups, width, numbers):
    """The result of a rule for several weights, each with a gradient, a mean, a variance, and perhaps a float32 master weight.

    ``update(weight, grad, mean, var, *numbers)`` gives the new weight and its new states.
    """
    updates = []
    for k, (weight, grad, mean, var, *master) in enumerate(groups):
        # a 16-bit weight would lose updates smaller than its rounding: the float32 master is updated, the weight is a copy of it
        wide = master[0] if master else weight
        new, *states = update(wide, xp.cast_like(grad, wide), mean, var, *(number_at(xp, values, k, wide) for values in numbers))
        updates.append((xp.cast_like(new, weight), [*states, *([new] if master else [])]))
    return results_of(updates, width, range(2, width))


def with_many_weights(update: Op, *, preloaded: bool) -> Op:
    """Declare ``multi_<update>``, which applies an update to several weights, each with its own ``lr`` and ``wd``."""
    width, states = len(update.inputs), update.state_names
    places = tuple(k for k, i in enumerate(update.inputs) if i.name in states)
    name = f"{'preloaded_' if preloaded else ''}multi_{update.name}"

    def rule(xp, *data, num_weights, lrs=(), wds=(), **settings):
        groups, (lrs, wds) = grouped(name, data, width, num_weights, {"lrs": lrs, "wds": wds})
        updates = []
        for k, group in enumerate(groups):
            wide = group[-1]  # a float32 master weight is the last
            found = update(xp, *group, lr=number_at(xp, lrs, k, wide), wd=number_at(xp, wds, k, wide), **settings)
            new, own = found if states else (found, {})
            updates.append((new, [own[state] for state in states]))
        new, moved = results_of(updates, width, places)
        return (new, moved) if states else new

    kind = inspect.Parameter
    momentum = [kind("momentum", kind.KEYWORD_ONLY, default=0.0, annotation=Scalar)] if "momentum" in update.params else []
    rates = [] if preloaded else [kind(n, kind.KEYWORD_ONLY, annotation=Floats) for n in ("lrs", "wds")]
    settings = [
        kind("rescale_grad", kind.KEYWORD_ONLY, default=1.0, annotation=Scalar),
        kind("clip_gradient", kind.KEYWORD_ONLY, default=-1.0, annotation=float),
        kind("num_weights", kind.KEYWORD_ONLY, default=1, annotation=Count),
    ]
    positional = [kind("xp", kind.POSITIONAL_OR_KEYWORD), kind("data", kind.VAR_POSITIONAL)]
    vars(rule)["__signature__"] = inspect.Signature([*positional, *rates, *momentum, *settings])
    rule.__name__ = name
    arrays = ", ".join(i.name for i in update.inputs)
    last = "; after them the arrays ``lrs`` and ``wds``, of one number per weight" if preloaded else ""
    rule.__doc__ = f"`{update.name}` on ``num_weights`` weights: {arrays} of each{last}. Returns the new weights."
    written = written_states(width, places) if states else ()
    numbers = () if preloaded else ("lrs", "wds")
    return op(name, outputs=lambda **params: params["num_weights"], differentiable=False, mutates=written, numbers=numbers)(rule)


UPDATES = (sgd_update, sgd_mom_update, mp_sgd_update, mp_sgd_mom_update)
MULTI = [with_many_weights(update, preloaded=False) for update in UPDATES]
PRELOADED = [with_many_weights(update, preloaded=True) for update in UPDATES]


@op("multi_sum_sq", count_param="num_arrays", differentiable=False)
def multi_sum_sq(xp, *data):
    """The sum of squares of each array, as one float32 array with a number per array."""
    # the square of a 16-bit number beyond 256 overflows float16: it is widened first
    squares = [xp.cast(xp.square(xp.upcast(x)), "float32") for x in data]
    return xp.stack([xp.sum(s, axis=None, keepdims=False) for s in squares])


@op("multi_lars", differentiable=False, alike=True, keeps_shape=True)
def multi_lars(xp, lrs, weights_sum_sq, grads_sum_sq, wds, *, eta: Scalar, eps: Scalar, rescale_grad: Scalar = 1.0):
    """Layer-wise rates from the sums of squares of weights and gradients, each an array (n,) like the rates and decays.

    ``lr · eta · |weight| / (|grad| · rescale_grad + wd · |weight| + eps)``; the plain rate where one of the norms is 0.
    Source: You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017.
    """
    # the sums are of gradients before rescaling, and a norm scales as its vector does
    weight, grad = xp.sqrt(weights_sum_sq), xp.sqrt(grads_sum_sq) * rescale_grad
    # the trust ratio of LARS
    ratio = eta * weight / (grad + wds * weight + eps)
    both = xp.logical_and(xp.greater(weight, 0), xp.greater(grad, 0))
    return lrs * xp.where(both, ratio, xp.ones_like(ratio))


def _finite(xp, arrays):
    every = [xp.all(xp.isfinite(x), axis=None, keepdims=False) for x in arrays]
    both = every[0]
    for found in every[1:]:
        both = xp.logical_and(both, found)
    # float32 of shape (1,) and not a bool: `init_output` multiplies the result with the content of `out`
    return xp.reshape(xp.astype(both, dtype="float32"), shape=(1,))


@op("all_finite", differentiable=False, real=True, starts_anew="init_output")
def all_finite(xp, data, *, init_output: bool = True):
    """A float32 array (1,): 1 if all elements are finite, else 0. Without ``init_output`` it is multiplied with the content of ``out``."""
    return _finite(xp, [data])


@op("multi_all_finite", count_param="num_arrays", differentiable=False, real=True, alike=True, starts_anew="init_output")
def multi_all_finite(xp, *data, init_output: bool = True):
    """A float32 array (1,): 1 if all elements of all arrays are finite, else 0. ``init_output`` as in `all_finite`."""
    return _finite(xp, data)


@op("reset_arrays", outputs=0, differentiable=False, mutates=lambda num_arrays: tuple(range(num_arrays)))
def reset_arrays(xp, *data, num_arrays: Count):
    """Writes zeros to the arrays. It has no result."""
    if len(data) != num_arrays:
        raise ParameterError("reset_arrays: num_arrays is not the number of arrays", f"{num_arrays} for {len(data)}", "pass their number")
    return (), {k: xp.zeros_like(x) for k, x in enumerate(data)}


multi_sum_sq.dtypes(lambda dtypes: ["float32"])
for _op in (all_finite, multi_all_finite):
    _op.dtypes(lambda dtypes, **_: ["float32"])


def _drawn(draw, update, half):
    arrays = [draw.real((2, 3)), draw.real((3,), low=-1, high=1)]
    states = len(update.inputs) - 2
    if half:
        arrays = [draw.integer(x.shape, -4, 5, dtype="float16") for x in arrays]
    wide = [draw.integer(x.shape, -4, 5, dtype="float32") if half else x for x in arrays]
    return [a for x, y in zip(arrays, wide, strict=True) for a in (x, x, *[y] * states)]


def _sample_of(update, preloaded):
    half = update.name.startswith("mp_")

    def sample(draw):
        more = {"momentum": 0.9} if "momentum" in update.params else {}
        rates = [draw.integer((2,), 1, 3), draw.integer((2,), 0, 2)] if preloaded else []
        more |= {} if preloaded else {"lrs": (0.1, 0.2), "wds": (0.0, 0.01)}
        return draw(*_drawn(draw, update, half), *rates, num_weights=2, rescale_grad=0.5, clip_gradient=0.5, gradient=False, **more)

    return sample


for _ops, _preloaded in ((MULTI, False), (PRELOADED, True)):
    for _op, _update in zip(_ops, UPDATES, strict=True):
        _op.sample(_sample_of(_update, _preloaded))

multi_sum_sq.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4,)), gradient=False))
all_finite.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))
multi_all_finite.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4,)), gradient=False))
reset_arrays.sample(lambda draw: draw(draw.real((2, 3)), draw.real((4,)), num_arrays=2, gradient=False))


@multi_lars.sample
def _(draw):
    norms = [draw.real((3,), low=0, high=4)] * 2
    return draw(draw.real((3,), low=0, high=1), *norms, draw.real((3,), low=0, high=0.1), eta=0.1, eps=1e-3, gradient=False)


def norm(xp, x):
    """The Euclidean norm of all elements, 0-d."""
    return xp.sqrt(xp.sum(xp.square(x), axis=None, keepdims=False))

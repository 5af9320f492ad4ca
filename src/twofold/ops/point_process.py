"""The log-likelihood of marked events under independent self-exciting Hawkes processes with exponentially decaying excitation.

Source: Laub, Taimre & Pollett, "Hawkes processes", 2015.
"""

from ..errors import ShapeError
from ..opdef import Index, op


def _check(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    n, k = lda.shape if len(lda.shape) == 2 else (None, None)
    wanted = [(n, k), (k,), (k,), (n, k), (n, *lags.shape[1:2]), (n, *lags.shape[1:2]), (n,), (n,)]
    found = [x.shape for x in (lda, alpha, beta, state, lags, marks, valid_length, max_time)]
    if found != wanted:
        given = ", ".join(map(str, found))
        todo = "pass (n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,), (n,)"
        raise ShapeError("hawkesll: the shapes do not match", given, todo)


def _events(xp, lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """The terms of the likelihood and its gradient, for n sequences of t events with k marks.

    Returns
    -------
    own : (n, t, k)
        1 at the mark of an event that counts.
    ages : (n, t)
        Time from each event to the end.
    times : (n, t)
        Time of each event.
    pairs, gaps : (n, t, t)
        1 where the second event excites the first; the time between them.
    """
    counts = xp.less(xp.iota(size=lags.shape[1], dtype="int64"), xp.expand_dims(xp.cast(valid_length, "int64"), 1))
    times = xp.cumulative_sum(lags, axis=1)
    own = xp.one_hot(marks, lda.shape[1], xp.dtype_of(lda)) * xp.expand_dims(xp.cast_like(counts, lda), 2)
    order = xp.iota(size=lags.shape[1], dtype="int64")
    earlier = xp.less(xp.expand_dims(order, 0), xp.expand_dims(order, 1))
    # the product is 1 where two events have the same mark, as only those excite each other
    pairs = xp.matmul(own, xp.matrix_transpose(own)) * xp.cast_like(earlier, lda)
    # the gaps to later events are not used, and must not overflow in the exponential
    gaps = xp.maximum(xp.expand_dims(times, 2) - xp.expand_dims(times, 1), 0)
    return own, xp.expand_dims(max_time, 1) - times, times, pairs, gaps


def _at_marks(xp, own, values):
    """``values`` (k,) or (n, k) at the mark of each event: (n, t)."""
    return xp.sum(own * xp.expand_dims(values, len(values.shape) - 1), axis=2)


@op("_contrib_hawkesll", outputs=2, output_names=("output", "out_state"))
def hawkesll(xp, lda, alpha, beta, state, lags, marks: Index, valid_length, max_time):
    """Log-likelihoods (n,) of n sequences of events in [0, ``max_time``], and the excitations (n, k) at the end.

    The intensity of mark k is ``lda + alpha · beta · Σ exp(-beta · (t - t_j))`` over its earlier events.
    """
    _check(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    own, ages, times, pairs, gaps = _events(xp, lda, alpha, beta, state, lags, marks, valid_length, max_time)
    rate, strength = _at_marks(xp, own, beta), _at_marks(xp, own, alpha)
    excited = xp.sum(pairs * xp.exp(-xp.expand_dims(rate, 2) * gaps), axis=2) + _at_marks(xp, own, state) * xp.exp(-rate * times)
    counts = xp.sum(own, axis=2)
    # events that do not count have the intensity 1, whose logarithm adds nothing
    intensity = xp.where(xp.greater(counts, 0), _at_marks(xp, own, lda) + strength * rate * excited, 1)
    remains, initial = own * xp.exp(-beta * xp.expand_dims(ages, 2)), xp.exp(-beta * xp.expand_dims(max_time, 1))
    left = xp.sum(remains, axis=1) + state * initial
    # the integral of the excitation: the initial excitation plus that of the events, less the rest at the end
    spent = xp.sum(own, axis=1) + state - left
    # the log-likelihood of a point process is Σ ln λ(tᵢ) - ∫ λ(t) dt; this is the integral
    compensator = lda * xp.expand_dims(max_time, 1) + alpha * spent
    return xp.sum(xp.log(intensity), axis=1) - xp.sum(compensator, axis=1), left


def _gradient(xp, head, lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """The gradients of the log-likelihoods in ``lda``, ``alpha`` and ``beta``."""
    own, ages, times, pairs, gaps = _events(xp, lda, alpha, beta, state, lags, marks, valid_length, max_time)
    rate, strength = _at_marks(xp, own, beta), _at_marks(xp, own, alpha)
    fading, old = pairs * xp.exp(-xp.expand_dims(rate, 2) * gaps), _at_marks(xp, own, state) * xp.exp(-rate * times)
    # λ = lda + α β · excited at each event, and slope = ∂excited/∂β
    excited, slope = xp.sum(fading, axis=2) + old, -xp.sum(fading * gaps, axis=2) - old * times
    intensity = xp.where(xp.greater(xp.sum(own, axis=2), 0), _at_marks(xp, own, lda) + strength * rate * excited, 1)
    end = xp.expand_dims(max_time, 1)
    remains, initial = own * xp.exp(-beta * xp.expand_dims(ages, 2)), state * xp.exp(-beta * end)

    def total(per_event):
        return xp.sum(own * xp.expand_dims(per_event / intensity, 2), axis=1)

    spent = xp.sum(own, axis=1) + state - xp.sum(remains, axis=1) - initial
    # the derivative of the integral with respect to β, over α: faster decay leaves less excitation at the end
    delayed = xp.sum(remains * xp.expand_dims(ages, 2), axis=1) + initial * end
    scale = xp.expand_dims(head, 1)
    dlda = (total(xp.ones_like(rate)) - end) * scale
    dalpha = xp.sum((total(rate * excited) - spent) * scale, axis=0)
    dbeta = xp.sum((total(strength * (excited + rate * slope)) - alpha * delayed) * scale, axis=0)
    return dlda, dalpha, dbeta


@hawkesll.grad
def _(xp, dout, lda, alpha, beta, state, lags, marks, valid_length, max_time):
    # as in MXNet, only the parameters have gradients, and only those of the likelihoods
    if dout[0] is None:
        return (None,) * 8
    return *_gradient(xp, dout[0], lda, alpha, beta, state, lags, marks, valid_length, max_time), *[None] * 5


@op("_contrib_backward_hawkesll", outputs=3)
def backward_hawkesll(xp, dout, lda, alpha, beta, state, lags, marks: Index, valid_length, max_time):
    """The gradients in ``lda``, ``alpha`` and ``beta`` of the log-likelihoods of `hawkesll`, for head gradients ``dout`` (n,)."""
    _check(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    return _gradient(xp, dout, lda, alpha, beta, state, lags, marks, valid_length, max_time)


@hawkesll.infer
def _(shapes):
    lda, alpha, beta, state, lags, marks, lengths, end = shapes
    n, k = lda or state or (None, None)
    events = lags or marks or (n, None)
    return [lda or (n, k), alpha or (k,), beta or (k,), state or (n, k), lags or events, marks or events, lengths or (n,), end or (n,)]


def _drawn(draw):
    rates = [draw.real((2, 3), low=0.5, high=1.5), draw.real((3,), low=0.1, high=0.6), draw.real((3,), low=0.5, high=2)]
    events = [draw.integer((2, 4), 1, 3, None), draw.integer((2, 4), 0, 3, "int32"), draw.integer((2,), 2, 5, None)]
    return [*rates, draw.integer((2, 3), 0, 3, None), *events, draw.integer((2,), 8, 10, None)]


# the gradients agree with differences of the likelihood alone, see tests/ops/test_contrib.py
hawkesll.sample(lambda draw: draw(*_drawn(draw), gradient=False))
backward_hawkesll.sample(lambda draw: draw(draw.real((2,)), *_drawn(draw), gradient=False))

"""CTCLoss: connectionist temporal classification by the forward-backward algorithm over extended labels, in log space.

Source: Graves, Fernández, Gomez & Schmidhuber, "Connectionist temporal classification", ICML 2006, sections 4.1 and 4.2.
"""

from typing import Annotated, Literal, NamedTuple

from ..dtype import FLOATS
from ..errors import ShapeError
from ..opdef import Input, Operand, first_known, op, size_at, with_size
from .softmax import log_softmax_of

#: Stands for log 0: finite, so that a difference of two of them is not NaN.
LOW = -1e30
#: The most steps: each is some nodes of the graph.
MOST_STEPS = 1 << 15
DataLengths = Annotated[Operand | None, Input(present=("use_data_lengths", True), own_dtype=True)]
LabelLengths = Annotated[Operand | None, Input(present=("use_label_lengths", True), own_dtype=True)]


class Problem(NamedTuple):
    """The arrays of both recursions; s = 2 · (longest label) + 1 positions, with blanks at even positions."""

    emissions: Operand  # (t, n, s) log probabilities of each position's symbol
    symbols: Operand  # (n, s) the positions' symbols
    skip: Operand  # (n, s) 0 where a path may skip the position before, else LOW
    ends: Operand  # (n, s) 0 at positions where a path may end, else LOW
    last: Operand  # (n, 1) the last time step of each sequence
    log_probabilities: Operand  # (t, n, c)


def _label_lengths(xp, label, padding):
    """The number of symbols before the first padding."""
    place = xp.iota(size=label.shape[1], dtype="int64")
    stop = xp.where(xp.equal(label, padding), place, label.shape[1])
    return xp.min(stop, axis=1)


def _interleaved(xp, label, blank):
    """Labels (n, l) with blanks before, between and after the symbols: (n, 2 · l + 1)."""
    n, count = label.shape
    blanks = xp.full(shape=(n, count), value=blank, dtype="int64")
    pairs = xp.reshape(xp.stack([blanks, label], 2), shape=(n, 2 * count))
    return xp.concat(pairs, xp.full(shape=(n, 1), value=blank, dtype="int64"), axis=1)


def _penalty(xp, allowed):
    """A float32 mask in log space: 0 where allowed, `LOW` elsewhere."""
    return xp.where(allowed, xp.zeros(allowed.shape), LOW)


def _rounded(xp, x):
    """Labels or lengths, which may be floats, as MXNet rounds them."""
    return xp.cast(xp.floor(x + 0.5) if xp.dtype_of(x) in FLOATS else x, "int64")


def _problem(xp, data, label, data_lengths, label_lengths, blank_label):
    steps, n, classes = data.shape
    # with the blank first, MXNet pads labels with 0, which no symbol can be; with it last, 0 is a symbol and the padding is -1
    blank, padding = (0, 0) if blank_label == "first" else (classes - 1, -1)
    label = _rounded(xp, label)
    lengths = _label_lengths(xp, label, padding) if label_lengths is None else _rounded(xp, label_lengths)
    # the padding may be -1, which is not an index; `ends` excludes positions after a label's end
    symbols = _interleaved(xp, xp.clip(label, 0, classes - 1), blank)
    # the symbols two positions before
    before = xp.slice(xp.pad(symbols, width=((0, 0), (2, 0)), value=blank), key=((None, None, None), (0, symbols.shape[1], None)))
    # a path may skip a blank unless it separates two equal symbols, which would then be read as one
    skip = _penalty(xp, xp.logical_and(xp.not_equal(symbols, blank), xp.not_equal(symbols, before)))
    # a label of l symbols ends in its last symbol, at position 2 · l - 1, or in the blank after it
    place, stop = xp.iota(size=symbols.shape[1], dtype="int64"), 2 * xp.reshape(lengths, shape=(n, 1))
    ends = _penalty(xp, xp.logical_or(xp.equal(place, stop), xp.equal(place, stop - 1)))
    last = (
        xp.full(shape=(n, 1), value=steps, dtype="int64") if data_lengths is None else xp.reshape(_rounded(xp, data_lengths), shape=(n, 1))
    )
    # log probabilities of many steps are added up: 16 bits would not hold them
    wide = xp.cast(data, "float64" if xp.dtype_of(data) == "float64" else "float32")
    log_probabilities = log_softmax_of(xp, wide, 2)
    emissions = xp.take_along_axis(log_probabilities, xp.reshape(symbols, shape=(1, *symbols.shape)), axis=2)
    return Problem(emissions, symbols, skip, ends, last - 1, log_probabilities)


def _log_sum(xp, a, b, c):
    # the largest exponential is exp(0) = 1: no overflow, and no log of 0
    top = xp.maximum(xp.maximum(a, b), c)
    return top + xp.log(xp.exp(a - top) + xp.exp(b - top) + xp.exp(c - top))


def _shifted(xp, x, by):
    """(n, s) shifted right by a number of positions (left if negative), filled with `LOW`."""
    width = ((0, 0), (max(by, 0), max(-by, 0)))
    start = max(-by, 0)
    return xp.slice(xp.pad(x, width=width, value=LOW), key=((None, None, None), (start, start + x.shape[1], None)))


def _emission(xp, problem, t):
    return xp.reshape(xp.take_slice(problem.emissions, t, t + 1, 0), shape=problem.symbols.shape)


def _forward(xp, problem):
    """For each step the log probability of all paths to each position; sequences that have ended keep their values."""
    first = xp.iota(size=problem.symbols.shape[1], dtype="int64")
    # a path begins with the blank or with the first symbol
    at = xp.where(xp.less(first, 2), _emission(xp, problem, 0), LOW)
    alphas = [at]
    for t in range(1, problem.emissions.shape[0]):
        two = _shifted(xp, at, 2) + problem.skip
        # a path stays, moves on by one, or skips the blank between two different symbols
        moved = _log_sum(xp, at, _shifted(xp, at, 1), two) + _emission(xp, problem, t)
        at = xp.where(xp.less_equal(t, problem.last), moved, at)
        alphas.append(at)
    return alphas


def _backward(xp, problem):
    """For each step the log probability of all paths from each position to an end."""
    steps = problem.emissions.shape[0]
    at = problem.ends
    betas = [at]
    for t in range(steps - 2, -1, -1):
        ahead = at + _emission(xp, problem, t + 1)
        moved = _log_sum(xp, ahead, _shifted(xp, ahead, -1), _shifted(xp, ahead + problem.skip, -2))
        # from a sequence's last step on, only whether a path may end here counts
        at = xp.where(xp.less(t, problem.last), moved, problem.ends)
        betas.append(at)
    return betas[::-1]


def _log_likelihood(xp, problem, alphas):
    """The log probability of each label, (n, 1); about `LOW` if no path spells it."""
    final = alphas[-1] + problem.ends
    top = xp.max(final, axis=1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(final - top), axis=1, keepdims=True))


def _check(data, label, lengths):
    if len(data.shape) != 3 or len(label.shape) != 2 or label.shape[0] != data.shape[1]:
        raise ShapeError("CTCLoss: label and data do not match", f"label {label.shape}, data {data.shape}", "pass (n, l) and (t, n, c)")
    if label.shape[1] > data.shape[0]:
        raise ShapeError(
            "CTCLoss: labels are longer than the data", f"label {label.shape}, data {data.shape}", "pass at least as many steps as labels"
        )
    if data.shape[0] > MOST_STEPS:
        raise ShapeError("CTCLoss: the data have too many steps", f"{data.shape[0]} of at most {MOST_STEPS}", "cut long sequences")
    if any(a is not None and a.shape != label.shape[:1] for a in lengths):
        raise ShapeError(
            "CTCLoss: needs one length for each sequence", str([a.shape for a in lengths if a is not None]), "pass arrays (n,)"
        )


def _used(data_lengths, label_lengths, use_data_lengths, use_label_lengths):
    if use_label_lengths and not use_data_lengths and label_lengths is None:
        return None, data_lengths  # the only lengths, given by position
    return data_lengths if use_data_lengths else None, label_lengths if use_label_lengths else None


@op("CTCLoss", "ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss", npx_name="ctc_loss", output_names=("output0",), workspaces=1)
def ctc_loss(
    xp,
    data,
    label,
    data_lengths: DataLengths = None,
    label_lengths: LabelLengths = None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
):
    """-log of the probability of each label (n,), over all ways to spell it in t steps with blanks; data (t, n, c) are logits.

    Labels (n, l) are padded with 0 where the blank is the first symbol, with -1 where it is the last, or ``label_lengths`` (n,) are given.
    ``data_lengths`` (n,) gives the steps that count. The loss and the gradient of a label that no path spells are 0.
    """
    lengths = _used(data_lengths, label_lengths, use_data_lengths, use_label_lengths)
    _check(data, label, lengths)
    problem = _problem(xp, data, label, *lengths, blank_label)
    likelihood = _log_likelihood(xp, problem, _forward(xp, problem))
    # sums of LOW are not exactly LOW: half of it separates impossible labels from improbable ones; NaN is neither, and stays
    loss = xp.where(xp.less_equal(likelihood, LOW / 2), 0, -likelihood)
    return xp.cast_like(xp.reshape(loss, shape=label.shape[:1]), data)


@ctc_loss.infer
def _(shapes, results, *, use_data_lengths, use_label_lengths, **_):
    data, label = shapes[:2]
    batch = first_known(size_at(data, 1), size_at(label, 0))
    lengths = (batch,)
    given = [lengths if used else None for used in (use_data_lengths, use_label_lengths)]
    return [with_size(data, 1, batch), with_size(label, 0, batch), *given], [lengths]


@ctc_loss.grad
def _(xp, dout, data, label, data_lengths, label_lengths, *, use_data_lengths, use_label_lengths, blank_label):
    lengths = _used(data_lengths, label_lengths, use_data_lengths, use_label_lengths)
    problem = _problem(xp, data, label, *lengths, blank_label)
    alphas, betas = _forward(xp, problem), _backward(xp, problem)
    likelihood = _log_likelihood(xp, problem, alphas)
    # (n, t, s): the posterior of each position at each step; a class gets the sum over its positions, as a matrix product
    there = xp.exp(xp.stack(alphas, 1) + xp.stack(betas, 1) - xp.expand_dims(likelihood, 1))
    hot = xp.one_hot(problem.symbols, data.shape[2], dtype=xp.dtype_of(there))
    posterior = xp.moveaxis(xp.matmul(there, hot), 0, 1)
    # steps after a sequence's end, and labels that no path spells, get no gradient
    over = xp.less_equal(xp.reshape(xp.iota(size=data.shape[0], dtype="int64"), shape=(-1, 1)), xp.reshape(problem.last, shape=(1, -1)))
    counts = xp.logical_and(over, xp.reshape(xp.greater(likelihood, LOW / 2), shape=(1, -1)))
    grad = (xp.exp(problem.log_probabilities) - posterior) * xp.expand_dims(counts, 2)
    return grad * xp.reshape(dout, shape=(1, -1, 1)), None, None, None


ctc_loss.sample(lambda draw: draw(draw.real((4, 2, 4)), draw.integer((2, 2), 1, 4), None, None))

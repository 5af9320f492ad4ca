"""Dropout: in training, elements are zeroed at random and the others scaled to keep the expectation."""

from typing import Literal

from ..errors import ParameterError
from ..opdef import Shape, Training, normalized_axes, op
from .random_floats import bernoulli


@op("Dropout", "_npx_dropout", keeps_shape=True, output_names=("output", "mask"), workspaces=1)
def dropout(
    xp,
    data,
    rng=None,
    *,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Shape = (),
    cudnn_off: bool | None = False,
    is_train: Training = False,
):
    """Zeros with probability ``p``, else ``data / (1 - p)``; the data itself outside training, unless ``mode`` is "always".

    Elements along ``axes`` share one decision. ``cudnn_off`` has no effect.
    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 15, 2014.
    """
    if not 0 <= p <= 1:
        raise ParameterError("Dropout: p must be a probability", p, "pass 0 <= p <= 1")
    if not _zeros_some(p, mode, is_train):
        return data
    # there is no scale 1 / (1 - p) then
    if p == 1:
        return xp.zeros_like(data)
    # the scale is a number of the structure: one multiplication by it, and one by the mask
    return data * bernoulli(xp, rng, _decisions(data, axes), 1 - p) * (1 / (1 - p))


def _zeros_some(p, mode, is_train):
    return p != 0 and (mode == "always" or is_train)


@dropout.draws
def _(*, p, mode, is_train, **_):
    return p != 1 and _zeros_some(p, mode, is_train)


def _decisions(data, axes):
    """The shape of the random decisions."""
    shared = normalized_axes(axes, len(data.shape))
    return tuple(1 if k in shared else n for k, n in enumerate(data.shape))


@dropout.shown
def _(xp, data, rng=None, *, axes, **params):
    # what the elements are multiplied by is what becomes of ones
    return dropout.rule(xp, xp.full(shape=_decisions(data, axes), value=1, dtype=data.dtype), rng, axes=(), **params)


dropout.sample(lambda draw: [draw(draw.real((3, 4)), p=0.3), draw(draw.real((3, 4)), p=0.5, mode="always", axes=(0,), gradient=False)])

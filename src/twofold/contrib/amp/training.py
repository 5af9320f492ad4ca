"""Training with a scaled loss: `init_trainer`, `scale_loss`, `unscale`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import DTypeError, MXNetError, NotReady, OperatorError
from ...gluon.trainer import Trainer
from ...optimizer import Optimizer
from . import start
from .loss_scaler import LossScaler


def _checked(trainer: object) -> Trainer:
    if isinstance(trainer, Optimizer):
        raise DTypeError("AMP is currently only compatible with Gluon Trainer", type(trainer).__name__, "pass the Trainer")
    if not isinstance(trainer, Trainer):
        raise DTypeError("optimizer_or_trainer should be a Gluon Trainer or an optimizer", repr(type(trainer)), "pass the Trainer")
    return trainer


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Let a trainer skip steps whose scaled gradients are not finite, and adapt the loss scale. Call `init` before.

    Trainers prepared in a process share one scale, as in MXNet.

    Parameters
    ----------
    optimizer_or_trainer
        The Gluon Trainer.

    Raises
    ------
    NotReady
        If `init` has not been called.
    DTypeError
        If it is not a Trainer.
    """
    if not start.is_initialized():
        raise NotReady("AMP not initialized, did you forget to call amp.init()?", None, "call it before the network is made")
    trainer = _checked(optimizer_or_trainer)
    if start.STATE.scaler is None:
        start.STATE.scaler = LossScaler()
    trainer._amp_loss_scaler = start.STATE.scaler
    # Kept, because `scale_loss` divides the trainer's scale by a factor that changes from step to step.
    trainer._amp_original_scale = trainer._scale


@contextmanager
def scale_loss(loss: object, optimizer_or_trainer: Trainer) -> Iterator[Any]:
    """A context in which the loss, or every loss of a list, is multiplied by the trainer's loss scale.

    The trainer divides the gradients by the same factor in its next step.

    Parameters
    ----------
    loss
        The loss (any shape), or a list of losses.
    optimizer_or_trainer
        A trainer prepared by `init_trainer`.

    Raises
    ------
    OperatorError
        If the trainer was not prepared (an AttributeError).
    MXNetError
        If the scale has become 0, since the gradients of so many steps were not finite.

    Examples
    --------
    ::

        with autograd.record():
            loss = loss_function(net(data), label)
            with amp.scale_loss(loss, trainer) as scaled:
                autograd.backward(scaled)
        trainer.step(batch_size)
    """
    scaler = getattr(optimizer_or_trainer, "_amp_loss_scaler", None)
    if scaler is None:
        kind = type(optimizer_or_trainer).__name__
        raise OperatorError(f"'{kind}' object has no attribute '_amp_loss_scaler'", None, "prepare the Trainer with amp.init_trainer")
    if not scaler.loss_scale:
        what = "amp.scale_loss: the loss scale has halved until it is 0, so no scale makes the gradients finite"
        raise MXNetError(what, None, "look for NaN and infinity in the data, the loss and the parameters")
    # from the original scale, not from the current one: a scope that was entered before must not divide a second time
    optimizer_or_trainer._scale = optimizer_or_trainer._amp_original_scale / scaler.loss_scale
    if isinstance(loss, (list, tuple)):
        yield [part * scaler.loss_scale for part in loss]
    else:
        yield loss * scaler.loss_scale


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divide the gradients by the loss scale now, so that they can be clipped or looked at before the step.

    Parameters
    ----------
    optimizer_or_trainer
        The trainer, after backward on a loss of `scale_loss`.

    Raises
    ------
    DTypeError
        If it is not a Trainer.
    """
    trainer = _checked(optimizer_or_trainer)
    factor = trainer._scale / trainer._amp_original_scale
    grads: Sequence[Any] = [g for p in trainer._params if p.grad_req != "null" for g in p.list_grad()]
    for grad in grads if factor != 1.0 else ():
        grad[:] = grad * factor
    trainer._scale = trainer._amp_original_scale

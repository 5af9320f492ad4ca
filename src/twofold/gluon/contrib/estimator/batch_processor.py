"""What an estimator does with a batch."""

from collections.abc import Sequence
from typing import Any

from .... import autograd
from ....device import Device
from ...batching import split_and_load
from .events import Parts

#: Data, labels, outputs and losses of a batch, each a list with an array per device.
Processed = tuple[Parts, Parts, Parts, Parts]


class BatchProcessor:
    """Runs networks on batches of data and labels. Subclasses do something else with batches of another form."""

    def _get_data_and_label(self, batch: Sequence[Any], ctx: Sequence[Device], batch_axis: int = 0) -> tuple[Parts, Parts]:
        """The data and labels of a batch, divided over devices."""
        data, label = (split_and_load(batch[k], ctx_list=ctx, batch_axis=batch_axis) for k in (0, 1))
        return data, label

    def evaluate_batch(self, estimator: Any, val_batch: Sequence[Any], batch_axis: int = 0) -> Processed:
        """Run the validation network on a batch.

        Parameters
        ----------
        estimator
            The estimator.
        val_batch
            Data and labels.
        batch_axis
            The axis of samples, along which the batch is divided over the devices.

        Returns
        -------
        tuple
            Data, labels, outputs and losses, each a list with an array per device.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator: Any, train_batch: Sequence[Any], batch_axis: int = 0) -> Processed:
        """Run the network on a batch and compute gradients; `GradientUpdateHandler` updates the parameters. See `evaluate_batch`."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        # outside `record`: the backward passes need no tape of their own
        for each in loss:
            each.backward()
        return data, label, pred, loss

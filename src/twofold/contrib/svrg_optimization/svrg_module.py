"""`SVRGModule`: a module trained with stochastic variance-reduced gradients."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ...device import CPU
from ...errors import DTypeError, NotReady, ParameterError
from ...io.iterator import BatchSource, Shapes
from ...metric.base import EvalMetric
from ...module.data_shapes import Batch
from ...module.interface import Binding, Callbacks, Logger, RowIds
from ...module.module import Contexts, Module
from ...module.placement import Groups
from ...monitor import Monitor
from ...ndarray.array import NDArray
from ...symbol.symbol import Symbol

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A module whose gradients are corrected by those of all data at a snapshot of the weights, which reduces their variance.

    Every ``update_freq`` epochs, `fit` takes a snapshot w' of the weights and computes the gradient g(w') of all data. Each step then uses
    g_b(w) - g_b(w') + g(w') instead of the gradient g_b(w) of its batch b.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        See `Module`.
    update_freq
        Number of epochs between snapshots.

    Raises
    ------
    DTypeError
        If ``update_freq`` is not an integer.
    ParameterError
        If it is not positive.

    Notes
    -----
    Johnson and Zhang, Accelerating stochastic gradient descent using predictive variance reduction, NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import twofold as mx
    >>> from twofold.contrib.svrg_optimization.svrg_module import SVRGModule
    >>> x = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    >>> data = mx.io.NDArrayIter(x, x @ [3.0, -2.0], batch_size=4, label_name="line_label")
    >>> line = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="line")
    >>> model = SVRGModule(mx.sym.LinearRegressionOutput(line, name="line"), label_names=["line_label"], update_freq=2)
    >>> model.fit(data, eval_metric="mse", optimizer_params={"learning_rate": 0.5}, num_epoch=10)
    >>> model.get_params()[0]["line_weight"].asnumpy().round(1).tolist()
    [[3.0, -2.0]]
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Contexts = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups | None = None,
        compression_params: Mapping[str, object] | None = None,
        update_freq: int | None = None,
    ) -> None:
        shared = (logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params)
        super().__init__(symbol, data_names, label_names, *shared)
        if not isinstance(update_freq, int):
            what = "update_freq in SVRGModule must be an integer to represent the frequency for calculating full gradients"
            raise DTypeError(what, repr(update_freq), "pass a number of epochs")
        if update_freq <= 0:
            what = "update_freq in SVRGModule must be a positive integer to represent the frequency for calculating full gradients"
            raise ParameterError(what, repr(update_freq), "pass 1 or more")
        self.update_freq = update_freq
        #: Computes gradients at the snapshot of the weights.
        self._mod_aux = Module(symbol, data_names, label_names, *shared)
        #: The gradient of all data at the snapshot, by parameter, on each device.
        self._param_dict: list[dict[str, NDArray]] | None = None

    def _after_bind(self, request: Binding) -> None:
        super()._after_bind(request)
        if request.for_training:
            # the snapshot has separate weights: it shares those of no module
            self._mod_aux.bind(*request._replace(shared_module=None))

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Switch to batches of other shapes; see `Module.reshape`."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch and, in training mode, those at the snapshot too; see `Module.forward`."""
        super().forward(data_batch, is_train)
        if self._is_corrected() and (self.for_training if is_train is None else is_train):
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the batch at the current weights and at the snapshot; see `Module.backward`."""
        super().backward(out_grads)
        if self._is_corrected():
            self._mod_aux.backward(out_grads)

    def _is_corrected(self) -> bool:
        """Whether there is a snapshot."""
        return self._mod_aux.params_initialized

    def update(self) -> None:
        """Update the parameters with the corrected gradients of the last `backward`.

        Raises
        ------
        NotReady
            If `update_full_grads` was not called before.
        """
        self._updates_for("update")
        if self._param_dict is None:
            raise NotReady("SVRGModule.update: there are no gradients of all data yet", None, "call update_full_grads() first")
        self._update_svrg_gradients()
        super().update()

    def _update_svrg_gradients(self) -> None:
        """Correct the gradients of the last `backward`."""
        assert self._param_dict is not None
        for name, here, there in self._gradients():
            for device, (gradient, snapshot) in enumerate(zip(here, there, strict=True)):
                # In place: the update of `Module` reads the executors' gradient arrays.
                gradient[:] = self._svrg_grads_update_rule(gradient, snapshot, self._param_dict[device][name])

    def _svrg_grads_update_rule(
        self, g_curr_batch_curr_weight: NDArray, g_curr_batch_special_weight: NDArray, g_special_weight_all_batch: NDArray
    ) -> NDArray:
        """The corrected gradient, from those of the batch at the current weights and at the snapshot, and that of all data there."""
        return g_curr_batch_curr_weight - g_curr_batch_special_weight + g_special_weight_all_batch

    def _gradients(self) -> list[tuple[str, list[NDArray], list[NDArray]]]:
        """For each trained parameter, its gradients on the devices: at the current weights, and at the snapshot."""
        here, there = self._exec_group, self._mod_aux._exec_group
        rows = zip(here.param_names, here.grad_arrays, there.grad_arrays, strict=True)
        return [row for row in rows if row[1][0] is not None]

    def update_full_grads(self, train_data: BatchSource) -> None:
        """Take a snapshot of the weights, and compute the gradient of all data there, averaged over the batches.

        Parameters
        ----------
        train_data
            An iterator over the batches, which is reset before. Padding rows count as much as they fill of a batch.
        """
        self._require_training("update_full_grads")
        self._require("update_full_grads", params=True)
        self._mod_aux.set_params(*self.get_params())
        totals = [{name: grads[k].zeros_like() for name, _, grads in self._gradients()} for k in range(len(self._context))]
        train_data.reset()
        batches, missing = 0, 0.0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1
            # The share of the last batch that is padding: the sum of the gradients is divided by the number of whole batches.
            missing = (batch.pad or 0) / self._exec_group.batch_size
            for name, _, grads in self._gradients():
                for device, gradient in enumerate(grads):
                    totals[device][name] += gradient
        if not batches:
            raise ParameterError("SVRGModule.update_full_grads: the iterator has no batches", None, "pass training data")
        for total in totals:
            for gradient in total.values():
                gradient /= batches - missing
        self._param_dict = totals

    def prepare(self, data_batch: Batch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare for the next batch; see `Module.prepare`."""
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    def _train_epoch(
        self,
        epoch: int,
        train_data: BatchSource,
        eval_metric: EvalMetric,
        monitor: Monitor | None,
        batch_end_callback: Callbacks,
        sparse_row_id_fn: RowIds | None,
        fit: dict[str, Any],
    ) -> list[tuple[str, float]]:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()
        return super()._train_epoch(epoch, train_data, eval_metric, monitor, batch_end_callback, sparse_row_id_fn, fit)

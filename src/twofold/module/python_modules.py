"""`PythonModule`, `PythonLossModule`: modules written in Python, without parameters."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..errors import InvalidValue, NotReady, ParameterError, WrongType
from ..io.iterator import DataDesc, describe
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import array
from .base_module import BaseModule
from .data_shapes import Arrays, Batch, Labels, NamedShapes, as_batch, check_data
from .interface import Binding, Filling, Logger, Optimization


class PythonModule(BaseModule):
    """A module without parameters.

    Subclasses define `forward`, `backward`, `get_outputs`, `get_input_grads` and ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names
        Names of data, labels (None for none) and outputs.
    logger
        The logger for progress.
    """

    def __init__(
        self, data_names: Sequence[str], label_names: Sequence[str] | None, output_names: Sequence[str], logger: Logger = logging
    ) -> None:
        super().__init__(logger)
        self._data_names, self._output_names = list(data_names), list(output_names)
        self._label_names = list(label_names or ())
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._output_shapes: NamedShapes = []

    def _bind(self, request: Binding) -> None:
        """Set the shapes of data and labels. There are no parameters to share."""
        if request.grad_req != "write":
            raise InvalidValue("Python module only support write gradient", repr(request.grad_req), "pass grad_req='write'")
        data, label = describe(request.data_shapes), describe(request.label_shapes)
        check_data(data, self._data_names)
        if label and [x.name for x in label] != self._label_names:
            raise ParameterError(
                "PythonModule.bind: labels do not match label_names",
                ", ".join(x.name for x in label),
                f"pass {', '.join(self._label_names)}",
            )
        self._data_shapes, self._label_shapes = data, label or None
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) pairs of the outputs, from ``_data_shapes``; defined by subclasses."""
        raise self._undefined("_compute_output_shapes")

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Two empty dicts: there are no parameters."""
        return {}, {}

    def _init_params(self, request: Filling) -> None:
        """Does nothing: there are no parameters. Given arrays belong to other modules."""

    def _init_optimizer(self, request: Optimization) -> None:
        """Does nothing: there are no parameters."""

    def update(self) -> None:
        """Does nothing: there are no parameters."""

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the labels of a batch and the outputs, if the module has labels.

        Parameters
        ----------
        eval_metric
            The metric.
        labels
            A list of labels.
        pre_sliced
            Must be False: the module runs on one device.
        """
        if pre_sliced:
            raise ParameterError("PythonModule.update_metric: it runs on one device", "pre_sliced=True", "pass the whole batch's labels")
        if self._label_names:
            eval_metric.update(cast("list[NDArray]", labels), self._merged_outputs())

    def install_monitor(self, mon: Monitor) -> None:
        """Does nothing: there is no executor to watch."""


class PythonLossModule(PythonModule):
    """A loss written in Python: its output is the scores, and it computes their gradient from scores and labels.

    Parameters
    ----------
    name
        The output is named ``<name>_output``.
    data_names, label_names
        One name each.
    logger
        The logger for progress.
    grad_func
        Function from scores and labels to the gradient of the loss with respect to the scores. Without it, a subclass defines
        ``_backward_impl``, which sets ``_scores_grad``.

    Raises
    ------
    ParameterError
        If there is more than one data or label name.
    DTypeError
        If ``grad_func`` is not a function.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Logger = logging,
        grad_func: Callable[[NDArray, NDArray], object] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        self._name = name
        if len(data_names) != 1 or len(label_names) != 1:
            raise InvalidValue("PythonLossModule: takes one array and one label", f"{data_names}, {label_names}", "name one of each")
        if grad_func is not None and not callable(grad_func):
            raise WrongType("PythonLossModule: grad_func is not a function", type(grad_func).__name__, "pass a function")
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """The output has the shape of the data."""
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Store the scores and, in training, the labels of a batch.

        Parameters
        ----------
        data_batch
            The batch.
        is_train
            Whether labels are needed; by default, whether the module is bound for training.
        """
        batch = as_batch(data_batch)
        self._scores = batch.data[0]
        if (self.for_training if is_train is None else is_train) and batch.label:
            self._labels = batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """The scores, from the only device."""
        return [self._scores] if merge_multi_context else [[self._scores]]

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradient with respect to the scores.

        Parameters
        ----------
        out_grads
            Must be None: a loss has no head gradients.

        Raises
        ------
        ParameterError
            If ``out_grads`` is not None.
        MXNetError
            If the module is not bound for training.
        """
        if out_grads is not None:
            raise InvalidValue("For a loss module, out_grads should be None", type(out_grads).__name__, "leave it out")
        self._require("backward")
        if not self.for_training:
            raise NotReady("PythonLossModule.backward: the module is not bound for training", None, "re-bind with for_training=True")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Write ``_scores_grad``."""
        if self._grad_func is None:
            raise self._undefined("_backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad, ctx=self._scores.context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """The gradient with respect to the scores, from the only device."""
        return [self._scores_grad] if merge_multi_context else [[self._scores_grad]]

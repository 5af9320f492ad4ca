"""`SequentialModule`: a chain of modules."""

import logging
from collections.abc import Sequence
from typing import cast

from ..errors import InvalidValue, NotReady, ParameterError
from ..io.iterator import DataBatch, DataDesc, Shapes, describe
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from .base_module import BaseModule
from .data_shapes import Arrays, Batch, Labels, NamedShapes, as_batch
from .interface import Binding, Filling, Logger, Optimization


class SequentialModule(BaseModule):
    """A chain of modules. The outputs of one module are the data of the next.

    Parameters
    ----------
    logger
        The logger for progress.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, bool]] = []
        # what `add` accepts, to which subclasses add
        self._meta_keys = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}
        self._label_shapes: Shapes | None = None

    def add(self, module: BaseModule, **kwargs: bool) -> "SequentialModule":
        """Append a module. The chain must then be bound again.

        Parameters
        ----------
        module
            The module.
        **kwargs
            ``take_labels=True`` to pass it the labels; ``auto_wiring=True`` to match the previous outputs to its data by position
            instead of by name.

        Returns
        -------
        SequentialModule
            The chain itself.

        Raises
        ------
        ParameterError
            For an unknown keyword.
        """
        for key in kwargs:
            if key not in self._meta_keys:
                raise InvalidValue(f'Unknown meta "{key}", a typo?', None, f"use {' or '.join(sorted(self._meta_keys))}")
        self._modules.append(module)
        self._metas.append(kwargs)
        # a longer chain has other shapes, parameters and names
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self) -> list[BaseModule]:
        return [m for m, meta in zip(self._modules, self._metas, strict=True) if meta.get(self.META_TAKE_LABELS)]

    # names and shapes

    @property
    def data_names(self) -> Sequence[str]:
        """Names of the first module's data."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the last module's outputs."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Sequence[DataDesc] | None:
        """Descriptions of the data that the first module is bound to."""
        self._require("data_shapes")
        return self._modules[0].data_shapes

    @property
    def output_shapes(self) -> NamedShapes:
        """(name, shape) pairs of the last module's outputs."""
        self._require("output_shapes")
        return self._modules[-1].output_shapes

    # binding

    def _bind(self, request: Binding) -> None:
        """Bind all modules; ``inputs_need_grad`` is for the first module, and the labels go to the modules that take them."""
        data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req = request
        if shared_module is not None:
            raise InvalidValue("Shared module is not supported", type(shared_module).__name__, "omit it")
        if not self._modules:
            raise NotReady("Attempting to bind an empty SequentialModule", None, "add modules first")
        inputs: Shapes = data_shapes
        for place, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                inputs = self._rename(module, describe(inputs))
            module.bind(
                inputs,
                label_shapes if meta.get(self.META_TAKE_LABELS) else None,
                for_training,
                inputs_need_grad or (for_training and place > 0),  # the module before needs it as its head gradient
                force_rebind=force_rebind,
                grad_req=grad_req,
            )
            # known once the module is bound, so the modules are bound in order
            inputs = module.output_shapes
        self._label_shapes = label_shapes if self._takes_labels() else None

    def _rename(self, module: BaseModule, shapes: Sequence[DataDesc]) -> list[DataDesc]:
        """Give the outputs of a module the names of the next module's data."""
        names = module.data_names
        if len(names) != len(shapes):
            raise ParameterError(
                "SequentialModule: the number of outputs differs from that of the next module's data",
                f"{len(shapes)} for {', '.join(names)}",
                "make them agree",
            )
        return [DataDesc(name, x.shape, x.dtype, x.layout) for name, x in zip(names, shapes, strict=True)]

    # parameters and optimizer

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The parameters and auxiliary states of all modules, as two dicts."""
        self._require("get_params", params=True)
        arg_params: dict[str, NDArray] = {}
        aux_params: dict[str, NDArray] = {}
        for module in self._modules:
            args, auxs = module.get_params()
            arg_params |= args
            aux_params |= auxs
        return arg_params, aux_params

    def _init_params(self, request: Filling) -> None:
        """Initialize the parameters and auxiliary states of all modules, which are matched by name and differ from module to module."""
        initializer, arg_params, aux_params, allow_missing, force_init, allow_extra = request
        if self.params_initialized and not force_init:
            return
        self._require("init_params")
        for module in self._modules:  # modules ignore each other's names: unknown ones are checked below
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra=True)
        owners: dict[str, int] = {}
        for place, module in enumerate(self._modules):
            for name in (n for params in module.get_params() for n in params):
                if name in owners:
                    raise ParameterError(
                        f'Duplicated parameter names: name "{name}" in layer {place} ({type(module).__name__}) is already used in layer '
                        f"{owners[name]} ({type(self._modules[owners[name]]).__name__})",
                        None,
                        "rename the parameters of one module",
                    )
                owners[name] = place
        unknown = sorted({*(arg_params or ()), *(aux_params or ())} - set(owners))
        if unknown and initializer is None and allow_missing and not allow_extra:
            raise ParameterError(f'Find name "{unknown[0]}" that is not in any module', None, "pass allow_extra=True to ignore it")

    def _init_optimizer(self, request: Optimization) -> None:
        """Create an optimizer for each module."""
        if self._keeps_optimizer(request):
            return
        for module in self._modules:
            module.init_optimizer(*request)

    def update(self) -> None:
        """Update the parameters of all modules."""
        self._require("update", params=True, optimizer=True)
        for module in self._modules:
            module.update()

    # computation

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Run a batch through all modules.

        Parameters
        ----------
        data_batch
            The batch.
        is_train
            See `Module.forward`.
        """
        self._require("forward", params=True)
        batch = first = as_batch(data_batch)
        for place, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if place + 1 < len(self._modules):
                batch = self._next_batch(place, first)

    def _next_batch(self, place: int, first: DataBatch) -> DataBatch:
        """The batch for the next module: the outputs of this one with the labels of the first batch."""
        outputs = self._modules[place]._merged_outputs()
        # without auto-wiring the next module's data must have the names of these outputs
        names = [name for name, _ in self._modules[place].output_shapes]
        if self._metas[place + 1].get(self.META_AUTO_WIRING):
            names = list(self._modules[place + 1].data_names)
        shapes = [DataDesc(name, out.shape, out.dtype) for name, out in zip(names, outputs, strict=True)]
        return DataBatch(outputs, first.label, first.pad, first.index, None, shapes, first.provide_label)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Propagate gradients back through all modules.

        Parameters
        ----------
        out_grads
            Head gradients of the last module's outputs; not needed if these are losses.
        """
        self._require("backward")
        for place in reversed(range(len(self._modules))):
            self._modules[place].backward(out_grads)
            if place > 0:
                # the gradients of this module's data are the head gradients of the one before
                out_grads = cast("list[NDArray]", self._modules[place].get_input_grads())

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """The last module's outputs."""
        self._require("get_outputs", params=True)
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the first module's data.

        Raises
        ------
        MXNetError
            If the modules were bound without them.
        """
        self._require("get_input_grads", params=True)
        if not self.inputs_need_grad:
            raise NotReady("SequentialModule.get_input_grads: they are not computed", None, "bind with inputs_need_grad=True")
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the labels of a batch and the outputs of the modules that take labels."""
        self._require("update_metric", params=True)
        for module in self._takes_labels():
            module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor on all modules."""
        self._require("install_monitor")
        for module in self._modules:
            module.install_monitor(mon)

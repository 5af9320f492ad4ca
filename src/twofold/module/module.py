"""`Module`: a symbol with its parameters, on one or more devices."""

import logging
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from ..checkpoint import load_checkpoint, save_checkpoint
from ..device import CPU, Device, devices_of
from ..errors import DTypeError, InvalidValue, NotReady
from ..formats.checksums import checksum_beside, warn_if_changed
from ..io.iterator import DataDesc, Shapes, describe
from ..kvstore.create import check_kvstore, store_for
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..optimizer.argument_errors import options_of
from ..origin import warn
from ..symbol.symbol import Symbol
from .base_module import BaseModule
from .data_shapes import Arrays, Batch, Labels, check_data, check_inputs, check_labels
from .device_group import DeviceGroup
from .interface import Binding, Filling, Logger, Optimization, RowIds
from .parameters import ParameterFiller, check_loaded, check_names, check_shared
from .placement import GroupLayout, Groups, groups_by_device
from .updates import Part, Updates, prepare_optimizer, pull_rows

Contexts = Device | Sequence[Device]


class Module(BaseModule):
    """A symbol with its parameters, on one or more devices, among which each batch is split.

    Parameters
    ----------
    symbol
        The symbol. Its outputs are losses such as SoftmaxOutput, or `backward` is called with head gradients.
    data_names, label_names
        Its arguments that are data and labels.
    logger
        The logger for progress.
    context
        A device or a list of devices.
    work_load_list
        The devices' shares of the work; equal if None.
    fixed_param_names
        Parameters that are not trained.
    state_names
        Arguments that are neither data nor trained but set by `set_states`.
    group2ctxs
        Devices of the nodes with a ``ctx_group`` attribute: a dict from group to device, or to a list of one device per entry of
        ``context``; or a list of such dicts, one per entry of ``context``.
    compression_params
        How to compress gradients sent between devices; see `KVStore.set_gradient_compression`.

    Raises
    ------
    ParameterError
        If the symbol lacks one of the names (a missing label is only a warning), or there is no device.
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
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        self._symbol: Symbol = symbol
        self._context = devices_of(context, "context")
        self._work_load_list = [1] * len(self._context) if work_load_list is None else list(work_load_list)
        if not self._context or len(self._work_load_list) != len(self._context):
            raise InvalidValue(
                "Module: work_load_list and context must have the same, non-zero length",
                f"{self._work_load_list} for {self._context}",
                "pass one work load per device",
            )
        if not isinstance(symbol, Symbol):
            raise DTypeError(
                "Module: the symbol must be a Symbol",
                type(symbol).__name__,
                "compose one of mx.sym; a Gluon block is trained with gluon.Trainer",
            )
        self._group2ctxs = group2ctxs  # as given: libraries pass it on
        self._groups = groups_by_device(group2ctxs, len(self._context))
        self._compression_params = compression_params
        self._data_names, self._label_names = list(data_names or ()), list(label_names or ())
        self._state_names, self._fixed_param_names = list(state_names or ()), list(fixed_param_names or ())
        for what in ("data_names", "label_names", "state_names", "fixed_param_names"):
            check_inputs(what, getattr(self, f"_{what}"), symbol.list_arguments())
        # whatever a batch or the user does not supply is a parameter
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: dict[str, NDArray] | None = None
        self._aux_params: dict[str, NDArray] | None = None
        self._exec_group: Any = None  # a DeviceGroup once bound
        self._data_shapes: list[DataDesc] | None = None
        self._label_shapes: list[DataDesc] | None = None
        self._updates: Updates | None = None
        self._preload_opt_states: str | None = None
        # whether the devices have newer parameters than `get_params` last returned: subclasses read it
        self._params_dirty = False

    # files

    @staticmethod
    def load(prefix: str | PathLike[str], epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> "Module":
        """Create a module from a checkpoint. It must be bound next.

        Parameters
        ----------
        prefix, epoch
            See `save_checkpoint`.
        load_optimizer_states
            Whether `init_optimizer` reads the optimizer's states.
        **kwargs
            Other parameters of `Module`.

        Raises
        ------
        MissingFileError
            If a file is missing.
        FormatError
            If a file is damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        # they have values, though no executor has them yet: `bind` will copy them
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = _states_path(prefix, epoch)
        return module

    def save_checkpoint(
        self, prefix: str | PathLike[str], epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol, the parameters and, on request, the optimizer's states; and checksums, see `mx.model.save_checkpoint`.

        Parameters
        ----------
        prefix
            Prefix of the file names ``prefix-symbol.json``, ``prefix-NNNN.params`` and ``prefix-NNNN.states``.
        epoch
            The number NNNN.
        save_optimizer_states
            Whether to write the optimizer's states.
        remove_amp_cast
            Whether to remove the casts inserted for mixed precision.
        """
        # MXNet's three files: a graph, parameters and states, which `load` finds by the same prefix
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            with checksum_beside(_states_path(prefix, epoch)):
                self.save_optimizer_states(_states_path(prefix, epoch))
            self.logger.info('Saved optimizer state to "%s"', _states_path(prefix, epoch))

    def save_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Write the optimizer's states to a file that MXNet can read too."""
        self._updates_for("save_optimizer_states").save(fname)

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states, and the number of updates if the file has it, from a file of `save_optimizer_states` or MXNet."""
        self._updates_for("load_optimizer_states").load(fname, self._exec_group)

    def _updates_for(self, action: str) -> Updates:
        self._require(action, params=True, optimizer=True)
        assert self._updates is not None
        return self._updates

    # names and shapes

    @property
    def label_names(self) -> Sequence[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) pairs of the outputs."""
        self._require("output_shapes")
        return self._exec_group.output_shapes

    # binding

    def _reset_bind(self) -> None:
        """Drop the executors; parameters stay."""
        if self.binded and self.params_initialized:
            self._sync_params_from_devices()  # before their executors are dropped
        super()._reset_bind()
        self._exec_group, self._data_shapes, self._label_shapes = None, None, None

    def _bind(self, request: Binding) -> None:
        """Create executors, which hold the parameters."""
        for_training, inputs_need_grad, shared_module = request.for_training, request.inputs_need_grad, request.shared_module
        if inputs_need_grad and not for_training:
            raise InvalidValue("Module.bind: inputs_need_grad needs for_training", "for_training=False", "bind for training")
        data, label = self._describe(request.data_shapes, request.label_shapes)
        if shared_module is not None:
            if not isinstance(shared_module, Module) or not shared_module.binded or not shared_module.params_initialized:
                given = type(shared_module).__name__
                raise InvalidValue("Module.bind: shared_module is not a bound Module with parameters", given, "bind it first")
            # executors that share memory need every parameter of this symbol in the other one, where it may be a label
            check_shared(self._param_names, shared_module._symbol.list_arguments())
            check_shared(self._aux_names, shared_module._aux_names)
        group_layout = GroupLayout(
            self._symbol,
            self._context,
            self._work_load_list,
            self._param_names,
            self._data_names,
            self._label_names,
            self._state_names,
            self._fixed_param_names,
            for_training,
            inputs_need_grad,
            request.grad_req,
            self._groups,
        )
        self._exec_group = DeviceGroup(group_layout, data, label, None if shared_module is None else shared_module._exec_group)
        self._exec_group.logger = self.logger
        self._update_shapes()

    def _after_bind(self, request: Binding) -> None:
        shared = request.shared_module
        if isinstance(shared, Module):
            # the same dicts: values that one module reads from the devices, the other has too
            self._arg_params, self._aux_params, self.params_initialized = shared._arg_params, shared._aux_params, True
            if shared.optimizer_initialized:
                self.borrow_optimizer(shared)
        elif self.params_initialized:  # by a checkpoint, or before this module was bound again
            self._load_initial()

    def _describe(self, data_shapes: Shapes, label_shapes: Shapes | None) -> tuple[list[DataDesc], list[DataDesc]]:
        """Descriptions of data and labels, with the names that the module expects."""
        data, label = describe(data_shapes), describe(label_shapes)
        check_data(data, self._data_names)
        check_labels(label, self._label_names, self._symbol.list_arguments())
        return data, label

    def _load_initial(self) -> None:
        """Copy the parameters that the module already has to its new executors."""
        assert self._arg_params is not None
        assert self._aux_params is not None
        check_loaded(self._arg_params, self._param_names, self._exec_group.param_arrays)
        check_loaded(self._aux_params, self._aux_names, self._exec_group.aux_arrays)
        # a checkpoint may hold parameters of layers that this symbol lacks: feature extraction
        self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=True)

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Switch to batches of other shapes; parameters stay. `forward` does so automatically.

        Parameters
        ----------
        data_shapes, label_shapes
            See `bind`.
        """
        self._require("reshape")
        self._exec_group.reshape(*self._describe(data_shapes, label_shapes))
        self._update_shapes()

    def _update_shapes(self) -> None:
        self._data_shapes, self._label_shapes = self._exec_group.data_shapes, self._exec_group.label_shapes or None

    # parameters

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The parameters and auxiliary states on the CPU, as two dicts. Every call returns the same arrays.

        Raises
        ------
        MXNetError
            If the parameters are not initialized.
        """
        if not self.params_initialized or self._arg_params is None or self._aux_params is None:
            raise NotReady("Module.get_params: the module has no parameters yet", None, "call bind() and init_params() first")
        if self.binded:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def _sync_params_from_devices(self) -> None:
        """Copy the parameters and auxiliary states from the devices."""
        assert self._arg_params is not None
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._updates is not None:
            self._updates.pull_whole(self._arg_params)
        self._params_dirty = False

    def _init_params(self, request: Filling) -> None:
        initializer, arg_params, aux_params, allow_missing, force_init, allow_extra = request
        if self.params_initialized and not force_init:
            warn("Parameters already initialized and force_init=False. init_params call ignored.")
            return
        self._require("init_params")
        group = self._exec_group
        # the first device's array describes all copies: their shape and dtype are the same
        arguments = dict(zip(self._param_names, (block[0] for block in group.param_arrays), strict=True))
        states = dict(zip(self._aux_names, (block[0] for block in group.aux_arrays), strict=True))
        if initializer is None and allow_missing and not allow_extra:  # MXNet ignores unknown names if all known ones are given
            check_names(arg_params, arguments, "arguments")
            check_names(aux_params, states, "auxiliary states")
        if self.params_initialized and allow_missing:
            self._sync_params_from_devices()  # parameters without an array keep the values that the devices hold
        self._arg_params = {} if self._arg_params is None else self._arg_params
        self._aux_params = {} if self._aux_params is None else self._aux_params
        # the initializer works on the CPU, so each device gets the same values
        filler = ParameterFiller(self._symbol.attr_dict(), initializer, allow_missing)
        filler.fill(self._arg_params, arguments, arg_params)
        filler.fill(self._aux_params, states, aux_params)
        group.set_params(self._arg_params, self._aux_params, allow_extra=True)
        if self._updates is not None:
            # a store with the former values would hand them out at the next pull
            self._updates.restart(group, self._arg_params)

    # the optimizer

    def _init_optimizer(self, request: Optimization) -> None:
        if self._keeps_optimizer(request):
            return
        assert self._arg_params is not None
        # the values of now: the store starts from them
        self._sync_params_from_devices()
        params = self._arg_params
        check_kvstore(request.kvstore)
        store, on_store = store_for(request.kvstore, len(self._context), params.values())
        # in the store there is one copy of each weight
        devices = 1 if on_store else len(self._context)
        # an updater on the devices gives each device's copy of a weight a separate index, in MXNet's order
        names = {devices * place + k: name for k in range(devices) for place, name in enumerate(self._param_names)}
        # workers that sum in step make one batch together: the gradient is divided by the size of all their parts
        workers = store.num_workers if store is not None and "dist" in store.type and "_sync" in store.type else 1
        scale = 1.0 / (self._exec_group.batch_size * workers)
        prepared = prepare_optimizer(request.optimizer, options_of(request.optimizer_params, "init_optimizer"), names, scale, self._symbol)
        updates = Updates(prepared, store, on_store, self._param_names)
        updates.start(self._exec_group, params, self._compression_params)
        # only now: a store that fails to start leaves the former optimizer
        self._updates, self.optimizer_initialized = updates, True
        if self._preload_opt_states is not None:  # from `load`, when there was no optimizer yet to hold them
            warn_if_changed(self._preload_opt_states)
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: "Module") -> None:
        """Share the optimizer of another module, including its states.

        Parameters
        ----------
        shared_module
            The other module, with which this one shares parameters.
        """
        shared_module._require("borrow_optimizer", optimizer=True)
        self._updates, self.optimizer_initialized = shared_module._updates, True

    # MXNet's programs read these four, and subclasses with an `init_optimizer` of their own assign them
    _optimizer, _kvstore, _updater, _update_on_kvstore = Part("optimizer"), Part("store"), Part("updater"), Part("on_store")

    def update(self) -> None:
        """Update the parameters with the gradients of the last `backward`.

        Raises
        ------
        MXNetError
            If the module is not bound for training or has no optimizer.
        """
        updates = self._updates
        # The flags first: every step checks them, and only a module that lacks something needs the message.
        if updates is None or not (self.binded and self.for_training and self.params_initialized and self.optimizer_initialized):
            updates = self._updates_for("update")
            self._require_training("update")
        updates.step(self._exec_group)
        self._params_dirty = True

    def prepare(self, data_batch: Batch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Fetch the rows that the next batch reads of row-sparse parameters that a store updates; see `BaseModule.prepare`."""
        self._require("prepare")
        if sparse_row_id_fn is not None:
            pull_rows(self._updates, self._exec_group, lambda: sparse_row_id_fn(data_batch))

    # computation

    def _require_training(self, action: str) -> None:
        self._require(action)
        if not self.for_training:
            raise NotReady(f"Module.{action}: the module is not bound for training", None, "re-bind with for_training=True")

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, whose shapes may differ from those of previous batches.

        Parameters
        ----------
        data_batch
            The batch, or a list of one per device.
        is_train
            Whether operators run in training mode; by default, whether the module is bound for training.

        Raises
        ------
        ShapeError
            If the batch does not match the symbol.
        """
        if not (self.binded and self.params_initialized):
            self._require("forward", params=True)
        group = self._exec_group
        group.forward(data_batch, is_train)
        if group.data_shapes is not self._data_shapes:  # the batch had other shapes
            self._update_shapes()

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute gradients of the parameters, and of the data if bound with ``inputs_need_grad``.

        Parameters
        ----------
        out_grads
            Head gradients, one per output; not needed if the outputs are losses.
        """
        if not (self.binded and self.for_training and self.params_initialized):
            self._require_training("backward")
            self._require("backward", params=True)
        self._exec_group.backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """The outputs of the last `forward`.

        Parameters
        ----------
        merge_multi_context
            Whether to merge the devices' parts on the first device; otherwise each output is a list of parts.
        """
        self._require("get_outputs", params=True)
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the data from the last `backward`, merged as by `get_outputs`.

        Raises
        ------
        MXNetError
            If the module was bound without them.
        """
        self._require("get_input_grads", params=True)
        if not self.inputs_need_grad:
            raise NotReady("Module.get_input_grads: they are not computed", None, "bind with inputs_need_grad=True")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """For each state a list of its arrays on the devices.

        Raises
        ------
        ParameterError
            If ``merge_multi_context`` is true: states are not merged.
        """
        self._require("get_states", params=True)
        if merge_multi_context:
            raise InvalidValue("Module.get_states: states of devices are not merged", None, "pass merge_multi_context=False")
        return self._exec_group.get_states()

    def set_states(self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None) -> None:
        """Set the states.

        Parameters
        ----------
        states
            Arrays in the form that `get_states` returns.
        value
            A number for all states, instead of arrays.
        """
        self._require("set_states", params=True)
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the labels of a batch and the outputs of the last `forward`.

        Parameters
        ----------
        eval_metric
            The metric.
        labels
            A list of labels, or a list of such lists, one per device.
        pre_sliced
            Whether ``labels`` is split by device already.
        """
        if not (self.binded and self.params_initialized):
            self._require("update_metric", params=True)
        self._exec_group.update_metric(eval_metric, labels or [], pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor on the executors."""
        self._require("install_monitor")
        self._exec_group.install_monitor(mon)


def _states_path(prefix: str | PathLike[str], epoch: int) -> str:
    return f"{fspath(prefix)}-{epoch:04d}.states"

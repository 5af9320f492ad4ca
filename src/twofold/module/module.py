"""`Module`: a symbol with its parameters, on one or several devices."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from ..checkpoint import load_checkpoint, save_checkpoint
from ..device import CPU, Device
from ..errors import MXNetError, ParameterError
from ..io.iterator import DataDesc
from ..kvstore.create import check_kvstore, store_for
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from .base_module import LEARNING_RATE, UNIFORM, BaseModule, Params
from .device_group import DeviceGroup, Groups, Plan, groups_by_device
from .parameters import Start, check_loaded, refuse_unknown
from .shapes import Shapes, check_data, check_labels, described
from .updates import Updates, prepare_optimizer

__all__ = ["Module"]

Contexts = Device | Sequence[Device]


class Module(BaseModule):
    """A symbol with its parameters, on one or several devices, that divide each batch among them.

    Parameters
    ----------
    symbol
        The symbol; its outputs are losses such as SoftmaxOutput, or `backward` is given head gradients.
    data_names, label_names
        Its arguments that are data and labels.
    logger
        Where progress is logged.
    context
        A device, or a list of them.
    work_load_list
        How much each device does, in proportion; all the same if None.
    fixed_param_names
        Parameters that are not trained.
    state_names
        Arguments that are neither data nor trained: they are written by `set_states`.
    group2ctxs
        Where nodes with the attribute ``ctx_group`` run: a dict of group to device, or to a list of one for each of ``context``; or a
        list of dicts, one for each of ``context``.
    compression_params
        How gradients are compressed between devices, see `KVStore.set_gradient_compression`.

    Raises
    ------
    ParameterError
        If the symbol lacks one of the names (a missing label only warns), or there is no device.
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Contexts = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups | None = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        self._symbol = symbol
        self._context = [context] if isinstance(context, Device) else list(context)
        self._work_load_list = [1] * len(self._context) if work_load_list is None else list(work_load_list)
        if not self._context or len(self._work_load_list) != len(self._context):
            raise ParameterError(
                "Module: as many work loads as devices are needed, and at least one",
                f"{self._work_load_list} for {self._context}",
                "fit them",
            )
        self._groups = groups_by_device(group2ctxs, len(self._context))
        self._compression_params = compression_params
        self._data_names, self._label_names = list(data_names or ()), list(label_names or ())
        self._state_names, self._fixed_param_names = list(state_names or ()), list(fixed_param_names or ())
        self._check_names()
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: dict[str, NDArray] | None = None
        self._aux_params: dict[str, NDArray] | None = None
        self._exec_group: Any = None
        self._data_shapes: list[DataDesc] | None = None
        self._label_shapes: list[DataDesc] | None = None
        self._updates: Updates | None = None
        self._preload_opt_states: str | None = None

    def _check_names(self) -> None:
        arguments = self._symbol.list_arguments()
        for what in ("data_names", "label_names", "state_names", "fixed_param_names"):
            for name in getattr(self, f"_{what}"):
                if name in arguments:
                    continue
                names = [n for n in arguments if not n.endswith(("_weight", "_bias", "_gamma", "_beta"))]
                text = f"You created Module with Module(..., {what}={getattr(self, f'_{what}')}) but input with name '{name}' is not found"
                if what != "label_names":
                    raise ParameterError(f"{text} in symbol.list_arguments()", None, f"did you mean one of {', '.join(names)}?")
                warnings.warn(f"{text} in symbol.list_arguments(); did you mean one of {', '.join(names)}?", UserWarning, stacklevel=3)

    # files

    @staticmethod
    def load(prefix: str | PathLike[str], epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> "Module":
        """A module from a checkpoint; bind it next.

        Parameters
        ----------
        prefix, epoch
            As of `save_checkpoint`.
        load_optimizer_states
            Whether `init_optimizer` is to read the optimizer's states.
        **kwargs
            Further parameters of `Module`.

        Raises
        ------
        MissingFileError
            If there are no such files.
        FormatError
            If one of them is damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = _states_path(prefix, epoch)
        return module

    def save_checkpoint(
        self, prefix: str | PathLike[str], epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol, the parameters and, if wished, the optimizer's states.

        Parameters
        ----------
        prefix
            How the files' names begin: ``prefix-symbol.json``, ``prefix-NNNN.params``, ``prefix-NNNN.states``.
        epoch
            Number NNNN.
        save_optimizer_states
            Whether to write them.
        remove_amp_cast
            Leave out the casts that mixed precision put into the symbol.
        """
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            self.save_optimizer_states(_states_path(prefix, epoch))
            self.logger.info('Saved optimizer state to "%s"', _states_path(prefix, epoch))

    def save_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Write the optimizer's states into a file that MXNet reads too."""
        self._updates_for("save_optimizer_states").save(fname)

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file that `save_optimizer_states` or MXNet wrote."""
        self._updates_for("load_optimizer_states").load(fname, self._exec_group)

    def _updates_for(self, action: str) -> Updates:
        self._require(action, params=True, optimizer=True)
        assert self._updates is not None
        return self._updates

    # names and shapes

    @property
    def data_names(self) -> Sequence[str]:
        """Names of the data."""
        return self._data_names

    @property
    def label_names(self) -> Sequence[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the data that it is bound for."""
        self._require("data_shapes")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels that it is bound for; None without labels."""
        self._require("label_shapes")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of name and shape of the outputs."""
        self._require("output_shapes")
        return self._exec_group.output_shapes

    # binding

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make executors for data of given shapes; they hold the parameters.

        Parameters
        ----------
        data_shapes, label_shapes
            Descriptions of data and labels, or pairs of name and shape, of whole batches.
        for_training
            Whether gradients are wanted.
        inputs_need_grad
            Whether gradients with respect to the data are wanted too.
        force_rebind
            Whether to bind a module that is bound already; else nothing is done then.
        shared_module
            A bound module whose parameters, auxiliary states and optimizer are used.
        grad_req
            ``"write"``, ``"add"`` or ``"null"``, for all parameters, in the order of arguments, or by name.

        Raises
        ------
        ParameterError
            If names do not fit the symbol, or the shared module lacks parameters.
        ShapeError
            If shapes do not fit the symbol.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("Module.bind: inputs_need_grad needs for_training", "for_training=False", "bind for training")
        data, label = described(data_shapes), described(label_shapes)
        arguments = self._symbol.list_arguments()
        check_data(data, self._data_names)
        check_labels(label, self._label_names, arguments)
        shared = None if shared_module is None else self._shared_group(shared_module)
        if self.binded and self.params_initialized:
            self.get_params()  # from the devices, before they are let go
        plan = Plan(
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
            grad_req,
            self._groups,
        )
        self._exec_group = DeviceGroup(plan, data, label, shared)
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        self._data_shapes, self._label_shapes = data, label or None
        if isinstance(shared_module, Module):
            self._arg_params, self._aux_params, self.params_initialized = shared_module._arg_params, shared_module._aux_params, True
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            assert self._arg_params is not None
            assert self._aux_params is not None
            check_loaded(self._arg_params, self._param_names, self._exec_group.param_arrays)
            check_loaded(self._aux_params, self._aux_names, self._exec_group.aux_arrays)
            self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=True)

    def _shared_group(self, module: BaseModule) -> DeviceGroup:
        if not isinstance(module, Module) or not module.binded or not module.params_initialized:
            raise ParameterError("Module.bind: shared_module is not a bound Module with parameters", type(module).__name__, "bind it first")
        missing = [n for n in self._param_names if n not in module._param_names]
        missing += [n for n in self._aux_names if n not in module._aux_names]
        if missing:
            raise ParameterError(
                "Module.bind: shared_module lacks parameters",
                ", ".join(missing),
                "share with a module that has all parameters, such as that of the default bucket",
            )
        return module._exec_group

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Go on with batches of other shapes; parameters stay. `forward` does so by itself.

        Parameters
        ----------
        data_shapes, label_shapes
            As of `bind`.
        """
        self._require("reshape")
        data, label = described(data_shapes), described(label_shapes)
        check_data(data, self._data_names)
        check_labels(label, self._label_names, self._symbol.list_arguments())
        self._exec_group.reshape(data, label)
        self._take_over_shapes()

    def _take_over_shapes(self) -> None:
        self._data_shapes, self._label_shapes = self._exec_group.data_shapes, self._exec_group.label_shapes or None

    # parameters

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Dicts of the parameters and of the auxiliary states, on the CPU; the same arrays at each call.

        Raises
        ------
        MXNetError
            If there are none yet.
        """
        if not self.params_initialized or self._arg_params is None or self._aux_params is None:
            raise MXNetError("Module.get_params: the module has no parameters yet", None, "call bind() and init_params() first")
        if self.binded:
            self._exec_group.get_params(self._arg_params, self._aux_params)
        return self._arg_params, self._aux_params

    def init_params(
        self,
        initializer: Any = UNIFORM,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their first values.

        Parameters
        ----------
        initializer
            Fills those that are not given; an attribute of their variable goes before it.
        arg_params, aux_params
            Arrays by name; if None, all are filled by the initializer.
        allow_missing
            Whether the initializer fills what these do not hold.
        force_init
            Whether to do so if there are parameters already; else a warning says that nothing was done.
        allow_extra
            With ``allow_missing``, whether `set_params` ignores names that the symbol does not have; without it they always are.

        Raises
        ------
        ParameterError
            If one is missing or unknown otherwise.
        ShapeError
            If an array has another shape than its parameter.
        """
        if self.params_initialized and not force_init:
            text = "Parameters already initialized and force_init=False. init_params call ignored."
            warnings.warn(text, UserWarning, stacklevel=2)
            return
        self._require("init_params")
        group = self._exec_group
        arguments = dict(zip(self._param_names, (block[0] for block in group.param_arrays), strict=True))
        states = dict(zip(self._aux_names, (block[0] for block in group.aux_arrays), strict=True))
        if initializer is None and allow_missing and not allow_extra:  # MXNet ignores unknown names where all known ones are given
            refuse_unknown(arg_params, arguments, "arguments")
            refuse_unknown(aux_params, states, "auxiliary states")
        if self.params_initialized and allow_missing:
            self.get_params()  # what is not given stays as the devices have it
        self._arg_params = {} if self._arg_params is None else self._arg_params
        self._aux_params = {} if self._aux_params is None else self._aux_params
        start = Start(self._symbol.attr_dict(), initializer, allow_missing)
        start.fill(self._arg_params, arguments, arg_params)
        start.fill(self._aux_params, states, aux_params)
        self.params_initialized = True
        group.set_params(self._arg_params, self._aux_params, allow_extra=True)
        if self._updates is not None:
            self._updates.restart(group, self._arg_params)

    # the optimizer

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = LEARNING_RATE, force_init: bool = False
    ) -> None:
        """Make the optimizer.

        Parameters
        ----------
        kvstore
            A key-value store, a name of one, or None: what sums the gradients of several devices.
        optimizer
            An optimizer, or the name of one; one that is made here divides gradients by the batch size.
        optimizer_params
            Its parameters, a dict or pairs.
        force_init
            Whether to do so if there is one already; else nothing is done then.

        Raises
        ------
        MXNetError
            If there are no parameters yet.
        """
        self._require("init_optimizer", params=True)
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        assert self._arg_params is not None
        params = self.get_params()[0]
        check_kvstore(kvstore)
        store, on_store = store_for(kvstore, len(self._context), params.values())
        devices = 1 if on_store else len(self._context)
        names = {devices * place + k: name for k in range(devices) for place, name in enumerate(self._param_names)}
        made = prepare_optimizer(optimizer, dict(optimizer_params), names, 1.0 / self._exec_group.batch_size, self._symbol)
        updates = Updates(made, store, on_store, self._param_names)
        updates.start(self._exec_group, params, self._compression_params)
        self._updates, self.optimizer_initialized = updates, True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: "Module") -> None:
        """Use the optimizer of another module, with its states.

        Parameters
        ----------
        shared_module
            The other module, whose parameters this one shares.
        """
        shared_module._require("borrow_optimizer", optimizer=True)
        self._updates, self.optimizer_initialized = shared_module._updates, True

    @property
    def _optimizer(self) -> Optimizer | None:
        return None if self._updates is None else self._updates.optimizer

    @property
    def _kvstore(self) -> Any:
        return None if self._updates is None else self._updates.store

    @property
    def _updater(self) -> Any:
        return None if self._updates is None else self._updates.updater

    @property
    def _update_on_kvstore(self) -> bool | None:
        return None if self._updates is None else self._updates.on_store

    def update(self) -> None:
        """Update the parameters by the gradients of the last `backward`.

        Raises
        ------
        MXNetError
            If the module is not bound for training, or has no optimizer.
        """
        updates = self._updates_for("update")
        self._require_training("update")
        updates.step(self._exec_group)

    # computation

    def _require_training(self, action: str) -> None:
        self._require(action)
        if not self.for_training:
            raise MXNetError(f"Module.{action}: the module is not bound for training", None, "re-bind with for_training=True")

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, which may have other shapes than those before.

        Parameters
        ----------
        data_batch
            The batch; or a list of one for each device.
        is_train
            Whether operators run in training mode; whether the module is bound for training if None.

        Raises
        ------
        ShapeError
            If the batch does not fit the symbol.
        """
        self._require("forward", params=True)
        self._exec_group.forward(data_batch, is_train)
        self._take_over_shapes()

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients of the parameters, and of the data if they are wanted.

        Parameters
        ----------
        out_grads
            Head gradients, one for each output; not needed where the outputs are losses.
        """
        self._require_training("backward")
        self._require("backward", params=True)
        self._exec_group.backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """The outputs of the last `forward`.

        Parameters
        ----------
        merge_multi_context
            Whether the devices' parts are joined, on the first one; else there is a list of them for each output.
        """
        self._require("get_outputs", params=True)
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients with respect to the data, of the last `backward`; joined as of `get_outputs`.

        Raises
        ------
        MXNetError
            If the module is bound without them.
        """
        self._require("get_input_grads", params=True)
        if not self.inputs_need_grad:
            raise MXNetError("Module.get_input_grads: they are not computed", None, "bind with inputs_need_grad=True")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """For each state a list of its arrays on the devices.

        Raises
        ------
        ParameterError
            If they are to be joined.
        """
        self._require("get_states", params=True)
        if merge_multi_context:
            raise ParameterError("Module.get_states: states of devices are not joined", None, "pass merge_multi_context=False")
        return self._exec_group.get_states()

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Write states.

        Parameters
        ----------
        states
            Arrays as `get_states` gives them; or
        value
            one number for all.
        """
        self._require("set_states", params=True)
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Give a metric the labels of a batch and the outputs of the last `forward`.

        Parameters
        ----------
        eval_metric
            The metric.
        labels
            A list of labels; or a list of such lists, one for each device, if ``pre_sliced``.
        pre_sliced
            See ``labels``.
        """
        self._require("update_metric", params=True)
        self._exec_group.update_metric(eval_metric, labels or [], pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Have a monitor watch the executors."""
        self._require("install_monitor")
        self._exec_group.install_monitor(mon)


def _states_path(prefix: str | PathLike[str], epoch: int) -> str:
    return f"{fspath(prefix)}-{epoch:04d}.states"

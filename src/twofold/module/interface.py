"""`ModuleInterface`: the members of a module, which its class defines, and the types of their arguments."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..errors import InvalidValue, NotReady, Undefined
from ..initializer.base import Initializer
from ..initializer.random_draws import Uniform
from ..io.iterator import DataDesc, Shapes
from ..kvstore.base import KVStoreBase
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from ..symbol.symbol import Symbol
from .data_shapes import Arrays, Batch, Labels, NamedShapes, Requests

UNIFORM = Uniform(0.01)
LEARNING_RATE = (("learning_rate", 0.01),)

Callbacks = Callable[..., object] | Iterable[Callable[..., object]] | None
Params = Mapping[str, NDArray]
#: Keyword arguments of an optimizer.
Kwargs = Mapping[str, object] | Iterable[tuple[str, object]]
Store = str | KVStoreBase | None
#: Function of a batch that returns the numbers of the rows that it reads, by the name of a row-sparse parameter.
RowIds = Callable[[Any], Any]
OptimizerLike = str | Optimizer


class Logger(Protocol):
    """The methods of a logger that modules call; the module ``logging`` has them."""

    def info(self, msg: object, /, *args: object) -> None:
        """Log progress."""
        ...

    def warning(self, msg: object, /, *args: object) -> None:
        """Log a warning."""
        ...


class Binding(NamedTuple):
    """The arguments of `BaseModule.bind`."""

    data_shapes: Shapes
    label_shapes: Shapes | None
    for_training: bool
    inputs_need_grad: bool
    force_rebind: bool
    shared_module: "ModuleInterface | None"
    grad_req: Requests


class Filling(NamedTuple):
    """The arguments of `BaseModule.init_params`."""

    initializer: Initializer | None
    arg_params: Params | None
    aux_params: Params | None
    allow_missing: bool
    force_init: bool
    allow_extra: bool


class Optimization(NamedTuple):
    """The arguments of `BaseModule.init_optimizer`."""

    kvstore: Store
    optimizer: OptimizerLike
    optimizer_params: Kwargs
    force_init: bool


class ModuleInterface:
    """The interface of modules for `BaseModule`: the members that subclasses define, and the state that all modules have.

    Of `bind`, `init_params` and `init_optimizer` the head is here: it hands its arguments on as one tuple.
    """

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None

    #: The store of workers that spares may join.
    _kvstore: Any = None

    def _undefined(self, member: str) -> Undefined:
        return Undefined(f"{type(self).__name__} does not define {member}", None, "define it in the subclass")

    def _require(self, action: str, *, params: bool = False, optimizer: bool = False) -> None:
        """Check that the module is bound and has parameters or an optimizer.

        Raises
        ------
        NotReady
            If it is not; the message says what to call.
        """
        missing = None
        if not self.binded:
            missing = "is not bound", "call bind() first"
        elif params and not self.params_initialized:
            missing = "has no parameters yet", "call init_params() or set_params() first"
        elif optimizer and not self.optimizer_initialized:
            missing = "has no optimizer yet", "call init_optimizer() first"
        if missing:
            raise NotReady(f"{type(self).__name__}.{action}: the module {missing[0]}", None, missing[1])

    # for subclasses to define

    def _kept(self, member: str) -> Any:
        """The attribute of a property in which `Module` and `PythonModule` keep its value."""
        if f"_{member}" not in vars(self):
            raise self._undefined(member)
        if member.endswith("_shapes"):
            self._require(member)
        return vars(self)[f"_{member}"]

    @property
    def data_names(self) -> Sequence[str]:
        """Names of the data."""
        return self._kept("data_names")

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the outputs."""
        return self._kept("output_names")

    @property
    def data_shapes(self) -> Sequence[DataDesc] | None:
        """Descriptions of the data that the module is bound to."""
        return self._kept("data_shapes")

    @property
    def label_shapes(self) -> Shapes | None:
        """Descriptions of the labels that the module is bound to; None without labels."""
        return self._kept("label_shapes")

    @property
    def output_shapes(self) -> NamedShapes:
        """(name, shape) pairs of the outputs."""
        return self._kept("output_shapes")

    @property
    def symbol(self) -> Symbol | None:
        """The symbol of the module, if any."""
        return self._symbol

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: "ModuleInterface | None" = None,
        grad_req: Requests = "write",
    ) -> None:
        """Prepare the module for data of the given shapes.

        Parameters
        ----------
        data_shapes, label_shapes
            Descriptions, or (name, shape) pairs, of the data and labels of whole batches.
        for_training
            Whether gradients are needed.
        inputs_need_grad
            Whether gradients with respect to the data are needed too.
        force_rebind
            Whether to rebind a bound module; otherwise the call is ignored with a warning.
        shared_module
            A bound module whose parameters, auxiliary states and optimizer to share; only `Module` can.
        grad_req
            ``"write"``, ``"add"`` or ``"null"``: one for all parameters, one per argument in order, or by name.

        Raises
        ------
        ParameterError
            If names do not match the symbol, or the shared module lacks parameters or cannot be shared.
        ShapeError
            If shapes do not match the symbol.
        """
        if self.binded:
            if not force_rebind:
                self.logger.warning("Already bound, ignoring bind()")
                return
            self._reset_bind()
        # one tuple: subclasses read the fields that they need, and composed modules pass it on whole
        request = Binding(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req)
        self._bind(request)
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        # after the flags are set, as it may call methods that require a bound module
        self._after_bind(request)

    def _reset_bind(self) -> None:
        """Drop what the module is bound to; parameters stay."""
        self.binded = False

    def _bind(self, request: "Binding") -> None:
        """Carry out a call of `bind`, of a module that is not bound."""
        raise self._undefined("bind")

    def _after_bind(self, request: "Binding") -> None:
        """Do what needs a bound module."""

    def init_params(
        self,
        initializer: Initializer | None = UNIFORM,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize parameters and auxiliary states.

        Parameters
        ----------
        initializer
            Initializer of those without an array. The ``init`` attribute of a variable takes precedence.
        arg_params, aux_params
            Arrays by name; if None, all are initialized by the initializer.
        allow_missing
            Whether the initializer may initialize those without an array.
        force_init
            Whether to re-initialize initialized parameters; otherwise the call is ignored with a warning.
        allow_extra
            With ``allow_missing``, whether `set_params` ignores unknown names; without it they are always ignored.

        Raises
        ------
        ParameterError
            If a name is missing, or unknown and not ignored.
        ShapeError
            If the shape of an array differs from that of its parameter.
        """
        self._init_params(Filling(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra))
        self.params_initialized = True

    def _init_params(self, request: Filling) -> None:
        """Carry out a call of `init_params`; ignore it if the module has parameters and is not forced."""
        raise self._undefined("init_params")

    def init_optimizer(
        self,
        kvstore: Store = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Kwargs = LEARNING_RATE,
        force_init: bool = False,
    ) -> None:
        """Create the optimizer.

        Parameters
        ----------
        kvstore
            The store that sums the gradients of several devices: a store, a kind of store, or None.
        optimizer
            An optimizer, or the name of one. An optimizer given by name divides gradients by the batch size.
        optimizer_params
            Keyword arguments for an optimizer given by name, as a dict or pairs.
        force_init
            Whether to replace an existing optimizer; otherwise the call is ignored with a warning.

        Raises
        ------
        MXNetError
            If the parameters are not initialized.
        """
        self._init_optimizer(Optimization(kvstore, optimizer, optimizer_params, force_init))
        self.optimizer_initialized = True

    def _init_optimizer(self, request: Optimization) -> None:
        """Carry out a call of `init_optimizer`; ignore it if the module has an optimizer and is not forced."""
        raise self._undefined("init_optimizer")

    def _keeps_optimizer(self, request: Optimization) -> bool:
        """Whether to ignore a request for an optimizer, with a warning, as the module has one already."""
        self._require("init_optimizer", params=True)
        if not self.optimizer_initialized or request.force_init:
            return False
        self.logger.warning("optimizer already initialized, ignoring...")
        return True

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch."""
        raise self._undefined("forward")

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute gradients."""
        raise self._undefined("backward")

    def update(self) -> None:
        """Update the parameters with their gradients."""
        raise self._undefined("update")

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """The outputs of the last `forward`."""
        raise self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the data, of the last `backward`."""
        raise self._undefined("get_input_grads")

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The parameters and auxiliary states, as two dicts."""
        raise self._undefined("get_params")

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the labels of a batch and the outputs of the last `forward`."""
        raise self._undefined("update_metric")

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor on the executors."""
        raise self._undefined("install_monitor")

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        """Values that persist between batches; none by default."""
        self._require("get_states", params=True)
        return []

    def set_states(self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None) -> None:
        """Set the values that persist between batches; there are none by default."""
        self._require("set_states", params=True)
        if states or value:
            raise InvalidValue(f"{type(self).__name__}.set_states: there are no states", f"{states!r:.60}, {value!r}", "pass none")

    def prepare(self, data_batch: Batch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare for the next batch.

        Parameters
        ----------
        data_batch
            The batch.
        sparse_row_id_fn
            Function of the batch that returns row numbers, an array of any shape, by row-sparse parameter. Where a store updates these,
            a device then has only these rows. If None, it keeps the rows that it has.
        """

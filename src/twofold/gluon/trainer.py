"""`Trainer`: sums gradients over devices through a key-value store and updates parameters with an optimizer."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, ClassVar, Protocol
from warnings import warn

from ..device import Device
from ..errors import DTypeError, FormatError, InvalidValue, MXNetError, NoSamples, ParameterError
from ..extension_points import shown_as_text, shown_in_notebooks
from ..formats.files import read_file, write_file
from ..kvstore.base import KVStoreBase
from ..kvstore.create import InitialValues, check_kvstore, spans, store_for
from ..ndarray.array import NDArray
from ..optimizer import Optimizer, create, get_updater
from ..optimizer.argument_errors import options_of
from .checked_attributes import CheckedAttributes
from .copies import RENEWALS
from .parameter import Parameter
from .parameter_dict import ParameterDict
from .updates import Work, make_copies_equal

__all__ = ["StaleGradient", "Trainer"]


class OverflowCheck(Protocol):
    """The loss scaler of mixed precision, as a trainer sees it."""

    def has_overflow(self, params: Sequence[Parameter]) -> bool:
        """Whether some gradient is infinite or NaN; adapts the loss scale."""
        ...


class StaleGradient(MXNetError, UserWarning):
    """A gradient that no backward pass has written since the last step, for which MXNet raises UserWarning."""


class Trainer(CheckedAttributes):
    """Applies an optimizer to parameters.

    Parameters
    ----------
    params
        The parameters: a `ParameterDict`, a dict or a list. Dicts are traversed in sorted key order.
    optimizer
        An optimizer, or the name of one.
    optimizer_params
        Keyword arguments for an optimizer given by name.
    kvstore
        The store that sums gradients over devices: a kind of store, a store, or None for no summing. A single device needs none.
    compression_params
        How the store compresses gradients, such as ``{"type": "2bit", "threshold": 0.5}``.
    update_on_kvstore
        Whether the store holds the weights and updates them, instead of each device updating its copies. If None the store does if
        it can, unless the environment variable ``MXNET_UPDATE_ON_KVSTORE`` is 0.

    Raises
    ------
    ParameterError
        If ``params`` holds anything but parameters, or they are on different devices.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.array([[1, 2]]))
    >>> loss.backward()
    >>> trainer.step(batch_size=1)
    >>> net.weight.data().asnumpy().tolist()
    [[0.5, 0.0]]
    """

    #: Whether a subclass sums gradients over processes in its own way, which needs no store.
    _has_own_sums: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._has_own_sums = cls._allreduce_grads is not Trainer._allreduce_grads

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | Optimizer,
        optimizer_params: Mapping[str, object] | None = None,
        kvstore: str | KVStoreBase | None = "device",
        compression_params: Mapping[str, str | float] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        self._params = _parameter_list(params)
        self._param2idx = {param.name: k for k, param in enumerate(self._params)}
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, options_of(optimizer_params, "Trainer"))
        self._scale = self._optimizer.rescale_grad  # the user's factor; each step divides it by the batch size
        check_kvstore(kvstore)
        self._wanted_store = kvstore
        self._wanted_update = update_on_kvstore
        self._compression = compression_params
        self._reset_kvstore()
        self._cache: tuple[int, list[Work]] = -1, []
        self._amp_loss_scaler: OverflowCheck | None = None  # set by `contrib.amp.init_trainer`
        self._amp_original_scale = self._scale
        for param in self._params:
            param._set_trainer(self)

    __repr__ = shown_as_text("trainer")
    _repr_html_ = shown_in_notebooks("trainer")

    def _check_contexts(self) -> list[Device]:
        """The devices of the parameters, which must be the same for all."""
        # one updater per device gets all weights, so each weight must have a copy on each device
        contexts: list[Device] = []
        for param in self._params:
            own = param.list_ctx()
            if contexts and own != contexts:
                raise InvalidValue(
                    "All Parameters must be initialized on the same set of contexts",
                    f"Parameter {param.name} on {own}, and the ones before it on {contexts}",
                    "use reset_ctx",
                )
            contexts = own
        return contexts

    def _init_optimizer(self, optimizer: str | Optimizer, optimizer_params: dict[str, object]) -> None:
        """Create the optimizer, and its states for each device."""
        table = dict(enumerate(self._params))
        if isinstance(optimizer, str):
            optimizer = create(optimizer, param_dict=table, **optimizer_params)
        elif not isinstance(optimizer, Optimizer):
            raise DTypeError("Trainer: not an optimizer", type(optimizer).__name__, "pass an Optimizer, or the name of one")
        elif optimizer_params:
            raise InvalidValue(
                "optimizer_params must be None if optimizer is an instance of Optimizer instead of str", str(optimizer_params), "omit them"
            )
        optimizer.param_dict = table
        self._optimizer = optimizer
        self._updaters = [get_updater(optimizer) for _ in self._contexts]

    # the store

    def _reset_kvstore(self) -> None:
        """Drop the store: the next step creates it from the current values."""
        self._kvstore: KVStoreBase | None = None
        self._update_on_kvstore: bool | None = None  # until there is a store, as in MXNet
        self._has_store = False
        self._unsent: set[int] = set()
        self._initial = InitialValues()

    @property
    def _kv_initialized(self) -> bool:
        """Whether the store has been created. Scripts read it."""
        return self._has_store

    def _init_kvstore(self) -> None:
        """Create the store at the first step, when the devices of the parameters are known."""
        values = [param._initialized().arrays[0] for param in self._params if param._data is not None]
        store, on_store = store_for(self._wanted_store, len(self._contexts), values, self._wanted_update)
        sparse = {param.grad_stype for param in self._params} - {"default"} and not any(param.stype != "default" for param in self._params)
        if self._wanted_update is None and store is not None and sparse and "dist" not in store.type:
            on_store = False  # as in MXNet: the store sums the few rows, and each device updates them
        if store is None and self._wanted_update:
            raise ParameterError("Trainer: there is no store to update on", "update_on_kvstore=True", "omit it: one device needs no store")
        if store is not None and not on_store and "async" in store.type:
            raise ParameterError(
                "Please set update_on_kvstore=True when training in async mode", "update_on_kvstore=False", "omit it: the servers update"
            )
        if store is not None and self._compression is not None:
            store.set_gradient_compression(self._compression)
        if store is not None and on_store:
            store.set_optimizer(self._optimizer)
        # all of them, even those whose shape is not known yet: a later step sends these
        self._unsent = set(range(len(self._params)))
        # last: a store that an interrupt has kept from getting its optimizer would take gradients for weights
        self._kvstore, self._update_on_kvstore, self._has_store = store, None if store is None else on_store, True

    def _store_of_workers(self) -> KVStoreBase | None:
        """The store, if it was passed in or spans several processes. It is created before the first step: spares wait in it."""
        wanted = self._wanted_store
        if isinstance(wanted, str) and not self._has_store and spans(wanted.lower()):
            self._init_kvstore()
        return self._kvstore if self._has_store else wanted if isinstance(wanted, KVStoreBase) else None

    def _send(self, k: int) -> None:
        """Send a parameter's initial value to the store, if there is one, unless it was sent or the value is not known yet."""
        if k in self._unsent and self._params[k]._data is not None:
            if self._kvstore is not None:
                self._initial.send(self._kvstore, k, self._params[k]._initialized().arrays)
            self._unsent.discard(k)

    def _invalidate_store(self, param: Parameter) -> None:
        """Called before a parameter is set: a store that holds weights is recreated from the new values at the next step."""
        # a value that was not sent yet needs no new store: the next step sends it
        if not (self._has_store and self._update_on_kvstore) or self._param2idx.get(param.name) in self._unsent:
            return
        if not isinstance(self._wanted_store, (str, type(None))):
            what = f"Cannot reset a kvstore that was given as an object: Parameter '{param.name}' is set"
            raise MXNetError(what, None, "pass the kind of store instead")
        states = getattr(getattr(self._kvstore, "_updater", None), "states", {})
        if any(state is not None for state in states.values()):
            what = f"Parameter '{param.name}' is set: the store drops the optimizer's states. Set parameters before states are loaded."
            warn(what, stacklevel=2)
        self._reset_kvstore()

    # steps

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self._optimizer.learning_rate

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Raises
        ------
        ParameterError
            If the optimizer has a scheduler.
        """
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Sum the gradients over devices and update the parameters. Call it after backward.

        Parameters
        ----------
        batch_size
            The divisor of the gradients.
        ignore_stale_grad
            Whether to skip parameters whose gradients no backward pass has written since the last step, instead of raising.

        Raises
        ------
        StaleGradient
            If there is such a gradient and it is not to be skipped.
        """
        self._begin(batch_size)
        # Before anything is sent: a store that has updated some weights could not take it back.
        if self._update_on_kvstore and not ignore_stale_grad:
            for _, param in self._trained():
                self._check_fresh(param)
        if self._update_on_kvstore and self._overflows():  # before the store gets the gradients: it applies them on arrival
            return
        if self._kvstore is not None or self._has_own_sums:
            self._allreduce_grads()
        self._update(ignore_stale_grad)

    def _overflows(self) -> bool:
        """Whether mixed precision is in use and scaled gradients are not finite, so that the step must be skipped."""
        return self._amp_loss_scaler is not None and self._amp_loss_scaler.has_overflow(self._params)

    def _begin(self, batch_size: float | None = None) -> None:
        if batch_size is not None:
            if not batch_size:
                raise NoSamples("Trainer: the sum of gradients is divided by the number of samples", "batch_size=0", "pass 1 or more")
            self._optimizer.rescale_grad = self._scale / batch_size
        if self._unsent or not self._has_store:
            self._prepare_store()

    def _prepare_store(self) -> None:
        if not self._has_store:
            self._init_kvstore()
        # In each step, as parameters of unknown shape get their values in the first forward pass that reaches them.
        self._init_params()

    def _init_params(self) -> None:
        """Send the parameters that are initialized to the store."""
        for k in tuple(self._unsent):
            self._send(k)

    def allreduce_grads(self) -> None:
        """Sum the gradients over devices without updating, so that they can be clipped before `update`.

        Raises
        ------
        ParameterError
            If the store updates the parameters.
        """
        self._begin()
        self._check_own_update("allreduce_grads()")
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update the parameters after `allreduce_grads`; see `step`.

        Raises
        ------
        ParameterError
            If the store updates the parameters.
        """
        self._begin(batch_size)
        self._check_own_update("update()")
        self._update(ignore_stale_grad)

    def _check_own_update(self, what: str) -> None:
        if self._update_on_kvstore:
            raise InvalidValue(
                f"{what} when parameters are updated on kvstore is not supported",
                None,
                "set `update_on_kvstore` to False when creating trainer",
            )

    def _trained(self) -> Iterable[tuple[int, Parameter]]:
        return ((k, param) for k, param in enumerate(self._params) if param.grad_req != "null")

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:  # a subclass may call this without a store
            return
        trained = list(self._trained())
        # a store that updates returns weights; one that sums returns gradients, into the same arrays
        outs = [param._initialized().arrays for _, param in trained] if self._update_on_kvstore else None
        self._kvstore.pushpull_list([k for k, _ in trained], [param._gradients() for _, param in trained], outs)

    def _check_fresh(self, param: Parameter) -> None:
        # set by backward and cleared by each step, on every device
        stale = next((a for a in param._initialized().arrays if not a._fresh_grad), None)
        if stale is not None:
            raise self._stale(param, stale)

    @staticmethod
    def _stale(param: Parameter, array: NDArray) -> StaleGradient:
        return StaleGradient(
            f"Gradient of Parameter `{param.name}` on context {array.context} has not been updated by backward since last `step`. "
            "This could mean a bug in your model that made it only use a subset of the Parameters (Blocks) for this iteration",
            None,
            "if you are intentionally only using a subset, call step with ignore_stale_grad=True",
        )

    def _update(self, ignore_stale_grad: bool = False) -> None:
        if self._update_on_kvstore or self._overflows():
            return
        works = self._cache[1] if self._cache[0] == RENEWALS.count else self._new_works()
        # The usual step asks only this: gradients are all new, and the cached calls serve. Arrays of ``mx.np`` own what views of them show.
        owners = [w if w._held is not None else w._base for work in works for w in work.weights]
        if not all([(g := w._gradient) is not None and g.fresh for w in owners]):  # noqa: C419  one frame, not one each
            works = [self._fresh_part(work, ignore_stale_grad) for work in works]
        store = self._kvstore
        try:
            for updater, work in zip(self._updaters, works, strict=True):
                if work.indices:
                    updater(*work) if store is None else store.update_with(updater, *work)
                # used up: the next step needs another backward pass
                for weight in work.weights:
                    (weight if weight._held is not None else weight._base)._gradient.fresh = False
        except BaseException as error:
            make_copies_equal(self._updaters, works, error)
            raise

    def _new_works(self) -> list[Work]:
        """The weights and gradients to update, by device: all weights in one call, so that the optimizer can update them in one program.

        Cached until arrays of some parameter are replaced.
        """
        count = RENEWALS.count  # read first: arrays that another thread replaces meanwhile make the entry stale, not wrong
        rows: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in self._updaters]
        for k, param in self._trained():
            # one row per updater; a parameter has as many copies as there are devices
            for row, weight, grad in zip(rows, param._initialized().arrays, param._gradients(), strict=False):
                row.append((k, grad, weight))
        works = [Work(*zip(*row, strict=True)) if row else Work((), (), ()) for row in rows]
        self._cache = count, works
        return works

    def _fresh_part(self, work: Work, ignore_stale_grad: bool) -> Work:
        """The weights whose gradients are new; raises for the others unless they may be skipped."""
        fresh = [k for k, weight in enumerate(work.weights) if weight._fresh_grad]
        if not ignore_stale_grad and len(fresh) < len(work.weights):
            k = next(k for k in range(len(work.weights)) if k not in fresh)
            raise self._stale(self._params[work.indices[k]], work.weights[k])
        indices, grads, weights = work
        return Work(tuple([indices[k] for k in fresh]), tuple([grads[k] for k in fresh]), tuple([weights[k] for k in fresh]))

    # files

    def save_states(self, fname: str | PathLike[str]) -> None:
        """Write the optimizer, its states and update counts to a file that MXNet can read too.

        Parameters
        ----------
        fname
            The file.
        """
        store = self._updating_store()
        if store is not None:
            store.save_optimizer_states(fname, dump_optimizer=True)
        else:
            write_file(fname, [self._updaters[0].get_states(dump_optimizer=True)])

    def load_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer, its states and update counts from a file written by `save_states` or MXNet.

        Parameters
        ----------
        fname
            The file.

        Raises
        ------
        FormatError
            If the file is damaged, or a state has another shape than its parameter. The former states stay.
        """
        store = self._updating_store()
        if store is not None:
            store.load_optimizer_states(fname)
        else:
            states = read_file(fname)
            weights = {k: param._data[0] for k, param in self._trained() if param._data is not None}
            for updater in self._updaters:
                try:
                    updater._load(states, weights)
                except FormatError as error:
                    what = f"{fspath(fname)}: these are not the states of a trainer: {error.what}"
                    raise FormatError(what, error.given, "pass a file that Trainer.save_states wrote") from error
                updater.optimizer = self._updaters[0].optimizer  # one for all: its counts of updates must not diverge
        self._optimizer = (self._updaters[0] if store is None else store._updater).optimizer
        if store is None or "dist" not in store.type:  # the file may be from other devices, or from a store, which counts on one
            self._optimizer.move_progress(dict, [device.device_id for device in self._contexts])
        # The optimizer of the file has none: multipliers of learning rates are read from the parameters.
        self._optimizer.param_dict = dict(enumerate(self._params))

    def _updating_store(self) -> Any:
        """The store, with all parameters sent to it, if it runs the optimizer; else None."""
        if not self._has_store:
            self._init_kvstore()
        if not self._update_on_kvstore:
            return None
        if self._unsent:
            self._init_params()
        return self._kvstore


def _parameter_list(params: Any) -> list[Parameter]:
    # sorted by name, as in MXNet: the order gives the indices under which states are saved
    if isinstance(params, (Mapping, ParameterDict)):
        params = [params[key] for key in sorted(params.keys())]
    if not isinstance(params, (list, tuple)):
        raise ParameterError("First argument must be a list or dict of Parameters", type(params).__name__, "pass net.collect_params()")
    for param in params:
        if not isinstance(param, Parameter):
            raise ParameterError(
                "First argument must be a list or dict of Parameters", f"a list with {type(param).__name__}", "pass net.collect_params()"
            )
    return list(params)

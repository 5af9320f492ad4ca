"""`Parameter`: a weight of a model with a copy per device, gradients, and initialization deferred until its shape is known; `Constant`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypedDict
from weakref import ref

import numpy as np

from .. import initializer
from .. import ndarray as nd
from ..device import CPU, Device
from ..dtype import dtype_name
from ..errors import DeferredInitializationError, InvalidValue, MXNetError, ParameterError, WrongShape
from ..extension_points import shown_in_notebooks
from ..imperative.array import Array
from ..imperative.scope import Scope, separate_windows
from ..ndarray.array import NDArray
from ..numpy_extension import is_np_array, is_np_shape
from ..opdef import STORAGE_TYPES
from ..origin import warn
from ..symbol.compose import variable
from ..symbol.symbol import Symbol
from .checked_attributes import CheckedAttributes
from .copies import INITIALIZING, RENEWALS, Copies, context_list, rows_of
from .numpy_arrays import as_active_class, as_legacy
from .signatures import DTypeLike, InitializerLike, check_dtype_source
from .wrong_inputs import checked_shape

__all__ = ["Constant", "DeferredInitializationError", "Parameter"]

Shape = tuple[int, ...] | None
Contexts = Device | Sequence[Device] | None
#: The initializer of models that specify none.
DEFAULT = initializer.Uniform()
GRAD_REQS = ("write", "add", "null")


class ParameterAttributes(TypedDict, total=False):
    """The arguments of `Parameter` besides its name."""

    grad_req: str
    shape: int | Sequence[int] | None
    dtype: DTypeLike
    lr_mult: float
    wd_mult: float
    init: InitializerLike
    allow_deferred_init: bool
    differentiable: bool
    stype: str
    grad_stype: str


class Parameter(CheckedAttributes):
    """A weight or other persistent array of a model.

    Parameters
    ----------
    name
        Its name, which is also that of its variable in symbols.
    grad_req
        How backward stores its gradient: ``"write"``, ``"add"``, or ``"null"`` for no gradient.
    shape
        Sizes of the axes. A size of 0, or None for the whole shape, is unknown.
    dtype
        Dtype of the arrays.
    lr_mult, wd_mult
        Multipliers of the learning rate and of weight decay.
    init
        Its initializer, or the name of one; None to use the model's.
    allow_deferred_init
        Whether `initialize` may be called before the shape is known. The arrays are then created once it is.
    differentiable
        Whether it can have a gradient.
    stype, grad_stype
        Storage type of the arrays and gradients: only ``"default"`` (dense) is supported.

    Raises
    ------
    ParameterError
        If ``grad_req``, a storage type or the shape is invalid.

    Examples
    --------
    >>> import twofold as mx
    >>> weight = mx.gluon.Parameter("weight", shape=(2, 2))
    >>> weight.initialize(mx.init.One())
    >>> weight.data().asnumpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: InitializerLike = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self.name = name
        self._shape: Shape = None if shape is None else checked_shape(name, shape)
        self._dtype = dtype
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.init = init
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._stype, self._grad_stype = self._storage(stype, "stype"), self._storage(grad_stype, "grad_stype")
        # At most one of the two is set: a parameter is initialized, or its initialization waits for the shape.
        self._copies: Copies | None = None
        self._deferred: _Deferred | None = None
        self._is_numpy = False
        self._var: Symbol | None = None
        self._trainer: Callable[[], Any] | None = None
        self._grad_req = "null"
        self.grad_req = grad_req

    def _storage(self, stype: str, what: str) -> str:
        if stype not in STORAGE_TYPES:
            raise InvalidValue(
                f"{what} for Parameter '{self.name}' must be one of 'default', 'row_sparse', or 'csr'", repr(stype), "use 'default'"
            )
        return stype

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    _repr_html_ = shown_in_notebooks("parameter")

    # attributes

    @property
    def grad_req(self) -> str:
        """How backward stores the gradient: ``"write"``, ``"add"`` or ``"null"``."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in GRAD_REQS:
            raise InvalidValue("grad_req must be one of 'write', 'add', or 'null'", repr(req), "use one of these")
        if not self._differentiable:
            req = "null"
        if self._grad_req != req:
            self._grad_req = req
            if self._copies is not None:
                self._init_grad()

    @property
    def dtype(self) -> DTypeLike:
        """The dtype, as given. Setting it casts the arrays."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Shape:
        """Sizes of the axes; None if nothing is known. An unknown size is 0, or -1 with NumPy's shapes. Assignments may only fill in such.

        Raises
        ------
        ShapeError
            On assignment of a shape that contradicts the known sizes.
        """
        return self._shape if self._shape is None or not is_np_shape() else tuple([n or -1 for n in self._shape])

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        new = tuple([max(n, 0) for n in shape])
        if not self._is_compatible(new):
            raise WrongShape(
                f"Expected shape {new} is incompatible with given shape {self._shape}",
                f"{new} for Parameter '{self.name}'",
                f"its shape is {self._shape}",
            )
        self._shape = new

    def _is_compatible(self, shape: Sequence[int]) -> bool:
        """Whether a shape agrees with the known sizes."""
        old = self._shape
        return old is None or (len(old) == len(shape) and all(a in (0, -1, b) for a, b in zip(old, shape, strict=True)))

    def _own_shape(self, data: Array | np.ndarray) -> tuple[int, ...]:
        """The shape of an array of this parameter. Those of 0-d ones have one axis, which `mx.np` hides, except under `np_shape`."""
        # MXNet's files have no arrays without axes.
        return () if self._shape == () and data.size == 1 else tuple(data.shape)

    @property
    def stype(self) -> str:
        """Storage type of the arrays: ``"default"`` (dense), or ``"row_sparse"``."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """Storage type of the gradients: ``"default"`` (dense), or ``"row_sparse"``."""
        return self._grad_stype

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The shape of a parameter that was created with one."""
        return self._shape or ()

    @property
    def _is_shaped(self) -> bool:
        return self._shape is not None and all(n > 0 for n in self._shape)

    # initialization

    def initialize(
        self,
        init: InitializerLike = None,
        ctx: Contexts = None,
        default_init: InitializerLike = DEFAULT,
        force_reinit: bool = False,
    ) -> None:
        """Create the arrays, now or once the shape is known.

        Parameters
        ----------
        init
            The initializer; if None the parameter's own, or ``default_init``.
        ctx
            The device, or several for a copy on each; the current one if None.
        default_init
            The initializer of the whole model.
        force_reinit
            Re-initialize the parameter if it is initialized already.

        Raises
        ------
        ParameterError
            If the shape is unknown and deferred initialization is not allowed.
        """
        if self._data is not None and not force_reinit:
            warn(f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.")
            return
        own = next((i for i in (init, self.init) if i is not None), default_init)
        before = self._copies, self._deferred
        try:
            # This always makes a deferred initialization, and finishes it immediately if the shape is known.
            self._copies, self._deferred = None, _Deferred(own, default_init, context_list(ctx))
            if self._is_shaped:
                self._finish_deferred_init()
            elif not self._allow_deferred_init:
                raise self._unshaped("specify the whole shape, or allow_deferred_init")
        except BaseException:  # Ctrl-C and a full memory too leave it as it was
            self._copies, self._deferred = before
            raise

    def _unshaped(self, todo: str) -> InvalidValue:
        return InvalidValue(f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}", None, todo)

    def _finish_deferred_init(self) -> None:
        """Create the arrays if initialization was deferred."""
        with INITIALIZING.lock:
            deferred = self._deferred
            if deferred is None:
                return
            if not self._is_shaped:
                raise self._unshaped("specify sizes of 1 or more, such as units and in_units, in the layer")
            data = deferred.data
            if data is None:
                # unrecorded; and on the CPU, then copied: all devices get the same random numbers
                with Scope(False, None), separate_windows():
                    data = as_active_class(nd.zeros(self.shape or (1,), ctx=CPU, dtype=self.dtype))
                    named = initializer.InitDesc(self.name, {"__init__": deferred.init})
                    initializer.create(deferred.default)(named, data)
            # it stays deferred until the arrays are complete, so that the next call makes them if this one is interrupted
            self._init_impl(as_legacy(data), deferred.contexts)
            self._deferred = None

    def _init_impl(self, data: NDArray, ctx_list: Sequence[Device]) -> None:
        """Create the arrays as copies of ``data``, unrecorded, and their gradients. ``npx.set_np`` decides which class users see."""
        self._is_numpy = is_np_array()
        before, is_own = self._copies, type(self)._init_grad is not Parameter._init_grad
        try:
            with Scope(False, None), separate_windows():
                # with gradients, else threads that record meanwhile would record nothing; but a subclass's `_init_grad` looks at the arrays
                array = data.reshape(() if self._shape == () and is_np_shape() and not self._is_numpy else data.shape or (1,))
                self._copies = Copies(array, ctx_list, self._stype, self._grad_stype, self._is_numpy, None if is_own else self._grad_req)
                if is_own:
                    self._init_grad()
        except BaseException:
            self._copies = before
            raise
        finally:
            RENEWALS.count += 1

    def _init_grad(self) -> None:
        """Create the gradients, or drop them if there are to be none."""
        copies = self._initialized()
        copies.grads = None  # gradients summed under "add" do not count after a change to "write", nor the reverse
        copies.attach(self._grad_req)

    @property
    def _data(self) -> list[NDArray] | None:
        """The arrays of all devices; None before initialization."""
        return None if self._copies is None else self._copies.arrays

    @property
    def _grad(self) -> list[NDArray] | None:
        """The gradients on all devices; None before initialization and without gradients. Scripts read it."""
        return None if self._copies is None else self._copies.grads

    def _load_init(self, data: NDArray, ctx: Contexts, cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Set the parameter to an array read from a file; see `ParameterDict.load_dict`."""
        contexts = self._check_load(data, ctx, cast_dtype, dtype_source)
        # the file knows the sizes that a deferred parameter left open
        self._shape = self._own_shape(data)
        data = as_legacy(data)
        if cast_dtype and dtype_source == "current":
            data = data.astype(self.dtype, copy=False)
        elif cast_dtype:
            self._dtype = data.dtype
        # In place where possible: arrays that the user holds, and gradients, survive loading.
        if self._data is not None and self._data[0]._dtype == data._dtype:
            self.set_data(data)
        else:
            self._init_impl(data, contexts)
        self._deferred = None

    def _check_load(self, data: NDArray, ctx: Contexts, cast_dtype: bool, dtype_source: str) -> Sequence[Device]:
        """Check that `_load_init` can set the parameter to an array, and change nothing. Returns the parameter's devices."""
        check_dtype_source(cast_dtype, dtype_source)
        what = f"Failed loading Parameter '{self.name}' from saved params"
        if not self._is_compatible(self._own_shape(data)):
            raise WrongShape(f"{what}: shape incompatible, expected {self.shape}", f"{data.shape}", "load the file of this model")
        if not cast_dtype and dtype_name(self.dtype) != data._dtype:
            raise InvalidValue(
                f"{what}: dtype incompatible, expected {dtype_name(self.dtype)}",
                dtype_name(data.dtype),
                "set cast_dtype=True to cast the dtype of saved params",
            )
        # Devices chosen by `initialize` stay; only a parameter without devices takes those of the call.
        contexts = self._deferred.contexts if self._deferred is not None else None if self._data is None else self.list_ctx()
        wanted = None if ctx is None else context_list(ctx)
        if contexts is not None and wanted is not None and set(wanted) != set(contexts):
            raise InvalidValue(
                f"Failed to load Parameter '{self.name}' on {wanted} because it was previous initialized on {contexts}",
                None,
                "omit ctx, or use reset_ctx",
            )
        return contexts or wanted or [CPU]

    # arrays

    def _missing(self) -> MXNetError:
        # the arrays may be there by now: another thread has made them since this one looked
        if self._deferred is not None or self._copies is not None:
            return DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred",
                None,
                "pass one batch of data through the network first, or specify in_units, in_channels, etc. of the layers",
            )
        return MXNetError(
            f"Parameter '{self.name}' has not been initialized",
            None,
            "call initialize() of the block first; it knows the parameters of its layers, and those that self.params.get(name, …) makes",
        )

    def _initialized(self) -> Copies:
        if self._copies is None:
            raise self._missing()
        return self._copies

    def data(self, ctx: Device | None = None) -> NDArray:
        """The array on a device; for None on the only device, or the current one.

        It is an array of `mx.np` if the parameter was initialized under ``npx.set_np``.

        Raises
        ------
        DeferredInitializationError
            If the shape is not known yet.
        MXNetError
            If `initialize` was not called, or not for that device.
        """
        array = self._array(ctx)
        return self._as_numpy(array) if self._is_numpy else array  # `_public` without its frame: every training step asks

    def _public(self, array: NDArray) -> NDArray:
        """An array in the class that users see."""
        return self._as_numpy(array) if self._is_numpy else array

    def _as_numpy(self, array: NDArray) -> NDArray:
        """An array of the parameter as an array of `mx.np`."""
        view: Any = array.as_np_ndarray()  # a class beside NDArray, which has its methods
        return view.reshape(()) if self._shape == () else view

    def _on(self, ctx: Device | None) -> NDArray:
        """The array on a device, in the class that layers compute with."""
        copies = self._copies
        if copies is None:
            raise self._missing()
        place = copies.dense_places.get(ctx)
        return copies.arrays[copies.dense_place(ctx, self.name) if place is None else place]

    _array = _on  # what `data` returns; layers call `_on`, which may call a `data` that a subclass overrides

    def list_data(self) -> list[NDArray]:
        """The arrays on all devices, in the order given to `initialize`."""
        if self._stype != "default":
            what = (
                f"Cannot return copies of Parameter '{self.name}' on all contexts via list_data() because its storage type is {self._stype}"
            )
            raise MXNetError(what, None, "Please use row_sparse_data() instead")
        return [self._public(array) for array in self._initialized().arrays]

    def _gradients(self) -> list[NDArray]:
        grads = self._initialized().grads
        if grads is None:
            raise MXNetError(
                f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'", None, "set grad_req to 'write'"
            )
        return grads

    def grad(self, ctx: Device | None = None) -> NDArray:
        """The gradient on a device; see `data`.

        Raises
        ------
        MXNetError
            Also if the parameter has no gradient.
        """
        copies = self._copies if self._copies is not None else self._initialized()  # a frame less: every training step asks
        grads = self._gradients() if copies.grads is None else copies.grads
        place = copies.places.get(ctx)
        grad = grads[copies.place(ctx, self.name) if place is None else place]
        return self._as_numpy(grad) if self._is_numpy else grad

    def list_grad(self) -> list[NDArray]:
        """The gradients on all devices."""
        return [self._public(grad) for grad in self._gradients()]

    def list_ctx(self) -> list[Device]:
        """The devices."""
        if self._copies is not None:
            return list(self._copies.contexts)
        if self._deferred is not None:
            return list(self._deferred.contexts)
        raise MXNetError(f"Parameter '{self.name}' has not been initialized", None, "call initialize first")

    def set_data(self, data: Array | np.ndarray) -> None:
        """Set the arrays on all devices to a value.

        Parameters
        ----------
        data
            An array of the parameter's shape.
        """
        self.shape = self._own_shape(data)
        data = as_legacy(data)
        if self._data is None:
            if self._deferred is None:
                raise InvalidValue(f"Parameter '{self.name}' has not been initialized", None, "call initialize first")
            self._deferred = self._deferred._replace(data=nd.array(data, dtype=self.dtype))
            self._finish_deferred_init()
            return
        # A store that runs the optimizer holds the weights: it would overwrite the new values in the next step.
        trainer = None if self._trainer is None else self._trainer()
        if trainer is not None:
            trainer._invalidate_store(self)
        # In place: the array that `data` returned, and gradients attached to it, stay valid.
        for array in self._data:
            array[...] = data if self._stype == "default" else rows_of(data, array)

    def zero_grad(self) -> None:
        """Set the gradients on all devices to 0."""
        if self._copies is not None:
            self._copies.zero_gradients()

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move to other devices.

        Parameters
        ----------
        ctx
            The device or devices.

        Raises
        ------
        ParameterError
            If the parameter is not initialized.
        """
        contexts = context_list(ctx)
        if self._copies is not None:
            self._init_impl(self._reduce(), contexts)
        elif self._deferred is not None:
            self._deferred = self._deferred._replace(contexts=contexts)
        else:
            raise ParameterError(
                f"Cannot reset context for Parameter '{self.name}' because it has not been initialized", None, "call initialize"
            )

    def _reduce(self) -> NDArray:
        """The mean over devices, on the CPU."""
        return self._initialized().mean()

    def cast(self, dtype: DTypeLike) -> None:
        """Cast the arrays and gradients."""
        self._dtype = dtype
        self._var = None  # the variable's attributes say the dtype
        if self._copies is not None:
            with Scope(False, None):
                self._copies.cast(dtype)
                self._copies.attach(self._grad_req)

    def var(self) -> Symbol:
        """The variable for it in symbols. Every call returns the same one."""
        if self._var is None:
            self._var = variable(
                self.name, shape=self.shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult, init=self.init, stype=self._stype
            )
        return self._var

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows of a row-sparse parameter on the device of ``row_id``. While recording, gradients flow to them.

        Parameters
        ----------
        row_id
            Row numbers, of any shape; each is returned once.

        Raises
        ------
        MXNetError
            If the parameter is dense, not initialized, or belongs to no `Trainer`.
        """
        return self._row_copies("row_sparse_data", "a copy").rows_on(row_id.context, row_id, self.name)

    def row_sparse_copy(self, ctx: Device) -> NDArray:
        """The parameter's row-sparse array on a device, not a copy, with every stored row; raises as `row_sparse_data`."""
        copies = self._row_copies("row_sparse_data", "a copy")
        return copies.arrays[copies.place(ctx, self.name)]

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """`row_sparse_data` on all devices."""
        copies = self._row_copies("list_row_sparse_data", "copies")
        return [copies.rows_on(device, row_id, self.name) for device in copies.contexts]

    def _row_copies(self, method: str, what: str) -> Copies:
        if self._stype != "row_sparse":
            reason = f"Cannot return {what} of Parameter {self.name} via {method}() because its storage type is {self._stype}"
            raise MXNetError(reason, None, "use data() instead")
        if self._trainer is None or self._trainer() is None:
            reason = f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it"
            raise MXNetError(reason, None, "create the Trainer first")
        return self._initialized()

    def _set_trainer(self, trainer: Any) -> None:
        """Remember the trainer that updates it, by a weak reference; a row-sparse parameter can have only one."""
        if self._stype != "default" and self._trainer is not None and self._trainer() not in (None, trainer):
            what = f"Failed to set the trainer for Parameter '{self.name}' because it was already set"
            raise MXNetError(what, None, "More than one trainers for a row_sparse Parameter is not supported")
        self._trainer = ref(trainer)

    def __getstate__(self) -> dict[str, object]:
        # A weak reference cannot be pickled; the variable is created again.
        return {**vars(self), "_trainer": None, "_var": None}


class Constant(Parameter):
    """A parameter with a fixed value and no gradient.

    Parameters
    ----------
    name
        Its name.
    value
        An array, or anything that `twofold.nd.array` accepts.
    """

    def __init__(self, name: str, value: object) -> None:
        self.value: Array = value if isinstance(value, Array) else as_active_class(nd.array(value))
        super().__init__(
            name,
            grad_req="null",
            shape=self.value.shape,
            dtype=self.value.dtype,
            init=initializer.Constant(self.value.asnumpy()),
            differentiable=False,
        )

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"


class _Deferred(NamedTuple):
    """An initialization deferred until the shape is known."""

    init: InitializerLike
    default: InitializerLike
    contexts: Sequence[Device]
    #: The value to set, instead of an initial one.
    data: NDArray | None = None

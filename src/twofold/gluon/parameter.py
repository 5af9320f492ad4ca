"""`Parameter`: a weight of a model with a copy on each device, its gradients, and initialization that waits for the shape; `Constant`."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from .. import initializer
from .. import ndarray as nd
from ..device import CPU, Device, current_device
from ..dtype import dtype_name
from ..errors import DeferredInitializationError, DeviceError, MXNetError, ParameterError, ShapeError
from ..imperative.cell import Value
from ..imperative.scope import Scope
from ..initializer import InitDesc, Initializer
from ..ndarray.array import NDArray
from ..symbol.compose import variable
from ..symbol.symbol import Symbol

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "Refused"]

Shape = tuple[int, ...] | None
Contexts = Device | Sequence[Device] | None
GRAD_REQS = ("write", "add", "null")
STORAGE = ("default", "row_sparse", "csr")


class RENEWALS:
    """How often arrays of some parameter were made anew, in ``count``: who remembers arrays of parameters compares it."""

    count = 0


class Refused(ParameterError, AssertionError):
    """A value that does not fit; MXNet says so by an AssertionError."""


class Parameter:
    """A weight of a model, or another array that belongs to it.

    Parameters
    ----------
    name
        Its name; also of its variable in symbols.
    grad_req
        What backward does with its gradient: ``"write"``, ``"add"`` or ``"null"`` (nothing: it has none).
    shape
        Sizes of the axes; a size of 0, or None for the whole shape, is not known yet.
    dtype
        Of the arrays.
    lr_mult, wd_mult
        Multipliers of the learning rate and of weight decay.
    init
        How it starts (an initializer or its name), where the model's initializer shall not say it.
    allow_deferred_init
        Whether `initialize` may be called before the shape is known: the arrays are made once it is.
    differentiable
        Whether it can have a gradient at all.
    stype, grad_stype
        Storage of the arrays and of the gradients: ``"default"`` (dense) only.

    Raises
    ------
    ParameterError
        For another ``grad_req`` or storage.

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
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        self.name = name
        self._shape: Shape = (shape,) if isinstance(shape, int) else shape if shape is None else tuple(shape)
        self._dtype = dtype
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.init = init
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._stype, self._grad_stype = self._dense(stype, "stype"), self._dense(grad_stype, "grad_stype")
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._place: dict[Device, int] = {}
        self._waiting: _Waiting | None = None
        self._var: Symbol | None = None
        self._trainer: Callable[[], Any] | None = None
        self._grad_req = "null"
        self.grad_req = grad_req

    def _dense(self, stype: str, what: str) -> str:
        if stype not in STORAGE:
            raise Refused(
                f"{what} for Parameter '{self.name}' must be one of 'default', 'row_sparse', or 'csr'", repr(stype), "use 'default'"
            )
        if stype != "default":
            raise ParameterError(f"Parameter '{self.name}': arrays of this storage are not made here", f"{what}={stype!r}", "use 'default'")
        return stype

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    # what it is

    @property
    def grad_req(self) -> str:
        """What backward does with the gradient: ``"write"``, ``"add"`` or ``"null"``."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in GRAD_REQS:
            raise Refused("grad_req must be one of 'write', 'add', or 'null'", repr(req), "use one of these")
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is not None:
            self._attach_gradients()

    @property
    def dtype(self) -> Any:
        """The dtype as it was given. Setting it casts the arrays."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Shape:
        """Sizes of the axes, 0 for an unknown one; None if nothing is known. Setting it may only make unknown sizes known.

        Raises
        ------
        ShapeError
            When it is set to a shape that contradicts what is known.
        """
        return self._shape

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        old, new = self._shape, tuple(shape)
        if old is not None and (len(old) != len(new) or any(a not in (0, b) for a, b in zip(old, new, strict=True))):
            raise _WrongShape(
                f"Expected shape {new} is incompatible with given shape {old}", f"Parameter '{self.name}'", "give shapes that agree"
            )
        self._shape = new

    @property
    def stype(self) -> str:
        """Storage of the arrays: ``"default"`` (dense)."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """Storage of the gradients: ``"default"`` (dense)."""
        return self._grad_stype

    @property
    def _is_shaped(self) -> bool:
        return self._shape is not None and all(n > 0 for n in self._shape)

    # initialization

    def initialize(
        self, init: Any = None, ctx: Contexts = None, default_init: Any = initializer.Uniform(), force_reinit: bool = False
    ) -> None:
        """Make the arrays, or note how to make them once the shape is known.

        Parameters
        ----------
        init
            The initializer; if None the parameter's own, or else ``default_init``.
        ctx
            The device, or several for a copy on each; the current one if None.
        default_init
            The initializer of the whole model.
        force_reinit
            Make them anew if they are there already.

        Raises
        ------
        ParameterError
            If the shape is unknown and the parameter may not wait for it.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.",
                UserWarning,
                stacklevel=2,
            )
            return
        self._forget_arrays()
        own = init if init is not None else self.init if self.init is not None else default_init
        self._waiting = _Waiting(own, default_init, context_list(ctx))
        if self._is_shaped:
            self._finish_deferred_init()
        elif not self._allow_deferred_init:
            self._waiting = None
            raise ParameterError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}",
                None,
                "give its whole shape, or allow_deferred_init",
            )

    def _finish_deferred_init(self) -> None:
        """Make the arrays if that was waiting for the shape."""
        waiting = self._waiting
        if waiting is None:
            return
        if not self._is_shaped:
            raise ParameterError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}",
                None,
                "specify in_units, in_channels, etc. of the layers",
            )
        self._waiting = None
        with Scope(False, None):
            data = waiting.data
            if data is None:
                data = nd.zeros(self.shape, ctx=CPU, dtype=self.dtype)
                default = waiting.default if isinstance(waiting.default, Initializer) else initializer.create(waiting.default)
                default(InitDesc(self.name, {"__init__": waiting.init}), data)
            self._put(data, waiting.contexts)

    def _put(self, data: NDArray, contexts: Sequence[Device]) -> None:
        """Make the arrays as copies of one, and their gradients."""
        RENEWALS.count += 1
        self._data = [data.copyto(c) for c in contexts]
        self._place = {c: k for k, c in enumerate(contexts)}
        self._attach_gradients()

    def _forget_arrays(self) -> None:
        RENEWALS.count += 1
        self._data = self._grad = None
        self._place = {}

    def _attach_gradients(self) -> None:
        arrays = self._data or []
        if self._grad_req == "null":
            self._grad = None
            for array in arrays:
                _detach_gradient(array)
            return
        if self._grad is None:
            self._grad = [nd.zeros(a.shape, ctx=a.context, dtype=a._dtype) for a in arrays]
        for array, grad in zip(arrays, self._grad, strict=True):
            array._attach(grad, self._grad_req)

    def _load_init(self, data: NDArray, ctx: Contexts, cast_dtype: bool = False, dtype_source: str = "current") -> None:
        """Take over an array that was read from a file."""
        check_dtype_source(cast_dtype, dtype_source)
        what = f"Failed loading Parameter '{self.name}' from saved params"
        if self._shape is not None and (
            len(self._shape) != data.ndim or any(a not in (0, b) for a, b in zip(self._shape, data.shape, strict=True))
        ):
            raise _WrongShape(
                f"{what}: shape incompatible", f"expected {self.shape} vs saved {data.shape}", "load the file that belongs to this model"
            )
        self._shape = data.shape
        if cast_dtype and dtype_source == "current":
            data = data.astype(self.dtype, copy=False)
        elif cast_dtype:
            self._dtype = data.dtype
        elif dtype_name(self.dtype) != data._dtype:
            raise Refused(
                f"{what}: dtype incompatible",
                f"expected {self.dtype} vs saved {data.dtype}",
                "set cast_dtype=True to cast the dtype of saved params",
            )
        wanted = None if ctx is None else context_list(ctx)
        if self._data is None or self._waiting is not None:
            self._load_first(data, wanted)
        elif wanted is not None and set(wanted) != set(self.list_ctx()):
            raise Refused(
                f"Failed to load Parameter '{self.name}' on {wanted} because it was previous initialized on {self.list_ctx()}",
                None,
                "leave ctx out, or use reset_ctx",
            )
        elif cast_dtype and dtype_source == "saved" and data._dtype != self._data[0]._dtype:
            contexts = self.list_ctx()
            self._forget_arrays()
            self._put(data, contexts)
        else:
            self.set_data(data)
        self._waiting = None

    def _load_first(self, data: NDArray, wanted: list[Device] | None) -> None:
        if self._waiting is not None:
            contexts = self._waiting.contexts
            if wanted is not None and set(wanted) != set(contexts):
                raise Refused(
                    f"Failed to load Parameter '{self.name}' on {wanted} because it was previous initialized on {contexts}",
                    None,
                    "leave ctx out",
                )
            wanted = contexts
        self._waiting = None
        with Scope(False, None):
            self._put(data, wanted or [CPU])

    # arrays

    def _missing(self) -> MXNetError:
        if self._waiting is not None:
            return DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred",
                None,
                "pass one batch of data through the network before accessing parameters, or specify in_units, in_channels, etc. of the layers",
            )
        return MXNetError(
            f"Parameter '{self.name}' has not been initialized",
            None,
            "initialize parameters, and create Trainer, with Block.collect_params() instead of Block.params: the latter does not include those of children",
        )

    def _on(self, arrays: list[NDArray] | None, ctx: Device | None) -> NDArray:
        """One of the arrays: that of a device, or the only one."""
        if arrays is None:
            raise self._missing()
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_device()
        place = self._place.get(ctx)
        if place is None:
            place = self._place.get(Device("cpu" if ctx.is_host else "gpu", ctx.device_id))
        if place is None:
            raise DeviceError(
                f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized on {list(self._place)}",
                None,
                "use reset_ctx",
            )
        return arrays[place]

    def data(self, ctx: Device | None = None) -> NDArray:
        """The array of a device; if it is None that of the only one, or of the current one.

        Raises
        ------
        DeferredInitializationError
            If the shape is not known yet.
        MXNetError
            If `initialize` was not called, or not for that device.
        """
        return self._on(self._data, ctx)

    def list_data(self) -> list[NDArray]:
        """The arrays of all devices, in the order of `initialize`."""
        if self._data is None:
            raise self._missing()
        return list(self._data)

    def _gradients(self) -> list[NDArray]:
        if self._data is not None and self._grad is None:
            raise MXNetError(
                f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'", None, "set grad_req to 'write'"
            )
        if self._grad is None:
            raise self._missing()
        return self._grad

    def grad(self, ctx: Device | None = None) -> NDArray:
        """The gradient on a device; as `data`.

        Raises
        ------
        MXNetError
            Also if it has none.
        """
        return self._on(self._gradients(), ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients on all devices."""
        return list(self._gradients())

    def list_ctx(self) -> list[Device]:
        """The devices."""
        if self._data is not None:
            return list(self._place)
        if self._waiting is not None:
            return list(self._waiting.contexts)
        raise MXNetError(f"Parameter '{self.name}' has not been initialized", None, "call initialize first")

    def set_data(self, data: Any) -> None:
        """Write a value into the arrays of all devices.

        Parameters
        ----------
        data
            An array of the parameter's shape.
        """
        self.shape = data.shape
        if self._data is None:
            if self._waiting is None:
                raise Refused(f"Parameter '{self.name}' has not been initialized", None, "call initialize first")
            self._waiting = _Waiting(self._waiting.init, self._waiting.default, self._waiting.contexts, nd.array(data, dtype=self.dtype))
            self._finish_deferred_init()
            return
        trainer = None if self._trainer is None else self._trainer()
        if trainer is not None:
            trainer._take_back(self)
        for array in self._data:
            array[:] = data

    def zero_grad(self) -> None:
        """Set the gradients on all devices to 0."""
        for grad in self._grad or ():
            grad[:] = 0

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move to other devices.

        Parameters
        ----------
        ctx
            A device or several.

        Raises
        ------
        ParameterError
            If it was not initialized.
        """
        contexts = context_list(ctx)
        if self._data is not None:
            with Scope(False, None):
                data = self._reduce()
                self._forget_arrays()
                self._put(data, contexts)
        elif self._waiting is not None:
            self._waiting = _Waiting(self._waiting.init, self._waiting.default, contexts, self._waiting.data)
        else:
            raise ParameterError(
                f"Cannot reset context for Parameter '{self.name}' because it has not been initialized", None, "call initialize"
            )

    def _reduce(self) -> NDArray:
        """The mean over devices, on the CPU."""
        first, *others = [a.copyto(CPU) for a in self.list_data()]
        for array in others:
            first = first + array
        return first / (len(others) + 1) if others else first

    def cast(self, dtype: Any) -> None:
        """Cast the arrays and gradients."""
        self._dtype = dtype
        self._var = None
        if self._data is None:
            return
        RENEWALS.count += 1
        with Scope(False, None):
            self._data = [a.astype(dtype) for a in self._data]
            self._grad = None if self._grad is None else [g.astype(dtype) for g in self._grad]
            self._attach_gradients()

    def var(self) -> Symbol:
        """The variable that stands for it in symbols, always the same one."""
        if self._var is None:
            self._var = variable(
                self.name, shape=self.shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult, init=self.init, stype=self._stype
            )
        return self._var

    def row_sparse_data(self, row_id: NDArray) -> NoReturn:
        """Not possible: the arrays are dense.

        Raises
        ------
        MXNetError
            Always.
        """
        raise self._not_sparse("row_sparse_data")

    def list_row_sparse_data(self, row_id: NDArray) -> NoReturn:
        """Not possible: the arrays are dense.

        Raises
        ------
        MXNetError
            Always.
        """
        raise self._not_sparse("list_row_sparse_data")

    def _not_sparse(self, method: str) -> MXNetError:
        return MXNetError(
            f"Cannot return a copy of Parameter {self.name} via {method}() because its storage type is default", None, "use data() instead"
        )

    def _set_trainer(self, trainer: Any) -> None:
        """Note who updates it; not kept alive by that."""
        self._trainer = ref(trainer)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_trainer": None, "_var": None}


class Constant(Parameter):
    """A parameter of a given value, without gradient.

    Parameters
    ----------
    name
        Its name.
    value
        An array, or what `twofold.nd.array` makes one of.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.value: NDArray = value if isinstance(value, NDArray) else nd.array(value)
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


class _WrongShape(ShapeError, AssertionError):
    """A shape that contradicts the parameter's; MXNet says so by an AssertionError."""


class _Waiting:
    """Initialization that waits for the shape."""

    __slots__ = ("contexts", "data", "default", "init")

    def __init__(self, init: Any, default: Any, contexts: Iterable[Device], data: NDArray | None = None) -> None:
        self.init, self.default, self.contexts, self.data = init, default, list(contexts), data


def context_list(ctx: Contexts) -> list[Device]:
    """Devices as a list: one, several, or the current one for None."""
    if ctx is None:
        return [current_device()]
    return [ctx] if isinstance(ctx, Device) else list(ctx)


def check_dtype_source(cast_dtype: bool, dtype_source: str) -> None:
    """Raise unless ``dtype_source`` is one of its two values.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if cast_dtype and dtype_source not in ("current", "saved"):
        raise Refused("dtype_source must be one of 'current' and 'saved'", repr(dtype_source), "use one of these")


def _detach_gradient(array: NDArray) -> None:
    """The array wants no gradient any more: neither it nor its content is a variable."""
    array._g = None
    v = array._v
    if v.__class__ is Value and v.rec is not None and v.rec.grad is not None:
        v.rec = None

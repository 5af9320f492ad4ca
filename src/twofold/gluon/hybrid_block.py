"""`HybridBlock`: a block whose computation is written once for arrays and symbols, and can run as a compiled graph."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, ClassVar, Literal, TypedDict, cast

from .. import ndarray as nd
from ..collector import RESTING
from ..device import Device, current_device
from ..dtype import dtype_name
from ..errors import (
    DeferredInitializationError,
    DTypeError,
    IndexingError,
    MXNetError,
    ParameterError,
    ShapeError,
    ShapesNotInferred,
    Undefined,
)
from ..executor import Executor
from ..imperative.scope import Scope
from ..ndarray.array import NDArray
from ..numpy.array import ndarray
from ..signal_handlers import is_from_signal_handler
from ..strictness import tolerate
from ..symbol.compose import NotASymbol
from ..symbol.symbol import Symbol
from .block import Block, described, instead_of
from .numpy_arrays import as_legacy, as_numpy, cast_inputs, has_numpy, into_numpy
from .parameter import Parameter
from .parameter_dict import ParameterDict
from .signatures import DTypeLike, Given, OpHook
from .structure import ARRAY, NOTHING, flatten, parts, unflatten
from .tracing import ARRAYS, Trace, is_traceable, iter_arrays, parameter_names, shapes_of, trace
from .wrong_inputs import BACKENDS, TO_TRACE, Mistake, check_backend, foreign_input, name_of_layer, own_forward

__all__ = ["HybridBlock"]

#: Arrays of `mx.nd`, of `mx.np`, or both.
ArrayKind = Literal["nd", "np", "any"]
Shape = tuple[int, ...]
#: The classes of arrays that compiled graphs compute with.
PLAIN_ARRAYS = frozenset((NDArray,))


class Naming(TypedDict, total=False):
    """The arguments of `Block`, which all layers take as ``**kwargs``: the prefix of its parameters' names, and existing parameters."""

    prefix: str | None
    params: ParameterDict | None


class HybridBlock(Block):
    """Base class of layers and models that can be compiled. Subclasses define `hybrid_forward`.

    A call with arrays runs operator by operator or, after `hybridize`, as one compiled graph; a call with symbols composes them.
    A call with arrays of `mx.np` returns such arrays: `hybrid_forward` receives them unchanged and finds their functions in ``F.np``
    and ``F.npx``. In this case only the layers inside are compiled, not the block itself.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> class Scale(mx.gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.factor = self.params.get("factor", shape=(1,), init=mx.init.Constant(3))
    ...
    ...     def hybrid_forward(self, F, x, factor):
    ...         return F.broadcast_mul(x, factor)
    >>> scale = Scale()
    >>> scale.initialize()
    >>> scale.hybridize()
    >>> scale(mx.nd.array([1, 2])).asnumpy().tolist()
    [3.0, 6.0]
    """

    #: The kind of arrays that `hybrid_forward` computes with when the block is called with arrays of `mx.np`.
    _arrays: ClassVar[ArrayKind] = "nd"
    _replaces_forward: ClassVar[bool] = False  # by a user's own, which receives the arrays that the block was called with
    #: Whether `hybridize` compiles the block itself, besides its descendants.
    _is_compilable: ClassVar[bool] = True

    def __init_subclass__(cls, arrays: ArrayKind | None = None) -> None:
        super().__init_subclass__()
        if arrays is not None:
            cls._arrays = arrays
        elif "hybrid_forward" in vars(cls):
            cls._arrays = "np"  # a user's own computation: its base's declaration does not hold for it
        cls._replaces_forward |= arrays is None and "forward" in vars(cls)

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object) -> None:
        # Before the base's constructor, which registers the children that subclasses' `params` and properties may bring.
        self._active = self._is_composed = False  # composed: by a compiled block around it, whose graph contains this one's
        self._accepts_legacy: bool | None = None
        self._mirror = self._is_static = False
        self._trace: Trace | None = None
        self._parts: dict[str, Trace] = {}  # the graphs of `run_part`, by their methods' names
        self._op_hook: tuple[OpHook, bool] | None = None
        self._forward_names: tuple[str, ...] | None = None
        self._flags: list[tuple[str, object]] = []
        super().__init__(prefix=prefix, params=params, **unknown)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):  # the trace holds the old child's graph
            self._clear_cached_op()
        elif isinstance(value, Parameter) or name == "hybrid_forward":
            self._forward_names = None

    def register_child(self, block: Block, name: str | None = None) -> None:
        """As `Block.register_child`.

        Raises
        ------
        ParameterError
            If the child is not a HybridBlock.
        """
        if not isinstance(block, HybridBlock):
            raise ParameterError(
                "Children of HybridBlock must also be HybridBlock",
                described(block),
                instead_of(block, "use HybridLambda for a function; if you are using Sequential, try HybridSequential instead"),
            )
        super().register_child(block, name)
        self._clear_cached_op()

    @property
    def _is_hybridized(self) -> bool:
        return self._active

    def hybridize(  # type: ignore[override]
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        mirror: bool = False,
        **unknown: object,
    ) -> None:
        """Run the block as a compiled graph from the next call on, which traces it; or stop doing so.

        Parameters
        ----------
        active
            Whether to run as a compiled graph.
        backend
            See `optimize_for`.
        clear
            Whether to trace again if the block was traced before.
        static_alloc, static_shape
            Both: what depends on parameters alone is soon computed once, for predictions; otherwise that begins after many calls.
        inline_limit, forward_bulk_size, backward_bulk_size
            MXNet's options for grouping operators. They have no effect: a compiled graph always runs as a whole.
        mirror
            Save only about √n of n inner values for backward and recompute the others: less memory, more time.
        **unknown
            Have no effect except a warning, like an unknown backend.
        """
        check_backend(backend)
        if unknown:
            tolerate("hybridize: there is no option", ", ".join(unknown), "omit it")
        mistake = own_forward(self, HybridBlock)
        if mistake and active and not self._is_composed:
            tolerate(*mistake)
        self._active, self._mirror, self._is_static = active and self._is_compilable, mirror, static_alloc and static_shape
        options: dict[str, Any] = {"static_alloc": static_alloc, "static_shape": static_shape, "inline_limit": inline_limit}
        self._flags = list(options.items())
        # Mirroring is compiled into the graph, so a trace that was made without it cannot be used.
        if clear or not active or mirror:
            self._clear_cached_op()
        for child in self._children.values():
            child._is_composed = self._is_composed or not mistake
            child.hybridize(active, **options, mirror=mirror)

    def _clear_cached_op(self) -> None:
        self._trace = self._accepts_legacy = None
        self._parts = {}

    def cast(self, dtype: DTypeLike) -> None:
        """As `Block.cast`; the next call traces the block again."""
        self._clear_cached_op()
        super().cast(dtype)

    # computing

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Define the computation; overridden by subclasses.

        Parameters
        ----------
        F
            `twofold.nd` or `twofold.sym`, whose functions apply to the inputs.
        x, *args
            Inputs: arrays or symbols, or nested lists of them.
        **kwargs
            The block's own parameters by name, as arrays or symbols. Subclasses declare those that they use.
        """
        raise Undefined(f"{type(self).__name__} does not define its computation", None, "define hybrid_forward(self, F, x) in it")

    @property
    def _computation(self) -> Callable[..., Any]:
        return self.hybrid_forward if type(self).forward is HybridBlock.forward else self.forward

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute outputs for arrays, or compose symbols. Subclasses define `hybrid_forward` instead.

        Raises
        ------
        ParameterError
            If the inputs are neither arrays nor symbols, or a mixture.
        """
        # First, because every call of an ordinary model takes this branch and need not look for other kinds of arrays.
        if isinstance(x, NDArray) and x._legacy:
            return self._run_compiled(x.context, (x, *args)) if self._active else self._run(x.context, x, *args)
        arrays: list[Any] = list(iter_arrays((x, *args)))
        kinds = {isinstance(a, Symbol) for a in arrays}
        if len(kinds) != 1:
            what = "there must be one NDArray or one Symbol in the input" if not kinds else "we do not support mixed NDArrays and Symbols"
            kinds_given = ", ".join(f"{type(a).__module__}.{type(a).__name__}".removeprefix("builtins.") for a in (x, *args))
            raise ParameterError(f"{self.name}: In HybridBlock, {what}", kinds_given, "convert the inputs with mx.nd.array")
        if kinds == {True}:
            return self._compose(x, *args)
        run = self._run_numpy if has_numpy(arrays) else self._run
        return run(arrays[0].context, x, *args)

    def _compose(self, *args: Any) -> Any:
        is_numpy = any(isinstance(a, Symbol) and a._is_numpy for a in iter_arrays(args))
        if is_numpy and self._arrays == "nd":
            return as_numpy(self._compose(*as_legacy(args)))
        params = {name: self._reg_params[name].var() for name in self._parameters_of_forward()}
        try:
            with self.name_scope():
                return self.hybrid_forward(Given.sym, *args, **(as_numpy(params) if is_numpy else params))
        except ParameterError as error:
            self._name_in(error, args)
            raise

    def _parameters_of_forward(self) -> tuple[str, ...]:
        """Names of the block's parameters that `hybrid_forward` takes: MXNet passes all parameters, and fails if one is unknown."""
        if self._forward_names is None:
            # an instance's own, where libraries replace that of a layer
            names, takes_all = parameter_names(self.hybrid_forward)
            self._forward_names = tuple(n for n in self._reg_params if takes_all or n in names)
        return self._forward_names

    def _run(self, device: Device, *args: Any) -> Any:
        """The outputs for arrays."""
        if self._active:
            return self._run_compiled(device, args)
        # tried first: only in the first call may parameters wait for their shapes
        try:
            params = {name: self._reg_params[name]._on(device) for name in self._parameters_of_forward()}
        except DeferredInitializationError:
            self._finish_deferred(args)
            params = {name: self._reg_params[name]._on(device) for name in self._parameters_of_forward()}
        try:
            # Entering the device only where it differs saves three frames in each layer of an imperative model.
            if device is current_device():
                return self.hybrid_forward(Given.nd, *args, **params)
            with device:
                return self.hybrid_forward(Given.nd, *args, **params)
        except (ShapeError, IndexingError, DTypeError, ParameterError) as error:
            self._name_in(error, args)
            raise

    def _run_numpy(self, device: Device, *args: Any) -> Any:
        """The outputs for arrays of `mx.np`, as such arrays."""
        # Symbols have the functions of MXNet's dialect only: with arrays of twofold.np a block runs imperatively.
        if self._arrays == "nd" or (self._active and self._all_accept_legacy()):
            given = cast_inputs(args, self._input_dtype())
            outputs = self._run(device, *given)
            # what users' children return may be arrays that they keep
            return into_numpy(outputs, given) if self._active or not self._children else as_numpy(outputs)
        traceable = all(is_traceable(a) for a in iter_arrays(args))
        if self._active and traceable:
            return into_numpy(self._run_compiled(device, args), args)
        try:
            params = self._numpy_parameters(device)
        except DeferredInitializationError as error:
            if traceable:
                self._finish_deferred(args)
                return self._run_numpy(device, *args)
            raise ShapesNotInferred(
                f"{self.name}: shapes of parameters are not inferred from arrays of mx.np: {error}",
                None,
                "specify the full shapes of parameters",
            ) from error
        with device:
            return self.hybrid_forward(Given.nd, *as_numpy(args), **params)

    def _numpy_parameters(self, device: Device) -> dict[str, Any]:
        own = {name: self._reg_params[name] for name in self._parameters_of_forward()}
        return {name: param._as_numpy(param._on(device)) for name, param in own.items()}

    def _all_accept_legacy(self) -> bool:
        """Whether this block and all its descendants can compute with arrays of `mx.nd`, and so with symbols."""
        if self._accepts_legacy is None:
            children: Any = self._children.values()
            self._accepts_legacy = self._arrays != "np" and not self._replaces_forward and all(c._all_accept_legacy() for c in children)
        return self._accepts_legacy

    def _run_compiled(self, device: Device, args: Sequence[Any]) -> Any:
        if PLAIN_ARRAYS.issuperset(map(type, args)):  # the usual case: nothing is nested
            arrays, form = args, (ARRAY,) * len(args)
        else:
            arrays, form = flatten(args, (NDArray, ndarray), "input")
            assert isinstance(form, tuple)
            while form and form[-1] == NOTHING:  # trailing optional arguments that were omitted
                form = form[:-1]
        for array in arrays[1:]:  # the device is that of the first one
            if array.context is not device:
                self._check_devices(arrays, device)
        traced = self._trace
        if traced is None:
            with RESTING:
                traced = self._trace = trace(self.name, self.collect_params(), self._compose, args, self._mirror, self._is_static)
            traced.warn_of_unused(self.collect_params())
        if form != traced.inputs:
            error = ParameterError(
                "The argument structure of HybridBlock does not match the cached version",
                f"Stored format = {list(parts(traced.inputs))}, input format = {list(parts(form))}",
                "call hybridize() again to trace it with other arguments",
            )
            if {ARRAY}.issuperset(parts(traced.inputs)):
                self._name_in(error, args)
            raise error
        run = traced.graph if self._op_hook is None else traced.graph.with_hook(*self._op_hook)
        try:
            outputs = run(arrays, device)
        except DeferredInitializationError:
            self._finish_deferred(args)
            outputs = run(arrays, device)
        except (ShapeError, IndexingError) as error:
            self._run_by_layers(args)
            self._name_in(error, args)
            raise
        return outputs[0] if traced.outputs == ARRAY else unflatten(outputs, traced.outputs)

    def _run_by_layers(self, args: Sequence[object]) -> None:
        """After the compiled graph has failed: run the layers one by one, so that the one that fails raises an error with its name."""
        # a `SymbolBlock` has no layers: its graph is all that it can run
        if not self._active:
            return
        self._active = False
        try:
            # in inference mode, so that no state changes and nothing is recorded twice
            with Scope(False, False):
                self.forward(*args)
        finally:
            self._active = True

    def _name_in(self, error: MXNetError, args: Sequence[object]) -> None:
        """Name the block in an error that it raises, unless a layer inside it has done so."""
        # errors of other subclasses are the mistakes of a block's own code
        if error.layer is None and (not isinstance(error, ParameterError) or type(error) in (ParameterError, NotASymbol)):
            error.layer, shapes = self.name, shapes_of(args)
            mistake = foreign_input(self.hybrid_forward, args) if isinstance(error, (DTypeError, ParameterError)) else None
            mistake = mistake or (self._mistake(*shapes) if shapes else None)
            what, error.given, error.todo = mistake or (error.what, error.given, error.todo)
            error.what = f"{self.name}: {what}"
            error.args = (error._message(),)  # in place: the traceback stays that of the operator

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        """What is wrong with inputs of such shapes, in the layer's own terms; None if it may be something else."""
        return None

    @staticmethod
    def _check_devices(arrays: Sequence[NDArray], device: Device) -> None:
        for array in arrays:
            context = array.context
            if context is not device and not context.shares_memory_with(device):
                raise ParameterError(
                    "Find multiple contexts in the input: after hybridized, the HybridBlock only supports one",
                    ", ".join(str(a.context) for a in arrays),
                    "copy the inputs with as_in_context",
                )

    # tracing and inference

    def _named_inputs(self, args: Sequence[Any]) -> tuple[Symbol, dict[str, NDArray]]:
        """The block's symbol, traced if necessary, and the inputs that it depends on by name."""
        if self._trace is None:
            self._trace = trace(self.name, self.collect_params(), self._compose, args, self._mirror, self._is_static)
        flat, _ = flatten(args, ARRAYS, "input")
        symbol = self._trace.symbol
        used = set(symbol.list_inputs())
        return symbol, {name: cast("NDArray", a) for name, a in zip(self._trace.names, flat, strict=True) if name in used}

    def _infer_attrs(self, infer_fn: str, attr: str, *args: Any) -> None:
        """Set the shapes or dtypes of all parameters to those inferred from inputs: ``infer_fn`` is the symbol's method."""
        symbol, inputs = self._named_inputs(args)
        known = {name: getattr(a, attr) for name, a in inputs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error names what is missing
            arguments, _, states = getattr(symbol, infer_fn)(**known)
        if arguments is None:
            # some stay unknown: the layers below may infer them by themselves
            arguments, _, states = getattr(symbol, f"{infer_fn}_partial")(**known)
        inferred = dict(zip([*symbol.list_arguments(), *symbol.list_auxiliary_states()], [*arguments, *states], strict=True))
        for name, param in self.collect_params().items():
            value = inferred.get(name)
            # () is unknown too: a 0-d parameter knows its shape. Setting a dtype casts, unless it is the same.
            if value is not None and (value != () if attr == "shape" else dtype_name(param.dtype) != dtype_name(value)):
                setattr(param, attr, value)

    def explain(self, *args: object) -> str:
        """Report the programs of the block's graph for such inputs: their steps, fused kernels and memory.

        Parameters
        ----------
        *args
            Inputs, as for `bind`.

        Returns
        -------
        str
            As `Executor.explain`.
        """
        return self.bind(*args).explain()

    def bind(self, *args: object) -> Executor:
        """Create an executor of the block's graph for such inputs, with gradients of all parameters, to explain or draw it.

        Parameters
        ----------
        *args
            Inputs. The block is traced but not run. Unknown shapes of parameters are set as by a call; the executor has its own
            arrays of parameters.

        Raises
        ------
        ParameterError
            If there is no input.
        """
        if not args:
            raise ParameterError(f"{self.name}: its graph depends on its inputs", "none was given", "call explain(x) with an input")
        self.infer_shape(*args)
        symbol, inputs = self._named_inputs(args)
        requests = {name: "null" if name in inputs else "write" for name in symbol.list_arguments()}
        types = {name: array.dtype for name, array in inputs.items()}
        shapes: dict[str, Any] = {name: array.shape for name, array in inputs.items()}
        first = cast("NDArray", next(iter_arrays(args)))
        return symbol.simple_bind(first.context, grad_req=requests, type_dict=types, **shapes)

    def infer_shape(self, *args: object) -> None:
        """Set unknown shapes of parameters from the shapes of inputs.

        Parameters
        ----------
        *args
            Inputs.
        """
        self._infer_attrs("infer_shape", "shape", *args)

    def infer_type(self, *args: object) -> None:
        """Set the dtypes of parameters from the dtypes of inputs.

        Parameters
        ----------
        *args
            Inputs.
        """
        self._infer_attrs("infer_type", "dtype", *args)

    def _deferred_infer_shape(self, *args: Any) -> None:
        """Infer the shapes that parameters wait for; an error names the sizes that the user can specify instead."""
        try:
            self.infer_shape(*args)
        except Exception as error:  # any, as in MXNet: users' code may read what symbols lack, such as a shape
            if (isinstance(error, ParameterError) and error.layer is not None) or is_from_signal_handler(error):
                raise
            # the operator's own error, without the list of all inputs' shapes
            node, own = (error.node, error.__cause__) if isinstance(error, MXNetError) and error.node else (None, error)
            what, given, todo = getattr(own, "what", "") or str(own), getattr(own, "given", None), getattr(own, "todo", None)
            if what.startswith("input weight has shape"):
                todo = "in_units or in_channels contradicts the layer's input: pass the input's size, or leave it out"
            what, given, todo = self._mistake(*shapes_of(args)) or (what, given, todo)
            names = {"": self.name}
            self.apply(lambda block: names.setdefault(block.prefix, block.name))
            layer = name_of_layer(names, node or "")
            raise ShapesNotInferred(f"{layer}: {what}", given, todo or "specify sizes such as in_units") from error

    def _finish_deferred(self, args: Sequence[Any]) -> None:
        """Infer shapes, and initialize the parameters that waited for them."""
        self._deferred_infer_shape(*args)
        params = self.collect_params().values()
        for param in params:
            # shapes that inference leaves open stay deferred, for the children below
            if param._deferred is not None and param._is_shaped:
                param._finish_deferred_init()
        # Layers that override `infer_shape`, such as recurrent ones, infer more than the graph from their inputs.
        if self._children and any(p._deferred is not None for p in params):
            self._run_children(args)
        for name in self._parameters_of_forward():
            self._reg_params[name]._finish_deferred_init()

    def _run_children(self, args: Sequence[Any]) -> None:
        """Run the children one by one, in inference mode and without recording."""
        own = {name: self._reg_params[name] for name in self._parameters_of_forward()}
        if all(p._data is not None for p in own.values()):
            with Scope(False, False):
                self.hybrid_forward(Given.nd, *args, **{name: p._initialized().arrays[0] for name, p in own.items()})

    def register_op_hook(self, callback: OpHook, monitor_all: bool = False) -> None:
        """Register a function to be called with every inner value, also while the block is hybridized.

        Parameters
        ----------
        callback
            Called with the name of the value, the name of its operator and the value.
        monitor_all
            Whether to pass the inputs of operators too.
        """
        self._op_hook = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def optimize_for(
        self,
        x: object,
        *args: object,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
    ) -> None:
        """Trace and compile the block for such inputs. Graphs are optimized in the same way for all backends.

        Parameters
        ----------
        x, *args
            Inputs.
        backend
            ``"MKLDNN"`` or ``"ONEDNN"``.
        clear, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            See `hybridize`.

        Raises
        ------
        ParameterError
            If the backend is missing.
        """
        if not backend:
            raise ParameterError('Must specify "backend" to optimize_for', None, f"use one of {', '.join(BACKENDS)}, or call hybridize()")
        self.hybridize(True, backend, clear, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size)
        self(x, *args)

    # files

    def _trace_record(self) -> Mapping[str, object]:
        # MXNet reads the other entries if this one says so
        return {**({} if self._trace is None else self._trace.record()), "hybridized": self._active and self._trace is not None}

    def _read_trace(self, record: Mapping[str, object]) -> Trace | None:
        return Trace.from_record(self.name, self.collect_params(), record, self._mirror, self._is_static) if "symbol" in record else None

    def _restore_trace(self, record: Mapping[str, object], trace: object) -> None:
        if "symbol" in record:
            self._trace, self._active = trace if isinstance(trace, Trace) else None, self._active or bool(record.get("hybridized"))

    def export(self, path: str | PathLike[str], epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write the traced graph and its parameters to files for `SymbolBlock.imports`, `Module` or MXNet.

        Parameters
        ----------
        path
            Prefix of the file names ``path-symbol.json`` and ``path-0000.params``.
        epoch
            The number in the name of the second file.
        remove_amp_cast
            Whether to drop the casts of mixed precision.

        Raises
        ------
        MXNetError
            If the block was not hybridized and run before.
        """
        if self._trace is None:
            what, given, todo = own_forward(self, HybridBlock) or ("there is no traced graph", self.name, TO_TRACE)
            raise MXNetError(f"export: {what}", given, todo)
        symbol = self._trace.symbol
        symbol.save(f"{fspath(path)}-symbol.json", remove_amp_cast=remove_amp_cast)
        kinds = dict.fromkeys(symbol.list_arguments(), "arg") | dict.fromkeys(symbol.list_auxiliary_states(), "aux")
        params = self.collect_params()
        # in the order in which the graph reads them, as in MXNet's files
        arrays = {f"{kinds[name]}:{name}": params[name]._reduce() for name in symbol.list_inputs() if name in params}
        nd.save(f"{fspath(path)}-{epoch:04d}.params", arrays)

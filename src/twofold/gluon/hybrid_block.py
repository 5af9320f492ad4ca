"""`HybridBlock`: a block whose computation is written once for arrays and for symbols, and may run as a compiled graph."""

import warnings
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, ClassVar, Literal

from .. import ndarray as nd
from .. import symbol as sym
from ..device import Device, current_device
from ..dtype import dtype_name
from ..errors import DeferredInitializationError, MXNetError, ParameterError
from ..executor import Executor
from ..imperative.scope import Scope
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from .block import Block
from .cached_graph import Callback
from .numpy_arrays import as_numpy, fitting, has_numpy
from .parameter import Parameter
from .refusals import Undefined
from .structure import ARRAY, NOTHING, SINGLE, flattened, restored
from .tracing import ARRAYS, Traced, arrays_in, taken_by, traced

__all__ = ["HybridBlock"]

PACKAGE = __name__.partition(".")[0]
#: Libraries that MXNet hands graphs to and whose work, fusing operators, is always done here.
BACKENDS = ("MKLDNN", "ONEDNN")


class HybridBlock(Block):
    """The base of layers and models that can be compiled: define `hybrid_forward`.

    Called with arrays it computes them at once, or after `hybridize` as one compiled graph; called with symbols it composes.
    Called with arrays of `mx.np` it returns such: `hybrid_forward` gets them as they are, and finds their functions as ``F.np``
    and ``F.npx``. Then it is not compiled; the layers in it are.

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

    #: Which arrays `hybrid_forward` can compute with when it is called with those of `mx.np`.
    _arrays: ClassVar[Literal["nd", "np", "any"]] = "nd"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_arrays" not in vars(cls) and not vars(cls).keys().isdisjoint(("forward", "hybrid_forward")):
            cls._arrays = "nd" if cls.__module__.startswith(f"{PACKAGE}.") else "np"  # what users write gets what they give

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        self._active = False
        self._legacy_below: bool | None = None
        self._mirror = False
        self._traced: Traced | None = None
        self._watch: tuple[Callback, bool] | None = None
        self._asked: tuple[str, ...] | None = None
        super().__init__(prefix=prefix, params=params)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_graph()
        elif isinstance(value, Parameter):
            self._asked = None

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
                f"{block} of type {type(block).__name__}",
                "if you are using Sequential, try HybridSequential instead",
            )
        super().register_child(block, name)
        self._clear_cached_graph()

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
    ) -> None:
        """Have the block run as a compiled graph, traced at the next call; or no longer.

        Parameters
        ----------
        active
            Whether to.
        backend
            See `optimize_for`.
        clear
            Trace again, even if the block was traced before.
        static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
            How MXNet allocates memory and groups operators. They have no effect: a compiled graph's memory is always planned, and
            it always runs as a whole.
        mirror
            Keep only about √n of n values inside for backward, and compute the others again from these: less memory, more time.

        Raises
        ------
        ParameterError
            For an unknown backend.
        """
        check_backend(backend)
        self._active, self._mirror = active, mirror
        if clear or not active or mirror:
            self._clear_cached_graph()
        for child in self._children.values():
            child.hybridize(active, mirror=mirror)

    def _clear_cached_graph(self) -> None:
        self._traced = self._legacy_below = None

    def cast(self, dtype: Any) -> None:
        """As `Block.cast`; the block is traced again."""
        self._clear_cached_graph()
        super().cast(dtype)

    # what it computes

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """What the block computes; defined by subclasses.

        Parameters
        ----------
        F
            `twofold.nd` or `twofold.sym`: use its functions on the inputs.
        x, *args
            Inputs: arrays or symbols, or nested lists of them.
        **kwargs
            The block's own parameters by name, as arrays or symbols; a subclass names those that it reads.
        """
        raise Undefined(f"{type(self).__name__} does not say what it computes", None, "define hybrid_forward(self, F, x) in it")

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute outputs of arrays, or compose symbols; subclasses define `hybrid_forward`.

        Raises
        ------
        ParameterError
            If the inputs are neither arrays nor symbols, or both.
        """
        if isinstance(x, NDArray):
            return self._run(x.context, x, *args)
        found = list(arrays_in((x, *args)))
        kinds = {isinstance(a, Symbol) for a in found}
        if len(kinds) != 1:
            what = "there must be one NDArray or one Symbol in the input" if not kinds else "we do not support mixed NDArrays and Symbols"
            raise ParameterError(
                f"In HybridBlock, {what}", ", ".join(type(a).__name__ for a in (x, *args)), "check the type of the arguments"
            )
        if kinds == {True}:
            return self._compose(x, *args)
        run = self._run_numpy if has_numpy(found) else self._run
        return run(found[0].context, x, *args)

    def _compose(self, *args: Any) -> Any:
        params = {name: self._reg_params[name].var() for name in self._asked_for()}
        with self.name_scope():
            return self.hybrid_forward(sym, *args, **params)

    def _asked_for(self) -> tuple[str, ...]:
        """The names of its parameters that `hybrid_forward` takes."""
        if self._asked is None:
            names, everything = taken_by(type(self).hybrid_forward)
            self._asked = tuple(n for n in self._reg_params if everything or n in names)
        return self._asked

    def _run(self, device: Device, *args: Any) -> Any:
        """Outputs of arrays."""
        if self._active:
            return self._run_compiled(device, args)
        try:
            params = {name: self._reg_params[name]._on(device) for name in self._asked_for()}
        except DeferredInitializationError:
            self._finish_deferred(args)
            params = {name: self._reg_params[name]._on(device) for name in self._asked_for()}
        if device is current_device():
            return self.hybrid_forward(nd, *args, **params)
        with device:
            return self.hybrid_forward(nd, *args, **params)

    def _run_numpy(self, device: Device, *args: Any) -> Any:
        """Outputs of arrays of `mx.np`, as such arrays."""
        if self._arrays == "nd" or (self._active and self._is_legacy_below()):
            return as_numpy(self._run(device, *fitting(args, self._input_dtype())))
        try:
            own = {name: self._reg_params[name] for name in self._asked_for()}
            params = {name: param._as_numpy(param._on(device)) for name, param in own.items()}
        except DeferredInitializationError as error:
            raise _NotInferred(
                f"{self.name}: shapes of parameters are not inferred from arrays of mx.np", str(error), "give parameters their whole shapes"
            ) from error
        with device:
            return self.hybrid_forward(nd, *as_numpy(args), **params)

    def _is_legacy_below(self) -> bool:
        """Whether this block and all below it can compute with arrays of `mx.nd`, or with symbols."""
        if self._legacy_below is None:
            children: Any = self._children.values()
            self._legacy_below = self._arrays != "np" and all(child._is_legacy_below() for child in children)
        return self._legacy_below

    def _run_compiled(self, device: Device, args: Sequence[Any]) -> Any:
        if len(args) == 1 and isinstance(args[0], NDArray):
            arrays, form = args, SINGLE
        else:
            arrays, form = flattened(args, (NDArray,), "input")
            while form and form[-1] == NOTHING:  # an argument that was left out
                form = form[:-1]
            self._check_devices(arrays, device)
        found = self._traced
        if found is None:
            found = self._traced = traced(self, args, self._mirror)
            found.warn_of_unused(self.collect_params())
        if form != found.inputs:
            raise ParameterError(
                "The argument structure of HybridBlock does not match the cached version",
                f"Stored format = {list(found.inputs)}, input format = {list(form)}",
                "call hybridize() again to trace it with other arguments",
            )
        run = found.graph if self._watch is None else found.graph.watched_by(*self._watch)
        try:
            outputs = run(arrays, device)
        except DeferredInitializationError:
            self._finish_deferred(args)
            outputs = run(arrays, device)
        return outputs[0] if found.outputs == ARRAY else restored(outputs, found.outputs)

    @staticmethod
    def _check_devices(arrays: Sequence[NDArray], device: Device) -> None:
        for array in arrays:
            found = array.context
            if found is not device and not found.shares_memory_with(device):
                raise ParameterError(
                    "Find multiple contexts in the input: after hybridized, the HybridBlock only supports one",
                    ", ".join(str(a.context) for a in arrays),
                    "copy the inputs with as_in_context",
                )

    # tracing and inference

    def _inferred(self, what: str, args: Sequence[Any]) -> list[tuple[Parameter, Any]]:
        """Shapes or dtypes of all parameters for inputs."""
        if self._traced is None:
            self._traced = traced(self, args, self._mirror)
        flat, _ = flattened(args, ARRAYS, "input")
        known = {n: a.shape if what == "infer_shape" else a.dtype for n, a in zip(self._traced.names, flat, strict=True)}
        symbol = self._traced.symbol
        known = {n: v for n, v in known.items() if n in symbol.list_inputs()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is missing is named by the error
            arguments, _, states = getattr(symbol, what)(**known)
        if arguments is None:
            arguments, _, states = getattr(symbol, f"{what}_partial")(**known)
        found = dict(zip([*symbol.list_arguments(), *symbol.list_auxiliary_states()], [*arguments, *states], strict=True))
        return [(param, found[name]) for name, param in self.collect_params().items() if name in found]

    def explain(self, *args: Any) -> str:
        """What the block's graph becomes for inputs like these: its programs, what is fused in them, and the memory that they need.

        Parameters
        ----------
        *args
            Inputs, as for `bound`.

        Returns
        -------
        str
            As `Executor.explain`.
        """
        return self.bound(*args).explain()

    def bound(self, *args: Any) -> Executor:
        """An executor of the block's graph for inputs like these, with gradients of all parameters: to be explained and drawn.

        Parameters
        ----------
        *args
            Inputs. The block is traced but not run; shapes of parameters that were unknown are set, as by a call. The executor's
            parameters are arrays of its own.

        Raises
        ------
        ParameterError
            If no input is given.
        """
        if not args:
            raise ParameterError(f"{self.name}: its graph depends on its inputs", "none was given", "call explain(x) with an input")
        self.infer_shape(*args)
        assert self._traced is not None
        flat, _ = flattened(args, ARRAYS, "input")
        symbol = self._traced.symbol
        given = {name: array for name, array in zip(self._traced.names, flat, strict=True) if name in symbol.list_inputs()}
        requests = {name: "null" if name in given else "write" for name in symbol.list_arguments()}
        types = {name: array.dtype for name, array in given.items()}
        shapes = {name: array.shape for name, array in given.items()}
        return symbol.simple_bind(flat[0].context, grad_req=requests, type_dict=types, **shapes)

    def infer_shape(self, *args: Any) -> None:
        """Set the unknown shapes of parameters from those of inputs.

        Parameters
        ----------
        *args
            Inputs.
        """
        for param, shape in self._inferred("infer_shape", args):
            if shape != ():
                param.shape = shape

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of parameters from those of inputs.

        Parameters
        ----------
        *args
            Inputs.
        """
        for param, dtype in self._inferred("infer_type", args):
            if dtype is not None and dtype_name(param.dtype) != dtype_name(dtype):
                param.dtype = dtype

    def _finish_deferred(self, args: Sequence[Any]) -> None:
        """Infer shapes, and make the parameters that waited for theirs."""
        try:
            self.infer_shape(*args)
        except (MXNetError, TypeError, AttributeError) as error:
            raise _NotInferred(
                f"{self.name}: Deferred initialization failed because shape cannot be inferred",
                str(error),
                "give the layers' sizes (in_units, …)",
            ) from error
        params = self.collect_params().values()
        for param in params:
            if param._is_shaped:
                param._finish_deferred_init()
        if self._children and any(p._deferred is not None for p in params):
            self._run_apart(args)  # where the shapes of a layer follow from its input only, it finds them by itself
        for name in self._asked_for():
            self._reg_params[name]._finish_deferred_init()

    def _run_apart(self, args: Sequence[Any]) -> None:
        """Run the children one by one, without recording or training."""
        own = [self._reg_params[name] for name in self._asked_for()]
        if all(p._data is not None for p in own):
            with Scope(False, False):
                params = {name: self._reg_params[name]._initialized().arrays[0] for name, p in zip(self._asked_for(), own, strict=True)}
                self.hybrid_forward(nd, *args, **params)

    def register_op_hook(self, callback: Callback, monitor_all: bool = False) -> None:
        """Look at the values inside while the block is hybridized; it then runs operator by operator.

        Parameters
        ----------
        callback
            Called with the name of a value, the name of its operator, and the value.
        monitor_all
            Whether to show what operators read, too.
        """
        self._watch = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
    ) -> None:
        """Trace and compile the block for inputs like these; graphs are optimized the same way for all backends.

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
            Without a backend, or for another one.
        """
        if not backend:
            raise ParameterError('Must specify "backend" to optimize_for', None, f"use one of {', '.join(BACKENDS)}, or call hybridize()")
        self.hybridize(True, backend, clear, static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size)
        self(x, *args)

    # files

    def _traced_record(self) -> dict[str, Any]:
        return {"hybridized": self._active, **({} if self._traced is None else self._traced.record())}

    def _restore_traced(self, record: dict[str, Any]) -> None:
        if "symbol" in record:
            self._traced = Traced.from_record(self, record, self._mirror)
            self._active = self._active or bool(record.get("hybridized"))

    def export(self, path: str | PathLike[str], epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write the traced graph and its parameters, for `SymbolBlock.imports`, `Module` or MXNet.

        Parameters
        ----------
        path
            How the files' names begin: ``path-symbol.json`` and ``path-0000.params``.
        epoch
            The number in the second file's name.
        remove_amp_cast
            Leave out the casts of mixed precision.

        Raises
        ------
        MXNetError
            If the block was not hybridized and run.
        """
        if self._traced is None:
            raise MXNetError(
                "export: there is no traced graph",
                self.name,
                "first call block.hybridize() and then run forward with this block at least once; what computes with F.np is not traced",
            )
        symbol = self._traced.symbol
        symbol.save(f"{fspath(path)}-symbol.json", remove_amp_cast=remove_amp_cast)
        arguments, states = set(symbol.list_arguments()), set(symbol.list_auxiliary_states())
        params = self.collect_params().items()
        arrays = {f"arg:{name}": param._reduce() for name, param in params if name in arguments}
        arrays |= {f"aux:{name}": param._reduce() for name, param in params if name in states}
        nd.save(f"{fspath(path)}-{epoch:04d}.params", arrays)


class _NotInferred(ParameterError):
    """Shapes of parameters that do not follow from those of the inputs."""


def check_backend(backend: str | None) -> None:
    """Raise unless a backend is None or known.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if backend is not None and backend.upper() not in BACKENDS:
        raise ParameterError("no such backend to optimize for", repr(backend), f"use one of {', '.join(BACKENDS)}, or none")

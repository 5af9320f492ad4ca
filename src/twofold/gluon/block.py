"""`Block`: a layer or model with parameters, children and a forward function; its names, hooks and files."""

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, overload

from ..errors import DTypeError, InvalidValue, NotReady, Undefined, WrongArgument
from ..extension_points import shown_in_notebooks
from ..origin import warn
from ..patterns import compiled
from ..suggestions import argument_here
from . import block_files, model_files
from .hooks import HookHandle, Hooks
from .inputs_by_name import in_order
from .numpy_arrays import OrHalf, first_told
from .parameter import DEFAULT, Contexts, Parameter
from .parameter_dict import ParameterDict
from .scope import BlockScope
from .signatures import DTypeLike, Hook, InitializerLike, OpHook
from .summary import print_summary

__all__ = ["Block"]

Path = str | PathLike[str]
#: An array or a symbol. Not bound to these: arrays of subclasses and unions keep their types.
Given = TypeVar("Given")
Result = TypeVar("Result", covariant=True)


class _OneResult(Protocol):
    """A block that makes one array of arrays, or one symbol of symbols."""

    _one_result: Literal[True]


class _Computes(Protocol[Result]):
    """What a call of a block returns: the result of its `forward`, where that says its type."""

    def forward(self, *args: Any, **kwargs: Any) -> Result: ...


class Block:
    """Base class of layers and models. Subclasses create children and parameters in ``__init__`` and define `forward`.

    Blocks and parameters assigned to attributes are registered. Those created inside ``with self.name_scope():`` get names that
    start with this block's prefix.

    Parameters
    ----------
    prefix
        Prefix of the names of its parameters; generated from the class name if None.
    params
        The ``params`` of another block, to share by name instead of creating new ones.

    Examples
    --------
    >>> import twofold as mx
    >>> class Model(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.out = mx.gluon.nn.Dense(2, in_units=3)
    ...
    ...     def forward(self, x):
    ...         return self.out(x)
    >>> model = Model(prefix="model_")
    >>> model.initialize()
    >>> model(mx.nd.ones((4, 3))).shape
    (4, 2)
    >>> list(model.collect_params().keys())
    ['model_dense0_weight', 'model_dense0_bias']
    """

    #: Whether the block only holds its children and gets no row in `summary`.
    _is_container: ClassVar[bool] = False

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, **unknown: object) -> None:
        # here and not by Python, which would name the base class and suggest nothing
        for name in unknown:
            kind = type(self)
            raise WrongArgument(f"{kind.__name__}: there is no argument {name!r}", None, argument_here(name, kind))
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self, is_transparent=prefix == "")
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: Hooks = OrderedDict()
        self._forward_pre_hooks: Hooks = OrderedDict()

    def _alias(self) -> str:
        """The prefix of automatic names."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        lines = [f"  ({name}): {_indent(repr(block))}" for name, block in vars(self).items() if isinstance(block, Block)]
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    _repr_html_ = shown_in_notebooks("block")

    def __setattr__(self, name: str, value: object) -> None:
        old = vars(self).get(name)
        # A child replaced by a number would stay registered, and be saved and trained though nothing calls it.
        if isinstance(old, (Parameter, Block)) and not isinstance(value, type(old)):
            todo = f"call {name}.set_data(array)" if isinstance(old, Parameter) and hasattr(value, "dtype") else "use another name"
            raise DTypeError(f"Changing attribute type for {name} is not allowed", f"from {type(old)} to {type(value)}", todo)
        if isinstance(value, (Block, Parameter)) and "_children" not in vars(self):
            what = f"{type(self).__name__}.__init__: the base class does not know the block yet"
            raise NotReady(what, f"{name} = {type(value).__name__}(…)", "call super().__init__() first")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise InvalidValue(
                    "Overriding Parameter attribute is not allowed", name, "to share parameters pass 'params' when creating the block"
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    # names, parameters and children

    @property
    def prefix(self) -> str:
        """The prefix of the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The name: the prefix without its trailing underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without those of its children."""
        return self._params

    def name_scope(self) -> BlockScope:
        """A context in which the names of new blocks and parameters start with this block's prefix."""
        return self._scope

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of this block and its descendants, by name.

        Parameters
        ----------
        select
            Regular expression that names must match from their start, such as ``".*weight|.*bias"``.
        """
        self._check_container_with_block()
        found = ParameterDict(self._params.prefix)
        pattern = compiled("collect_params: select", select or "")
        found.update(_select(self._params, pattern))
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _input_dtype(self) -> DTypeLike | OrHalf | None:
        """The dtype of the first parameter of this block or its descendants; None if there are no parameters."""
        for param in self._reg_params.values():
            return param.dtype
        return first_told(child._input_dtype() for child in self._children.values())

    @property
    def _is_hybridized(self) -> bool:
        """Whether the block runs as a compiled graph."""
        return False

    def _trace_record(self) -> Mapping[str, object]:
        """The record of its graph in files; empty for a block without one."""
        return {}

    def _read_trace(self, record: Mapping[str, object]) -> object:
        """The graph in a file's record; None if there is none."""

    def _restore_trace(self, record: Mapping[str, object], trace: object) -> None:
        """Take the graph that `_read_trace` read."""

    def _check_container_with_block(self) -> None:
        """Warn about blocks inside lists and dictionaries: their parameters would be missed silently."""
        known = set(map(id, self._children.values()))
        for name, value in vars(self).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            if any(id(block) not in known for block in _blocks_in(value)):
                warn(
                    f'"{type(self).__name__}.{name}" is an unregistered container with Blocks. Note that Blocks inside the list, '
                    "tuple or dict will not be registered automatically. Make sure to register them using register_child() or "
                    "switching to nn.Sequential/nn.HybridSequential instead.",
                )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their path in the model, such as ``"0.weight"``."""
        prefix = prefix + "." if prefix else ""
        found = {prefix + key: param for key, param in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def register_child(self, block: "Block", name: str | None = None) -> None:
        """Register a block as a child of this one. Assigning it to an attribute does so too.

        Parameters
        ----------
        block
            The child.
        name
            Its name in files; its index if None.

        Raises
        ------
        DTypeError
            If it is not a block.
        """
        if not isinstance(block, Block):
            raise DTypeError(
                f"{type(self).__name__}: a child must be a Block",
                described(block),
                instead_of(block, "use Lambda for a function"),
            )
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: "Callable[[Block], object]") -> Self:
        """Call a function with every descendant and then with this block, which is returned."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(self, init: InitializerLike = DEFAULT, ctx: Contexts = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initialize all parameters; parameters of unknown shape are initialized in the first forward pass.

        Parameters
        ----------
        init
            The initializer for parameters that have none of their own.
        ctx
            The device, or several for a copy on each; the current one if None.
        verbose
            Whether to log how each parameter is initialized.
        force_reinit
            Re-initialize initialized parameters too.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DTypeLike) -> None:
        """Cast all parameters to a dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self.params.values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Run every descendant `HybridBlock` as a compiled graph; see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # running

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the block, defined by subclasses.

        Parameters
        ----------
        *args, **kwargs
            Inputs: arrays, or nested lists of them.
        """
        raise Undefined(f"{type(self).__name__} has no forward method", None, "define forward(self, x) in it")

    @property
    def _computation(self) -> Callable[..., Any]:
        """What the inputs have their names from."""
        return self.forward

    # for type checkers: in this order, as each way of knowing the result's type is more general than the one before
    @overload
    def __call__(self: _OneResult, x: Given, /, *args: object, **kwargs: object) -> Given: ...
    @overload
    def __call__(self: _Computes[Result], *args: object, **kwargs: object) -> Result: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the hooks and `forward`. Inputs may be passed by name; hooks get them in order.

        Raises
        ------
        WrongArgument
            If there is no input of a name.
        """
        if kwargs:
            args, kwargs = in_order(self._computation, self._reg_params, args, kwargs)
        # Copies, as a hook may remove itself.
        for hook in tuple(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self.forward(*args, **kwargs)
        for hook in tuple(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def register_forward_pre_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(block, inputs)`` before each `forward`. The returned handle removes the hook."""
        return HookHandle().attach(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Hook) -> HookHandle:
        """Call ``hook(block, inputs, outputs)`` after each `forward`. The returned handle removes the hook."""
        return HookHandle().attach(self._forward_hooks, hook)

    def register_op_hook(self, callback: OpHook, monitor_all: bool = False) -> None:
        """Observe the values inside hybridized descendants; see `HybridBlock.register_op_hook`."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: object) -> None:
        """Run the block and print a table of its layers, their output shapes and their parameters.

        On a terminal and in a notebook rich draws it, if it is installed; elsewhere it is the text that MXNet prints.

        Parameters
        ----------
        *inputs
            The inputs to run it on.

        Raises
        ------
        ParameterError
            If a block is hybridized.

        Examples
        --------
        >>> import twofold as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.summary(mx.nd.ones((1, 3)))  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
        ---...
        Total params: 8...
        """
        print_summary(self, inputs)

    # files

    def save_parameters(self, filename: Path, deduplicate: bool = False) -> None:
        """Write all parameters under their paths in the model, such as ``"0.weight"``.

        Parameters
        ----------
        filename
            The file.
        deduplicate
            Write shared parameters only once.
        """
        block_files.save_parameters(self._collect_params_with_prefix(), filename, deduplicate)

    def load_parameters(
        self,
        filename: Path,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read parameters written by `save_parameters` or MXNet into a model of the same structure.

        Parameters
        ----------
        filename
            The file.
        ctx
            The device or devices of parameters that are not initialized; the CPU if None.
        allow_missing
            Whether to leave parameters that are not in the file unchanged.
        ignore_extra
            Whether to ignore arrays that belong to no parameter.
        cast_dtype, dtype_source
            Whether to cast if dtypes differ: the array to the parameter's dtype (``"current"``), or the parameter to the array's
            (``"saved"``).

        Raises
        ------
        ParameterError
            If an array is missing, belongs to no parameter, or its dtype differs from that of its parameter.
        ShapeError
            If the shape of an array differs from that of its parameter.
        """
        block_files.load_parameters(
            self._collect_params_with_prefix(), self.collect_params(), self.prefix,
            filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source,
        )  # fmt: skip

    def save_params(self, filename: Path) -> None:
        """Write all parameters by their names without the block's prefix, as MXNet did before 1.0; `load_parameters` reads them too."""
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def save(self, prefix: Path) -> None:
        """Write the parameters, and the graphs of hybridized blocks so that `load` need not trace them.

        Parameters
        ----------
        prefix
            Prefix of the file names ``prefix-model.params`` and ``prefix-model.json``.
        """
        model_files.save_model(self, prefix)

    def load(self, prefix: Path) -> None:
        """Read files written by `save` or MXNet into a model of the same structure.

        Parameters
        ----------
        prefix
            Prefix of the file names.

        Raises
        ------
        FormatError
            If the model has another structure, or a file is damaged.
        """
        model_files.load_model(self, prefix)

    def load_params(self, filename: Path, ctx: Contexts = None, allow_missing: bool = False, ignore_extra: bool = False) -> None:
        """MXNet's older name for `load_parameters`."""
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)


def _indent(text: str) -> str:
    """Indent all lines but the first by two spaces."""
    return text.replace("\n", "\n  ")


def _select(params: ParameterDict, pattern: re.Pattern[str]) -> ParameterDict:
    found = ParameterDict(params.prefix)
    found._params.update((name, param) for name, param in params.items() if pattern.match(name))
    return found


def described(value: object) -> str:
    """A value that is no layer, in an error."""
    return f"the function {value.__name__}" if inspect.isfunction(value) else f"{value!r} of type {type(value).__name__}"


def instead_of(value: object, otherwise: str) -> str:
    """What to do where a value that is no layer was to become a child."""
    return "pass each layer as an argument, as in add(*layers)" if isinstance(value, (list, tuple)) else otherwise


def _blocks_in(value: object) -> Iterable[Block]:
    """The blocks inside nested lists and dictionaries."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _blocks_in(item)

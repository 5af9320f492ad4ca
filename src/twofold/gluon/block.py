"""`Block`: a part of a model with parameters, children and a forward function; names, hooks, casting, hybridizing its children."""

import re
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, ClassVar, Self

from ..errors import DTypeError
from . import block_files, model_files
from .hooks import HookHandle, Hooks
from .parameter import DEFAULT, Contexts, Parameter
from .parameter_dict import ParameterDict
from .refusals import Refused, Undefined
from .scope import BlockScope
from .summary import summary_of

__all__ = ["Block"]

Path = str | PathLike[str]


class Block:
    """The base of all layers and models: define `forward`, and make children and parameters in ``__init__``.

    Blocks and parameters that are attributes belong to the block. What is made inside ``with self.name_scope():`` is named below it.

    Parameters
    ----------
    prefix
        What the names of its parameters begin with; made from the class's name if None.
    params
        Another block's parameters (its ``params``), to be shared by name instead of making new ones.

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

    #: Whether it only holds its children, and has no row in `summary`.
    _is_container: ClassVar[bool] = False

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks = Hooks()
        self._forward_pre_hooks = Hooks()

    def _alias(self) -> str:
        """What automatic names begin with."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        lines = [f"  ({name}): {_indented(repr(block))}" for name, block in vars(self).items() if isinstance(block, Block)]
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    def __setattr__(self, name: str, value: Any) -> None:
        old = vars(self).get(name)
        if isinstance(old, (Parameter, Block)) and not isinstance(value, type(old)):
            raise DTypeError(f"Changing attribute type for {name} is not allowed", f"from {type(old)} to {type(value)}", "use another name")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise Refused(
                    "Overriding Parameter attribute is not allowed", name, "to share parameters give 'params' when the block is made"
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    # names, parameters and children

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """Its name: the prefix without the underscore at its end."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its children."""
        return self._params

    def name_scope(self) -> BlockScope:
        """A context in which new blocks and parameters are named below this block."""
        return self._scope

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """The parameters of this block and of all below it, by name.

        Parameters
        ----------
        select
            Only those whose names begin with this regular expression, such as ``".*weight|.*bias"``.
        """
        self._warn_of_containers()
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select or "")
        found.update(_selected(self._params, pattern))
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _input_dtype(self) -> Any:
        """The dtype of the first parameter of this block or of those below it; None if there is none."""
        for param in self._reg_params.values():
            return param.dtype
        below = (child._input_dtype() for child in self._children.values())
        return next((dtype for dtype in below if dtype is not None), None)

    @property
    def _is_hybridized(self) -> bool:
        """Whether it runs as a compiled graph."""
        return False

    def _traced_record(self) -> dict[str, Any]:
        """What files say of its graph; nothing for a block that has none."""
        return {}

    def _restore_traced(self, record: dict[str, Any]) -> None:
        """Take over a graph from a file's record."""

    def _warn_of_containers(self) -> None:
        """Warn of blocks inside lists and dictionaries, which nobody knows of."""
        known = set(map(id, self._children.values()))
        for name, value in vars(self).items():
            if not name.startswith("_") and isinstance(value, (list, tuple, dict)):
                strange = any(id(block) not in known for block in _blocks_in(value))
                if strange:
                    warnings.warn(
                        f'"{type(self).__name__}.{name}" is an unregistered container with Blocks. Note that Blocks inside the list, '
                        "tuple or dict will not be registered automatically. Make sure to register them using register_child() or "
                        "switching to nn.Sequential/nn.HybridSequential instead.",
                        UserWarning,
                        stacklevel=3,
                    )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by where they are in the model: ``"0.weight"``."""
        prefix = prefix + "." if prefix else ""
        found = {prefix + key: param for key, param in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def register_child(self, block: "Block", name: str | None = None) -> None:
        """Make a block a child of this one; attributes are that by themselves.

        Parameters
        ----------
        block
            The child.
        name
            Its name in files; its number if None.

        Raises
        ------
        DTypeError
            If it is not a block.
        """
        if not isinstance(block, Block):
            raise DTypeError(
                f"{type(self).__name__}: a child must be a Block", f"{block!r} of type {type(block).__name__}", "use Lambda for a function"
            )
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: "Callable[[Block], Any]") -> Self:
        """Call a function with every block below this one, and with this one last; returns the block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(self, init: Any = DEFAULT, ctx: Contexts = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initialize all parameters; those whose shape is unknown at the first forward.

        Parameters
        ----------
        init
            The initializer of those that have none of their own.
        ctx
            The device, or several for a copy on each; the current one if None.
        verbose
            Whether to log what is initialized how.
        force_reinit
            Make also those anew that are initialized already.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Cast all parameters to a dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self.params.values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Have the `HybridBlock`s below this one run as compiled graphs; see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # running

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the block computes; defined by subclasses, with parameters of their own.

        Parameters
        ----------
        *args, **kwargs
            Inputs: arrays, or nested lists of them.
        """
        raise Undefined(f"{type(self).__name__} does not say what it computes", None, "define forward(self, x) in it")

    def __call__(self, *args: Any) -> Any:
        """Run the hooks and `forward`."""
        for hook in tuple(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self.forward(*args)
        for hook in tuple(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each `forward`; returns a handle that takes it away."""
        return HookHandle().attach(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, outputs)`` after each `forward`; returns a handle that takes it away."""
        return HookHandle().attach(self._forward_hooks, hook)

    def register_op_hook(self, callback: Callable[[str, str, Any], Any], monitor_all: bool = False) -> None:
        """Look at the values inside hybridized blocks below this one; see `HybridBlock.register_op_hook`."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: Any) -> None:
        """Run the block, and print a table of its layers, their outputs' shapes and their parameters.

        Parameters
        ----------
        *inputs
            What to run it with.

        Raises
        ------
        ParameterError
            If a block is hybridized.
        """
        print(summary_of(self, inputs))

    # files

    def save_parameters(self, filename: Path, deduplicate: bool = False) -> None:
        """Write all parameters by where they are in the model, such as ``"0.weight"``.

        Parameters
        ----------
        filename
            The file.
        deduplicate
            Write parameters that stand in several places once only.
        """
        block_files.save_parameters(self, filename, deduplicate)

    def load_parameters(
        self,
        filename: Path,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read what `save_parameters` or MXNet wrote, into a model of the same structure.

        Parameters
        ----------
        filename
            The file.
        ctx
            The device, or several, of parameters that are not initialized; the CPU if None.
        allow_missing
            Leave parameters as they are that are not in the file.
        ignore_extra
            Ignore arrays that belong to no parameter.
        cast_dtype, dtype_source
            Whether arrays of another dtype are cast to the parameter's (``"current"``), or the parameter to theirs (``"saved"``).

        Raises
        ------
        ParameterError
            If an array is missing or belongs to no parameter, or its dtype is another.
        ShapeError
            If its shape is another.
        """
        block_files.load_parameters(self, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def save_params(self, filename: Path) -> None:
        """As `save_parameters`; MXNet's older name of it."""
        self.save_parameters(filename)

    def save(self, prefix: Path) -> None:
        """Write the parameters, and the graphs of hybridized blocks, so that `load` need not trace them.

        Parameters
        ----------
        prefix
            How the files' names begin: ``prefix-model.params`` and ``prefix-model.json``.
        """
        model_files.save_model(self, prefix)

    def load(self, prefix: Path) -> None:
        """Read what `save` or MXNet wrote, into a model of the same structure.

        Parameters
        ----------
        prefix
            How the files' names begin.

        Raises
        ------
        FormatError
            If the model's structure is another, or a file is damaged.
        """
        model_files.load_model(self, prefix)

    def load_params(self, filename: Path, ctx: Contexts = None, allow_missing: bool = False, ignore_extra: bool = False) -> None:
        """As `load_parameters`; MXNet's older name of it."""
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)


def _indented(text: str) -> str:
    """Lines after the first two blanks further to the right."""
    return text.replace("\n", "\n  ")


def _selected(params: ParameterDict, pattern: re.Pattern[str]) -> ParameterDict:
    found = ParameterDict(params.prefix)
    found._params = {name: param for name, param in params.items() if pattern.match(name)}
    return found


def _blocks_in(value: Any) -> Iterable[Block]:
    """The blocks inside nested lists and dictionaries."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _blocks_in(item)

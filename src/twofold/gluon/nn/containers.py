"""Sequences of blocks, and blocks that wrap a function."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from ... import ndarray as nd
from ... import symbol as sym
from ...errors import DTypeError, IndexingError, InvalidValue, ParameterError, WrongArgument
from ...origin import warn
from ...strictness import tolerate
from ..block import Block
from ..hybrid_block import HybridBlock
from ..numpy_arrays import through_legacy
from ..parameter_dict import ParameterDict
from ..signatures import Functions

__all__ = ["HybridLambda", "HybridSequential", "Lambda", "Sequential"]


class _Stack(Block):
    """The base of both kinds of sequence."""

    _is_container: ClassVar[bool] = True

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, *layers: Block, **unknown: object) -> None:
        if layers or not (prefix is None or isinstance(prefix, str)):
            what = f"{type(self).__name__}: layers are not arguments of its constructor"
            raise WrongArgument(what, type(prefix).__name__, "add them by net.add(layer, …)")
        super().__init__(prefix, params, **unknown)

    def add(self, *blocks: Block) -> None:
        """Add blocks at the end."""
        for block in blocks:
            self.register_child(self._block_of(block))

    def _block_of(self, block: Block) -> Block:
        return block

    def __repr__(self) -> str:
        lines = ["  ({}): {}".format(name, repr(block).replace("\n", "\n  ")) for name, block in self._children.items()]
        return "{}(\n{}\n)".format(type(self).__name__, "\n".join(lines))

    def __getitem__(self, key: int | slice) -> Any:
        """A block by index, or a slice as a sequence of the same kind that shares its blocks."""
        blocks = list(self._children.values())
        if not isinstance(key, slice) and not -len(blocks) <= key < len(blocks):
            raise IndexingError(f"{self.name}: no such layer", f"{key} of {len(blocks)} layers", "pass the position of a layer, from 0")
        found = blocks[key]
        if not isinstance(found, list):
            return found
        # The same prefix, so that the blocks' parameters keep their names within the slice.
        part: Self = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*found)
        return part

    def __len__(self) -> int:
        return len(self._children)


class Sequential(_Stack):
    """Runs blocks one after another.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.Sequential()
    >>> net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net(mx.nd.ones((3, 5))).shape
    (3, 2)
    """

    def forward(self, x: object) -> Any:
        """The output of the last block.

        Parameters
        ----------
        x
            The input of the first block.
        """
        for block in self._children.values():
            x = block(x)
        return x

    def _block_of(self, block: Block | Callable[..., Any]) -> Block:
        if isinstance(block, Block) or not callable(block):
            return block
        if isinstance(block, type) and issubclass(block, Block):
            raise DTypeError("Sequential.add: a class is no block", block.__name__, f"call it first: {block.__name__}(…)")
        tolerate("Sequential.add: a function is no block", repr(block), "put it into a Lambda")
        return Lambda(block)

    def hybridize(self, active: bool = True, **kwargs: object) -> None:
        """Hybridize each block on its own; see `HybridBlock.hybridize`."""
        if self._children and all(isinstance(c, HybridBlock) for c in self._children.values()):
            warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. "
                "Consider using HybridSequential for the best performance.",
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock, arrays="any"):
    """Runs hybrid blocks one after another; they can be compiled into one graph.

    Parameters
    ----------
    prefix, params
        See `Block`.
    """

    def hybrid_forward(self, F: Functions, x: object) -> object:
        """The output of the last block."""
        for block in self._children.values():
            x = block(x)
        return x


def _function_of(function: Any, modules: tuple[Any, ...], where: str) -> tuple[Callable[..., Any], str]:
    """The function that a lambda block calls, with ``F`` as its first argument, and its name."""
    if isinstance(function, str):
        # `dir` rather than attribute access, which would suggest similar names and raise another error.
        missing = [m for m in modules if function not in dir(m)]
        if missing:
            raise InvalidValue(f"Function name {function} is not found in {where}", None, "name one of its functions, or pass a function")
        return (lambda F, *args: through_legacy(getattr(F, function))(*args)), function
    if callable(function):
        return function, function.__name__
    raise ParameterError(
        "Unrecognized function in lambda", f"{function} of type {type(function)}", "pass a function, or the name of an operator"
    )


class Lambda(Block):
    """Wraps a function, or an operator of `twofold.nd` given by name, as a block.

    Parameters
    ----------
    function
        The function of the inputs.
    prefix
        See `Block`.

    Raises
    ------
    ParameterError
        If it is neither, or there is no such operator.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        called, self._function_name = _function_of(function, (nd,), "ndarray")
        self._called = (lambda *args: called(nd, *args)) if isinstance(function, str) else called

    def forward(self, *args: object) -> Any:
        """The function of the inputs."""
        return self._called(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._function_name})"


class HybridLambda(HybridBlock, arrays="np"):
    """Wraps a function of ``F`` and the inputs, or an operator given by name, as a hybrid block.

    Parameters
    ----------
    function
        The function. ``F`` is `twofold.nd` or `twofold.sym`; for arrays of `mx.np` use ``F.np`` and ``F.npx``.
    prefix
        See `Block`.

    Raises
    ------
    ParameterError
        If it is neither, or there is no such operator.
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        self._called, self._function_name = _function_of(function, (nd, sym), "symbol/ndarray")

    def hybrid_forward(self, F: Functions, x: object, *args: object) -> object:
        """The function of the inputs."""
        return self._called(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._function_name})"

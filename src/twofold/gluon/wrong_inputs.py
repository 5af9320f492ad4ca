"""What is wrong with what a layer is given: sizes in its constructor, inputs that are no arrays, and the layer that an error is about."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..imperative.array import Array
from ..plurals import counted
from ..strictness import tolerate
from ..suggestions import module_of
from ..symbol.symbol import Symbol

#: What is wrong, what was given, and what to do, as in `MXNetError`.
Mistake = tuple[str, str, str]
#: Libraries to which MXNet delegates graphs. They fuse operators in MXNet, which happens here anyway.
BACKENDS = ("MKLDNN", "ONEDNN")
#: What to do where a block has no graph yet.
TO_TRACE = "first call block.hybridize() and then run forward with this block at least once; blocks with F.np are not traced"


def is_size(n: object) -> bool:
    """Whether something is a size of an axis; 0, or -1 under ``npx.set_np``, if it is unknown."""
    return isinstance(n, (int, np.integer)) and int(n) >= -1


def checked_shape(name: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple, with unknown sizes as 0, or -1 under ``npx.set_np``."""
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if not all(map(is_size, sizes)):
        raise ParameterError(f"Parameter '{name}': invalid shape", repr(shape), "pass non-negative integers, 0 for an unknown size")
    return sizes


def check_sizes(layer: object, *, unknown: int = 0, **sizes: object) -> None:
    """Check arguments of a layer that are numbers of values, in their own names instead of its parameters'.

    Parameters
    ----------
    layer
        The layer.
    unknown
        -1 for sizes of inputs, which are inferred if they are 0, or -1 under ``npx.set_np``. Other sizes of 0 raise in MXNet when the
        layer is called, so here they warn.
    **sizes
        The arguments.

    Raises
    ------
    ParameterError
        If one is no size.
    """
    for name, n in sizes.items():
        mistake = f"{type(layer).__name__}: {name} must be a positive integer", repr(n), "pass a number of values"
        if not isinstance(n, (int, np.integer)) or n < unknown:
            raise ParameterError(*mistake)
        if n == unknown == 0:
            tolerate(*mistake)


def check_positive(layer: object, **sizes: object) -> None:
    """Raise `ParameterError` for an argument of a layer that must be 1 or more, also where the layer is only made."""
    check_sizes(layer, unknown=1, **sizes)


def foreign_input(function: Callable[..., object], args: Sequence[object]) -> Mistake | None:
    """What is wrong with inputs of another library's types, by the name of the first one; None if all are arrays or symbols."""
    names = list(signature(function).parameters)[1:]  # without F
    for name, given in zip(names, args, strict=False):
        if not isinstance(given, (Array, Symbol, type(None))):
            if isinstance(given, (list, tuple)):
                return f"{name} must be an NDArray", f"{counted(len(given), 'object')} in a list or tuple", "pass arrays one by one"
            kind = f"{type(given).__module__}.{type(given).__name__}".removeprefix("builtins.")
            return f"{name} must be an NDArray", f"an object of type {kind}", "convert it with mx.nd.array"
    return None


def own_forward(block: object, base: Any) -> Mistake | None:
    """What is wrong with compiling a block of a user's class that defines ``forward`` instead of ``hybrid_forward``; ``base`` has both."""
    cls: Any = type(block)
    if cls.hybrid_forward is not base.hybrid_forward or module_of(cls.forward).startswith("twofold."):
        return None
    todo = "define hybrid_forward(self, F, x) instead, or call the block by mx.func.jit(block)"
    return f"{cls.__name__} has a forward of its own, which is not compiled: only its layers are", "forward(self, x)", todo


def name_of_layer(names: Mapping[str, str], node: str) -> str:
    """The name of the innermost block that has made a node of a symbol, among the names of blocks by their prefixes."""
    # the names of a layer's nodes begin with its prefix, which begins with those of the blocks around it
    return names[max((prefix for prefix in names if node.startswith(prefix)), key=len)]


def check_backend(backend: str | None) -> None:
    """Warn about an unknown backend: MXNet leaves the graph unchanged."""
    if backend is not None and backend.upper() not in BACKENDS:
        tolerate("no such backend to optimize for", repr(backend), f"use one of {', '.join(BACKENDS)}, or none")

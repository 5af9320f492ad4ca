"""The table that ``Block.summary`` prints: layers in execution order, their output shapes and parameter counts."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import ClassVar, NamedTuple, Protocol

from ..errors import InvalidValue
from ..imperative.array import Array
from .hooks import HookHandle
from .parameter import Parameter
from .parameter_dict import ParameterDict

WIDTH = 80


class _Layer(Protocol):
    """What `Block` has for its summary."""

    _is_container: ClassVar[bool]

    @property
    def name(self) -> str: ...

    @property
    def _is_hybridized(self) -> bool: ...

    @property
    def _reg_params(self) -> Mapping[str, Parameter]: ...

    def __call__(self, *args: object) -> object: ...

    def apply(self, fn: "Callable[[_Layer], object]") -> object: ...

    def collect_params(self) -> ParameterDict: ...

    def register_forward_hook(self, hook: "Callable[[_Layer, tuple[object, ...], object], object]") -> HookHandle: ...


class _Row(NamedTuple):
    """A layer or, without parameters, the input."""

    name: str
    shape: object
    params: Sequence[Parameter]


def summary_of(block: _Layer, inputs: Sequence[object]) -> str:
    """Run a block and describe it.

    Parameters
    ----------
    block
        The block.
    inputs
        The inputs to run it on.

    Raises
    ------
    ParameterError
        If a block is hybridized: the layers inside it do not run their hooks.
    """
    rows = [_Row("Input", _outer(inputs), ())]
    handles: dict[_Layer, HookHandle] = {}

    def watch(layer: _Layer) -> None:
        if layer._is_hybridized:
            # users call `hybridize` of the whole block, and need not know the layers inside it
            raise InvalidValue(f'"{block.name}" must not be hybridized to print summary', None, "call hybridize(False) first")
        # A layer that is used twice is visited twice, but gets one hook, which makes a row for each use.
        if not layer._is_container and layer not in handles:
            handles[layer] = layer.register_forward_hook(note)

    def note(layer: _Layer, _: tuple[object, ...], out: object) -> None:
        rows.append(_Row(f"{type(layer).__name__}-{len(rows)}", _outer(out), list(layer._reg_params.values())))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles.values():
            handle.detach()
    return _table(rows, list(block.collect_params().values()))


def _shapes(values: object) -> object:
    """The shape of an array, or those of nested lists of arrays."""
    if isinstance(values, (list, tuple)):
        return f"[{', '.join(str(_shapes(v)) for v in values)}]"
    return values.shape if isinstance(values, Array) else values


def _outer(values: object) -> object:
    """`_shapes` without brackets around the outermost list."""
    return ", ".join(str(_shapes(v)) for v in values) if isinstance(values, (list, tuple)) else _shapes(values)


def _count(params: Sequence[Parameter]) -> int:
    return sum(prod(p.shape or ()) for p in params)


def _line(*columns: object) -> str:
    return f"{columns[0]!s:>20}{columns[1]!s:>44}{columns[2]!s:>16}"


def _table(rows: Sequence[_Row], unique: Sequence[Parameter]) -> str:
    listed = [p for row in rows for p in row.params]
    trained = [p for p in listed if p.grad_req != "null"]
    shared = _count(listed) - _count(list(dict.fromkeys(listed)))
    lines = ["-" * WIDTH, _line("Layer (type)", "Output Shape", "Param #"), "=" * WIDTH]
    lines += [_line(row.name, row.shape, _count(row.params)) for row in rows]
    lines += [
        "=" * WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {_count(listed)}",
        f"   Trainable params: {_count(trained)}",
        f"   Non-trainable params: {_count(listed) - _count(trained)}",
        f"Shared params in forward computation graph: {shared}",
        f"Unique parameters in model: {_count(unique)}",
        "-" * WIDTH,
    ]
    return "\n".join(lines)

"""The table that ``Block.summary`` prints: layers in execution order, their output shapes and parameter counts."""

from collections.abc import Sequence
from math import prod
from typing import Any

from ..imperative.array import Array
from .exceptions import InvalidValue
from .parameter import Parameter

__all__ = ["summary_of"]

WIDTH = 80


class _Row:
    """A layer or, without parameters, the input."""

    def __init__(self, name: str, shape: Any, params: Sequence[Parameter]) -> None:
        self.name, self.shape, self.params = name, shape, params


def summary_of(block: Any, inputs: Sequence[Any]) -> str:
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
    handles: dict[Any, Any] = {}

    def watch(layer: Any) -> None:
        if layer._is_hybridized:
            raise InvalidValue(f'"{layer.name}" must not be hybridized to print summary.', None, "call hybridize(False) first")
        if not layer._is_container and layer not in handles:
            handles[layer] = layer.register_forward_hook(note)

    def note(layer: Any, _: Any, out: Any) -> None:
        rows.append(_Row(f"{type(layer).__name__}-{len(rows)}", _outer(out), list(layer._reg_params.values())))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles.values():
            handle.detach()
    return _table(rows, list(block.collect_params().values()))


def _shapes(values: Any) -> Any:
    """The shape of an array, or those of nested lists of arrays."""
    if isinstance(values, (list, tuple)):
        return f"[{', '.join(str(_shapes(v)) for v in values)}]"
    return values.shape if isinstance(values, Array) else values


def _outer(values: Any) -> Any:
    """`_shapes` without brackets around the outermost list."""
    return ", ".join(str(_shapes(v)) for v in values) if isinstance(values, (list, tuple)) else _shapes(values)


def _count(params: Sequence[Parameter]) -> int:
    return sum(prod(p.shape or ()) for p in params)


def _line(*columns: Any) -> str:
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

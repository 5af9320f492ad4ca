"""The table that ``Block.summary`` prints: layers in execution order, their output shapes and parameter counts."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from math import prod
from typing import ClassVar, NamedTuple, Protocol

from ..errors import InvalidValue
from ..imperative.array import Array
from ..progress_bars import is_shown_by_rich
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


def print_summary(block: _Layer, inputs: Sequence[object]) -> None:
    """Run a block and print its table: by rich on a terminal and in a notebook if it is installed, else MXNet's text.

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
    unique = list(block.collect_params().values())
    if find_spec("rich") is not None and is_shown_by_rich(sys.stdout):
        _print_rich(block.name, rows, unique)
    else:
        print(_table(rows, unique))


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


class _Counts(NamedTuple):
    """Numbers of parameters: of all layers as they run, of those that are trained, twice or more, and in the model."""

    total: int
    trained: int
    shared: int
    unique: int


def _counts(rows: Sequence[_Row], unique: Sequence[Parameter]) -> _Counts:
    listed = [p for row in rows for p in row.params]
    trained = [p for p in listed if p.grad_req != "null"]
    return _Counts(_count(listed), _count(trained), _count(listed) - _count(list(dict.fromkeys(listed))), _count(unique))


def _table(rows: Sequence[_Row], unique: Sequence[Parameter]) -> str:
    counts = _counts(rows, unique)
    lines = ["-" * WIDTH, _line("Layer (type)", "Output Shape", "Param #"), "=" * WIDTH]
    lines += [_line(row.name, row.shape, _count(row.params)) for row in rows]
    lines += [
        "=" * WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {counts.total}",
        f"   Trainable params: {counts.trained}",
        f"   Non-trainable params: {counts.total - counts.trained}",
        f"Shared params in forward computation graph: {counts.shared}",
        f"Unique parameters in model: {counts.unique}",
        "-" * WIDTH,
    ]
    return "\n".join(lines)


def _print_rich(title: str, rows: Sequence[_Row], unique: Sequence[Parameter]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    counts = _counts(rows, unique)
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for head in ("layer", "output", "parameters", "share"):
        table.add_column(head, justify="right" if head == "parameters" else "left", overflow="fold")
    # while shapes are inferred layers may be called with symbols
    for row in (r for r in rows if isinstance(r.shape, (tuple, str))):
        count = _count(row.params)
        # what is not trained is dim; text objects, since brackets in a shape or name are no markup
        style = "" if any(p.grad_req != "null" for p in row.params) else "dim"
        bar = "█" * round(20 * count / max(counts.total, 1))
        table.add_row(Text(row.name), Text(str(row.shape)), Text(f"{count:,}" if count else ""), Text(bar), style=style)
    fixed, shared = counts.total - counts.trained, counts.shared
    parts = [f"{counts.unique:,} parameters", f"{fixed:,} of them not trained" if fixed else "", f"{shared:,} shared" if shared else ""]
    Console().print(table, Text(f" {', '.join(filter(None, parts))}"))

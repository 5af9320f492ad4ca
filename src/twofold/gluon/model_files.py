"""Saves and loads a model's parameters and traced graphs in MXNet's format, for ``Block.save`` and ``Block.load``."""

import json
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any

from ..errors import FormatError
from ..formats.files import read_file, write_file

__all__ = ["load_model", "save_model"]

Path = str | PathLike[str]
#: Keys of a block's entry other than those of its children's entries.
OWN = frozenset({"orig_name", "in_format", "out_format", "inputs", "symbol", "hybridized", "children", "hooks", "active"})


def save_model(block: Any, prefix: Path) -> None:
    """See `Block.save`."""
    numbers = iter(range(1 << 30))
    text = json.dumps({_key(block, next(numbers)): _entry(block, numbers)})
    write_file(f"{fspath(prefix)}-model.json", [text.encode()])
    block.save_parameters(f"{fspath(prefix)}-model.params")


def _key(block: Any, number: int) -> str:
    return f"{type(block).__name__.lower()}{number}"


def _entry(block: Any, numbers: Iterator[int]) -> dict[str, Any]:
    """A block's entry: its own record, and the entries of its children."""
    entry = {"orig_name": block.name, **block._traced_record(), "children": {child.name: name for name, child in block._children.items()}}
    for child in block._children.values():
        entry[_key(child, next(numbers))] = _entry(child, numbers)
    return entry


def load_model(block: Any, prefix: Path) -> None:
    """See `Block.load`."""
    path = f"{fspath(prefix)}-model.json"
    try:
        found = json.loads(read_file(path))
    except ValueError as error:
        raise FormatError("model: not JSON", str(error), path=path) from None
    if not isinstance(found, dict) or len(found) != 1:
        raise FormatError("model: expected exactly one block", type(found).__name__, path=path)
    block.load_parameters(f"{fspath(prefix)}-model.params")
    _restore(block, next(iter(found.values())), path)


def _restore(block: Any, entry: Any, path: str) -> None:
    if not isinstance(entry, dict):
        raise FormatError("model: a block's entry is not an object", type(entry).__name__, path=path)
    entries = [value for key, value in entry.items() if key not in OWN]
    children = list(block._children.values())
    if len(entries) != len(children):
        raise FormatError(
            f"model: {block.name} differs in its number of children",
            f"{len(entries)} in the file, {len(children)} in the model",
            "load it into the same model",
            path=path,
        )
    for child, part in zip(children, entries, strict=True):
        _restore(child, part, path)
    block._restore_traced(entry)

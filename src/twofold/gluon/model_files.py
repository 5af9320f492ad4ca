"""Saves and loads a model's parameters and traced graphs in MXNet's format, for ``Block.save`` and ``Block.load``."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from os import PathLike, fspath
from typing import Protocol

from ..errors import FormatError
from ..formats.files import read_file, write_file
from ..formats.json_text import parse_json

Path = str | PathLike[str]
#: Keys of a block's entry other than those of its children's entries.
OWN = frozenset({"orig_name", "in_format", "out_format", "inputs", "symbol", "hybridized", "children", "hooks", "active"})


class _Model(Protocol):
    """What `Block` has for its files."""

    @property
    def name(self) -> str: ...

    @property
    def _children(self) -> Mapping[str, "_Model"]: ...

    def _trace_record(self) -> Mapping[str, object]: ...

    def _read_trace(self, record: Mapping[str, object]) -> object: ...

    def _restore_trace(self, record: Mapping[str, object], trace: object) -> None: ...

    def save_parameters(self, filename: Path) -> None: ...

    def load_parameters(self, filename: Path) -> None: ...


def save_model(block: _Model, prefix: Path) -> None:
    """See `Block.save`."""
    # Numbered in the order of a depth-first walk, parents first: MXNet looks blocks up by these keys.
    numbers = count()
    text = json.dumps({_key(block, next(numbers)): _entry(block, numbers)})
    write_file(f"{fspath(prefix)}-model.json", [text.encode()])
    block.save_parameters(f"{fspath(prefix)}-model.params")


def _key(block: _Model, number: int) -> str:
    return f"{type(block).__name__.lower()}{number}"


def _entry(block: _Model, numbers: Iterator[int]) -> dict[str, object]:
    """A block's entry: its own record, and the entries of its children."""
    names = {child.name: name for name, child in block._children.items()}
    entry: dict[str, object] = {"orig_name": block.name, **block._trace_record(), "children": names}
    for child in block._children.values():
        key = _key(child, next(numbers))
        entry[key] = _entry(child, numbers)
    return entry


def load_model(block: _Model, prefix: Path) -> None:
    """See `Block.load`."""
    path = f"{fspath(prefix)}-model.json"
    try:
        found = parse_json(read_file(path), "model")
    except FormatError as error:
        raise error.at_path(path) from None
    if not isinstance(found, dict) or len(found) != 1:
        raise FormatError("model: expected exactly one block", type(found).__name__, path=path)
    # everything is read and checked before the block changes
    parts = [(part, entry, part._read_trace(entry)) for part, entry in _entries(block, next(iter(found.values())), path)]
    block.load_parameters(f"{fspath(prefix)}-model.params")
    for part, entry, trace in parts:
        part._restore_trace(entry, trace)


def _entries(block: _Model, entry: object, path: str) -> Iterator[tuple[_Model, dict[str, object]]]:
    """A block and those inside it, each with its entry in the file, children first."""
    if not isinstance(entry, dict):
        raise FormatError("model: a block's entry is not an object", type(entry).__name__, path=path)
    # By position: names differ between processes, as automatic ones are counted.
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
        yield from _entries(child, part, path)
    yield block, entry

"""Reads the stored results of the real MXNet 1.9.1: cases of operators and rows of conventions. Holds no expectations itself."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent


class StoredArrays(Mapping[int, np.ndarray]):
    """Arrays by position, each read from the archive when it is asked for (a fresh, writable copy every time)."""

    def __init__(self, keys: Mapping[int, str]) -> None:
        """Takes the archive key of every position."""
        self._keys = dict(keys)

    def __getitem__(self, position: int) -> np.ndarray:
        """The array at a position."""
        return archive()[self._keys[position]]

    def __iter__(self) -> Iterator[int]:
        """The positions in order."""
        return iter(self._keys)

    def __len__(self) -> int:
        """How many arrays there are."""
        return len(self._keys)

    def in_order(self) -> list[np.ndarray]:
        """All arrays in the order of their positions."""
        return [self[position] for position in self]


@dataclass(frozen=True)
class Case:
    """One call of an operator in MXNet and everything that it left behind.

    Attributes
    ----------
    name
        ``<operator>.<number>``; good as a test id.
    op, path
        The registered operator and the function under ``mx`` that was called, such as ``nd.linalg.gemm2``.
    attrs
        Keyword arguments of the call; sequences are tuples.
    train
        The mode of ``autograd.record`` and ``backward``.
    inputs
        By position; a position that is missing here but below ``input_count`` was passed as ``None``.
    outputs, heads, gradients
        Results by position, the head gradients given to ``backward`` and the gradients by input position
        (empty if nothing was differentiated).
    states_after_forward, states_after_backward
        By input position: auxiliary states, and any other input that the operator overwrote.
    error, gradient_error
        The first telling line of MXNet's refusal of the call, or of recording or backward only; ``None`` if it worked.
    """

    name: str
    op: str
    path: str
    attrs: dict[str, Any]
    train: bool
    input_count: int
    input_dtypes: tuple[str | None, ...]
    output_dtypes: tuple[str, ...]
    inputs: StoredArrays
    outputs: StoredArrays
    heads: StoredArrays
    gradients: StoredArrays
    states_after_forward: StoredArrays
    states_after_backward: StoredArrays
    error: str | None = None
    exception: str | None = None
    gradient_error: str | None = None
    note: str = field(default="", compare=False)

    def positional(self) -> list[np.ndarray | None]:
        """The positional arguments of the call, ``None`` where an optional input was left out."""
        return [self.inputs.get(i) for i in range(self.input_count)]

    def __str__(self) -> str:
        """The name and the attributes."""
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.attrs.items())})"


@dataclass(frozen=True)
class Convention:
    """One expression evaluated in MXNet.

    Attributes
    ----------
    topic, setup, expression
        A word to choose rows by, statements run before, and the expression; names: ``mx, nd, sym, autograd, np``.
    result
        What came out: ``type``, ``repr``, and for arrays ``shape``, ``dtype``, ``values`` (nested lists, nan and inf as strings).
    exception, message
        The exception's class name and the first telling line of its text, if it raised (then ``result`` is empty).
    """

    topic: str
    setup: str
    expression: str
    result: dict[str, Any]
    exception: str | None = None
    message: str | None = None


@cache
def archive() -> Mapping[str, np.ndarray]:
    """All stored arrays by key, decompressed one at a time."""
    return np.load(io.BytesIO((FOLDER / "values.npz").read_bytes()), allow_pickle=False)


def load_cases(op: str | None = None) -> list[Case]:
    """The stored cases, all or those of one registered operator, in a fixed order."""
    return [as_case(record) for record in case_records() if op is None or record["op"] == op]


def load_conventions(topic: str | None = None) -> list[Convention]:
    """The stored rows on conventions, all or those of one topic."""
    rows = json.loads((FOLDER / "conventions.json").read_text())["rows"]
    return [Convention(**row) for row in rows if topic is None or row["topic"] == topic]


@cache
def case_records() -> list[dict[str, Any]]:
    """The rows of cases.json."""
    return json.loads((FOLDER / "cases.json").read_text())["cases"]


def as_case(record: dict[str, Any]) -> Case:
    """A row of cases.json as a Case."""
    return Case(
        name=record["name"],
        op=record["op"],
        path=record["path"],
        attrs={key: with_tuples(value) for key, value in record["attrs"].items()},
        train=record["train"],
        input_count=len(record["inputs"]),
        input_dtypes=tuple(record["input_dtypes"]),
        output_dtypes=tuple(record.get("output_dtypes", ())),
        inputs=stored(record, "inputs"),
        outputs=stored(record, "outputs"),
        heads=stored(record, "heads"),
        gradients=stored(record, "gradients"),
        states_after_forward=stored(record, "states_after_forward"),
        states_after_backward=stored(record, "states_after_backward"),
        error=record.get("message"),
        exception=record.get("exception"),
        gradient_error=record.get("gradient_error"),
        note=record.get("note", ""),
    )


def stored(record: dict[str, Any], name: str) -> StoredArrays:
    """One group of a record's arrays."""
    keys = record.get(name, ())
    pairs = keys.items() if isinstance(keys, dict) else enumerate(keys)
    return StoredArrays({int(position): key for position, key in pairs if key is not None})


def with_tuples(value: Any) -> Any:
    """JSON's lists as the tuples that were passed."""
    return tuple(with_tuples(item) for item in value) if isinstance(value, list) else value

"""States of optimizers: pickles, which are interpreted without running anything in them."""

from collections.abc import Iterator, Mapping

from ...formats.pickle_records import load_states
from ...formats.records import ArrayRecord, ObjectRecord
from ...formats.value_text import brief_key, brief_repr
from .content import Content, Fact, Selection, Table
from .inspected_file import InspectedFile
from .statistics import array_content

#: Characters of a value that are shown.
MOST_TEXT = 200


def read_states(source: InspectedFile, content: Content, selection: Selection) -> None:
    """States by index, and the optimizer if the file has it."""
    value = load_states(source.whole())
    match value:
        case (dict() as states, ObjectRecord() as optimizer):
            _describe(optimizer, content)
        case dict() as states:
            content.facts["optimizer"] = "not in the file"
        case _:
            states = {}  # `load_states` returns nothing else
    content.facts["states"] = len(states)
    empty = 0
    for index, state in states.items():
        parts = list(_parts(brief_repr(index), state))
        content.arrays += [array_content(name, part) for name, part in parts if isinstance(part, ArrayRecord)]
        others = [(name, _text(part)) for name, part in parts if not isinstance(part, ArrayRecord) and part is not None]
        if others:
            content.tables.append(Table(f"State of {brief_key(index)}", ("part", "value"), others))
        empty += not parts or all(part is None for _, part in parts)
    if empty:
        content.facts["parameters without a state"] = empty


def _parts(name: str, state: object) -> Iterator[tuple[str, object]]:
    """Arrays and other values in a state, by name and positions."""
    if isinstance(state, (tuple, list)):
        for k, part in enumerate(state):
            yield from _parts(f"{name}[{k}]", part)
    elif isinstance(state, dict):
        for key, part in state.items():
            yield from _parts(f"{name}[{brief_repr(key)}]", part)
    else:
        yield name, state


def _describe(optimizer: ObjectRecord, content: Content) -> None:
    content.facts["optimizer"] = brief_key(f"{optimizer.module}.{optimizer.name}", MOST_TEXT)
    attributes = optimizer.state if isinstance(optimizer.state, Mapping) else {}
    rows: list[tuple[Fact, ...]] = [(brief_key(name), _text(value)) for name, value in attributes.items()]
    content.tables.append(Table("Attributes of the optimizer", ("name", "value"), rows))


def _text(value: object) -> Fact:
    """A value in a line."""
    match value:
        case bool() | None:
            return str(value)
        case int() | float():
            return value
        case str():
            return brief_key(value, MOST_TEXT)
    return brief_repr(value, MOST_TEXT)

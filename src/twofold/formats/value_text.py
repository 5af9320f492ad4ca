"""Short texts of values in files, for messages and tables: the time and memory that one takes do not depend on the value's size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .records import ArrayRecord, DTypeRecord, ObjectRecord

#: Containers within containers that are shown.
DEPTH = 6
#: The largest integers whose digits are shown.
INTEGER_BITS = 512
ELLIPSIS = "…"


def brief_repr(value: object, length: int = 80) -> str:
    """The beginning of a value's ``repr``. The rest is never made: values in a file may share parts, so that their text has any length.

    Parameters
    ----------
    value
        Plain data: None, bools, numbers, strings, bytes, containers, and records. Of any other object the class is named.
    length
        The most characters; a longer text ends with ``…``.

    Examples
    --------
    >>> from twofold.formats.value_text import brief_repr
    >>> brief_repr((1, "a", {2: [None]}))
    "(1, 'a', {2: [None]})"
    >>> brief_repr(["x" * 1_000_000] * 1_000_000, 12)
    "['xxxxxxxxx…"
    """
    text = ""
    for piece in _pieces(value, DEPTH, length):
        text += piece
        if len(text) > length:
            return f"{text[: length - 1]}{ELLIPSIS}"
    return text


def _pieces(value: object, depth: int, length: int) -> Iterator[str]:
    """The text of a value in pieces of bounded size. None is empty, so that a reader of some characters takes a bounded number."""
    match value:
        case str() | bytes() | bytearray():
            yield repr(value[: length + 1])
        case bool() | float() | complex() | None | range():
            yield repr(value)
        case int():
            bits = value.bit_length()
            yield repr(value) if bits <= INTEGER_BITS else f"<an integer of {bits} bits>"
        case ArrayRecord():
            yield f"{value.dtype} {value.shape}"
        case DTypeRecord():
            yield value.name[:length]
        case ObjectRecord():
            yield f"{value.module[:length]}.{value.name[:length]}("
            inside = value.state if isinstance(value.state, dict) else {}
            yield from _joined(((f"{brief_key(name, length)}=", part) for name, part in inside.items()), depth, length)
            yield ")"
        case dict():
            yield "{"
            yield from _joined(((f"{brief_repr(key, length)}: ", part) for key, part in value.items()), depth, length)
            yield "}"
        case list() | tuple() | set() | frozenset():
            begin, end = _BRACKETS.get(type(value), (f"{type(value).__name__}(", ")"))
            yield begin
            yield from _joined((("", part) for part in value), depth, length)
            yield ",)" if type(value) is tuple and len(value) == 1 else end
        case _:
            yield f"<{type(value).__name__}>"


def brief_key(key: object, length: int = 80) -> str:
    """A name in a file, without quotes; the beginning of the text of any other key."""
    if not isinstance(key, str):
        return brief_repr(key, length)
    return key if len(key) <= length else f"{key[: length - 1]}{ELLIPSIS}"


def _joined(parts: Iterable[tuple[str, object]], depth: int, length: int) -> Iterator[str]:
    """The texts of a container's parts, each after its key, with commas between."""
    for k, (key, part) in enumerate(parts):
        if depth == 0:
            yield ELLIPSIS
            return
        yield f", {key}" if k else key
        yield from _pieces(part, depth - 1, length)


_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})")}

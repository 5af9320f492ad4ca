"""Parses untrusted JSON within bounds of memory; every fault raises FormatError. Encodes texts of files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import FormatError, ParameterError

if TYPE_CHECKING:
    from .records import Buffer

# Sizes in CPython, in bytes: an empty list, an empty dict, half a short string (it has two quotes), a list entry with spare capacity.
COSTS = {b"[": 56, b"{": 64, b'"': 28, b",": 12}
EXPANSION, ALLOWANCE = 12, 1 << 24


def parse_json(data: Buffer | str, what: str) -> object:
    """Parse JSON, called ``what`` in errors.

    Control characters are allowed inside strings, because MXNet writes them unescaped.

    Raises
    ------
    FormatError
        If the bytes are not UTF-8 or not JSON, contain lone surrogates, nest too deeply, or expand to far more memory than the file.
    """
    encoded = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    # Counted before parsing, and from above: marks within strings count too, so text of brackets may be refused, but no bomb is parsed.
    estimate = sum(encoded.count(mark) * cost for mark, cost in COSTS.items())
    if estimate > EXPANSION * len(encoded) + ALLOWANCE:
        raise FormatError(f"{what}: its values would need far more memory than the file", f"{len(encoded)} bytes for about {estimate}")
    try:
        return _check_surrogates(json.loads(encoded.decode("utf-8"), strict=False), encoded)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{what} is not JSON: {error.msg}",
            f"line {error.lineno}",
            "pass the text of a JSON file",
            offset=len(error.doc[: error.pos].encode()),
        ) from None
    except UnicodeError as error:
        raise FormatError(f"{what} is not UTF-8 text: {error}", None, "pass a JSON file, not one of parameters") from None
    except RecursionError:
        raise FormatError(f"{what} is nested too deeply", todo="files of this format never are") from None
    except ValueError as error:
        raise FormatError(f"{what}: a number cannot be read: {error}") from None


def utf8(text: str, what: str) -> bytes:
    """The bytes of a text, called ``what`` in errors.

    Raises
    ------
    ParameterError
        If it contains half of a surrogate pair, which UTF-8 cannot represent.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        given = ascii(text[max(0, error.start - 20) : error.end + 20])
        raise ParameterError(f"{what} contains half of a surrogate pair, which no file can hold", given, "choose another name") from None


def _check_surrogates(value: object, encoded: bytes) -> object:
    """Reject strings that could not be written again: an escape may denote half of a surrogate pair."""
    if rb"\u" in encoded:
        # raises a UnicodeError for half of a pair
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value

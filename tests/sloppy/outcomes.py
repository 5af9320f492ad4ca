"""What became of a program: its result, or the classes of its exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.oracle_programs import plain


def outcome(program: Callable[[Any], Any], package: Any) -> dict[str, Any]:
    """The result of a program as JSON, under ``returns``, or the names of its exception's classes, under ``raises``."""
    try:
        return {"returns": json.loads(json.dumps(plain(program(package))))}
    except Exception as error:
        return {"raises": [kind.__name__ for kind in type(error).__mro__[:-3]]}  # without Exception and its bases

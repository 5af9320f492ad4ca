"""What a call prints and raises."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any


def told(action: Callable[[], Any]) -> dict[str, Any]:
    """The text that a call prints, and the message of the AssertionError that it raises, None if there is none."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            action()
            message = None
        except AssertionError as error:
            message = str(error)
    return {"printed": printed.getvalue(), "message": message}


def passes(action: Callable[[], Any]) -> bool:
    """Whether a call raises no AssertionError."""
    return told(action)["message"] is None

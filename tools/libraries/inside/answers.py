"""A process that answers the lines of its standard input, each by a line of JSON; what libraries print goes to standard error."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

#: Begins the lines that are answers.
MARK = "answer "


def last_lines(error: BaseException) -> str:
    """An error's class and text, and the innermost line outside the import system that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:240]}{place}"


def answer_lines(answer: Callable[[Any], Any]) -> None:
    """Answer questions, which are JSON too, until standard input ends; an exception's text is the answer `error`."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            found = {"error": last_lines(error)}
        out.write(MARK + json.dumps(found) + "\n")
        out.flush()

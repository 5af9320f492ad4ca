"""Regular expressions that callers pass, such as those that select parameters by name."""

import re

from .errors import ParameterError


class WrongPattern(ParameterError, re.error):
    """A text that is no regular expression. MXNet raises ``re.error``."""


def compiled(what: str, pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """A compiled regular expression.

    Parameters
    ----------
    what
        What it is for, as messages begin.
    pattern
        The expression; it may be compiled already.

    Raises
    ------
    WrongPattern
        If it is none.
    """
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        todo = "escape the special characters of a plain name by re.escape"
        raise WrongPattern(f"{what}: this is no regular expression: {error}", f"{pattern!r:.100}", todo) from error

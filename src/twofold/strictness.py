"""Arguments that MXNet accepts without effect: a warning, or with ``TWOFOLD_STRICT=1`` an error."""

from .config import SETTINGS
from .errors import MXNetError, ParameterError
from .origin import warn


def tolerate(what: str, given: object, todo: str, error: type[MXNetError] = ParameterError) -> None:
    """Issue one `UserWarning` at the user's line, or raise an error if the setting ``strict`` is on (``TWOFOLD_STRICT=1``).

    For arguments that MXNet accepts although they have no effect, or an effect that the user cannot have meant. Programs that run with
    MXNet must run here too, so after the warning the caller does what MXNet does.

    Parameters
    ----------
    what, given, todo
        What is wrong, what was given, and what to do about it, as in `MXNetError`.
    error
        The class of the error.

    Raises
    ------
    MXNetError
        Of that class, if the setting is on.
    """
    found = error(what, given, todo)
    if SETTINGS.strict:
        raise found
    warn(f"{found} (MXNet goes on; TWOFOLD_STRICT=1 makes this an error)")

"""`tolerate`: where MXNet goes on with what it cannot have been meant to get, so does this package, with a warning."""

from .config import SETTINGS
from .errors import MXNetError, ParameterError
from .origin import warn


def tolerate(what: str, given: object, todo: str, error: type[MXNetError] = ParameterError) -> None:
    """Issue one `UserWarning` at the user's line, or raise an error if the setting ``strict`` is on (``TWOFOLD_STRICT=1``).

    For arguments that MXNet accepts although they have no effect, or none that the user can have meant: what runs there runs here.
    The caller goes on as MXNet does.

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

"""Keywords of functions that MXNet passes on to an operator."""

from collections.abc import Callable, Iterable

from ..errors import WrongArgument
from ..opdef.spec import is_attribute
from ..suggestions import argument_here


def check_keywords(called: Callable[..., object], given: Iterable[str]) -> None:
    """Raise for keywords beside a function's own. A ``name`` and ``__key__``, which are for symbols, have no effect, as in MXNet.

    Raises
    ------
    WrongArgument
        If there is any other.
    """
    for key in sorted(given):
        if not is_attribute(key):
            raise WrongArgument(f"{called.__name__}: there is no argument {key!r}", None, argument_here(key, called))

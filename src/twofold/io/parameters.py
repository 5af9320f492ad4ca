"""Parameters of iterators over files: numbers, bools and shapes may be text, and unknown ones are ignored with a warning.

MXNet's iterators over files receive all parameters as text, and none of them complains about one that it does not have.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, get_args, get_type_hints

from ..opdef.params import Floats, Param, Shape, kind_of
from ..strictness import tolerate
from ..suggestions import did_you_mean
from .iterator import DataIter

Init = TypeVar("Init", bound=Callable[..., None])
#: Annotations of parameters that may be text; all others are not converted.
PARSED = (bool, int, float, Floats, Shape)


def parsed(title: str, options: Mapping[str, object], hints: Mapping[str, object]) -> dict[str, Any]:
    """The options converted to their parameters' kinds, without those that the iterator does not have.

    Parameters
    ----------
    title
        Name of the iterator, for messages.
    options
        What was given, by name.
    hints
        The annotations of all parameters.

    Raises
    ------
    ParameterError
        If a value is not of its parameter's kind.

    Examples
    --------
    >>> parsed("AnIterator", {"batch_size": "32"}, {"batch_size": int, "shuffle": bool})
    {'batch_size': 32}
    """
    unknown = [name for name in options if name not in hints]
    if unknown:
        todo = did_you_mean(unknown[0], hints, f"see help(mx.io.{title})")
        tolerate(f"{title}: there is no parameter", ", ".join(unknown), todo)
    return {name: _value(title, name, given, hints[name]) for name, given in options.items() if name in hints}


def _value(title: str, name: str, given: object, hint: object) -> object:
    # Of ``int | None`` the members are looked up. ``int | str`` is not among the parsed ones as a whole, so text stays text there.
    kinds = {hint, *get_args(hint)} if type(None) in get_args(hint) else {hint}
    return Param(name, kind_of(hint), None, True).value(given, title) if kinds.intersection(PARSED) else given


def takes_text(init: Init) -> Init:
    """Decorate the ``__init__`` of an iterator, whose arguments are then as `parsed` describes."""
    signature = inspect.signature(init)
    every = get_type_hints(init, include_extras=True)  # without the extras `Shape` is any tuple
    hints = {name: every[name] for name in list(signature.parameters)[1:]}

    @functools.wraps(init)
    def with_text(self: DataIter, *args: Any, **options: Any) -> None:
        # Names that the iterator does not have stay out of the binding, which would raise an error: `parsed` warns of them.
        given = signature.bind_partial(self, *args, **{name: value for name, value in options.items() if name in hints}).arguments
        del given["self"]
        init(self, **parsed(type(self).__name__, given | options, hints))

    return cast("Init", with_text)

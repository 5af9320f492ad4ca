"""A base of classes whose attributes users assign: it tells of methods that are assigned to, and of names that mean another one."""

from collections.abc import Callable

from ..errors import OperatorError
from ..strictness import tolerate
from ..suggestions import assigned_here

#: What is wrong with assigning to a name, by class and name: None for nothing. Instances of a class have the same names.
_KNOWN: dict[tuple[type, str], "Callable[[object], None] | None"] = {}


class CheckedAttributes:
    """Assigns attributes; a name that other libraries have, or that is nearly that of an attribute, warns, and a method raises.

    Names that begin with an underscore, and new ones that look like no other, are the user's.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.Parameter("weight").data = mx.nd.ones(2)
    Traceback (most recent call last):
        ...
    twofold.errors.OperatorError: Parameter.data is a method: given an object of type NDArray to assign; call set_data(array)
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name[0] != "_" and name not in self.__dict__:
            key = self.__class__, name
            wrong = _KNOWN[key] if key in _KNOWN else _KNOWN.setdefault(key, _mistake(self, name))
            if wrong is not None:
                wrong(value)
        object.__setattr__(self, name, value)


def _mistake(shown: object, name: str) -> Callable[[object], None] | None:
    """What tells of an assignment that is a mistake, given the value; None if it is none."""
    cls = type(shown)
    found = getattr(cls, name, None)
    if isinstance(found, property) and found.fset is not None:
        return None
    # methods of user's classes may be replaced by functions, in one object
    todo = assigned_here(shown, name, () if found is not None else [n for n in (*vars(shown), *dir(cls)) if n[0] != "_"])
    if not todo:
        return None
    what = f"{cls.__name__}.{name}"

    def tell(value: object) -> None:
        if found is None:
            tolerate(f"{what} has no effect", f"{value!r} to assign", todo)
        elif not callable(value):
            kind = type(value).__name__
            is_read = "can only be read" if isinstance(found, property) else "is a method"
            raise OperatorError(f"{what} {is_read}", f"an object of type {kind} to assign", todo)

    return tell

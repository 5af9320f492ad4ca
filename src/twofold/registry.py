"""``mx.registry``: registries of classes by name, such as metrics and initializers, with aliases and creation from configurations.

Each base class has one registry, and names are case-insensitive. A configuration is a name, a dict, or the JSON of a dict or of a
pair of name and keyword arguments, such as ``'["xavier", {"magnitude": 2}]'``.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .device import Device
from .errors import InvalidValue, MXNetError, ParameterError, WrongArgument, WrongType
from .formats.json_text import parse_json
from .origin import warn
from .suggestions import did_you_mean

__all__ = ["enter", "get_alias_func", "get_create_func", "get_register_func", "get_registry"]

Names = dict[str, type]
#: A class, with its own type.
Kind = TypeVar("Kind", bound=type)

_REGISTRY: dict[type, Names] = {}
#: The docstring of a function that registers classes.
REGISTERS = """Register {0} to the {0} factory.

Parameters
----------
klass
    A class that derives from the base class of each {0}.
name
    Its name, in any case; that of the class if None.
"""


def get_registry(base_class: type) -> Names:
    """A copy of the registry of a base class: lower-case name to class.

    Parameters
    ----------
    base_class
        The class that registered classes derive from.
    """
    return dict(_REGISTRY.get(base_class, {}))


def enter(names: dict[str, Kind], key: str, klass: Kind, nickname: str) -> None:
    """Enter a class in a registry, with a warning if it replaces another; called by a ``register`` function."""
    known = names.get(key, klass)
    if known is not klass:
        warn(f"{nickname} {klass} replaces {known} as {key!r}")
    names[key] = klass


class Register(Protocol):
    """Registers a class, under its own name in lower case if none is given. As a decorator it keeps the class's type."""

    def __call__(self, klass: Kind, name: str | None = None) -> Kind:
        """Register the class, and return it."""
        ...


def get_register_func(base_class: type, nickname: str) -> Register:
    """The function that registers subclasses of a base class. It can be used as a class decorator.

    Parameters
    ----------
    base_class
        The class that registered classes must derive from.
    nickname
        The name for such classes in messages, such as ``"metric"``.
    """
    names = _REGISTRY.setdefault(base_class, {})

    def register(klass: Kind, name: str | None = None) -> Kind:
        if not issubclass(klass, base_class):
            raise WrongType(f"{nickname}.register: not a subclass of {base_class.__name__}", klass.__name__, "derive it from that class")
        enter(names, (klass.__name__ if name is None else name).lower(), klass, nickname)
        return klass

    register.__doc__ = REGISTERS.format(nickname)
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[Kind], Kind]]:
    """The class decorator that registers subclasses of a base class under several names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[Kind], Kind]:
        def under_all(klass: Kind) -> Kind:
            for name in aliases:
                register(klass, name)
            return klass

        return under_all

    alias.__doc__ = f"Register a {nickname} under several names.\n\nParameters\n----------\n*aliases\n    The names, in any case."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The function that creates an instance from a configuration; an instance is returned unchanged.

    The configuration is its first argument, or the keyword argument named ``nickname``.
    """
    names = _REGISTRY.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        if not args and nickname not in kwargs:
            raise ParameterError(f"{nickname}.create: nothing to create", None, f"pass the name of a {nickname}")
        # the name may be given by keyword, as in ``create(metric='acc')``
        what, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        if isinstance(what, base_class):
            if args or kwargs:
                raise ParameterError(f"{nickname}.create: an instance takes no further arguments", repr(what), "omit them")
            return what
        if isinstance(what, dict):
            # a dictionary names its class under the nickname: ``{'metric': 'acc', …}``
            return create(**what)
        if not isinstance(what, str):
            raise _not_text(what, base_class, nickname)
        if what.startswith(("[", "{")):
            return _from_json(create, what, nickname)
        if what.lower() not in names:
            todo = did_you_mean(what.lower(), names, f"use one of {', '.join(names)}, or register it")
            raise InvalidValue(f"{nickname}.create: {what} is not registered", None, todo)
        return names[what.lower()](*args, **kwargs)

    create.__doc__ = f"Create a {nickname} from a name, a configuration, or an instance, which is returned."
    return create


def _not_text(what: object, base_class: type, nickname: str) -> WrongType:
    """The error for something that names no class."""
    given, todo = type(what).__name__, "pass its name or a dict"
    if isinstance(what, Device):
        given, todo = repr(what), "pass a context by name: ctx=…"
    elif isinstance(what, type) and issubclass(what, base_class):
        given, todo = f"the class {what.__name__}", f"call it: {what.__name__}()"
    return WrongType(f"{nickname}.create: {nickname} must be of string type", given, todo)


def _from_json(create: Callable[..., Any], text: str, nickname: str) -> Any:
    try:
        match parse_json(text, nickname):
            case [str(name), dict(kwargs)]:
                return create(name, **kwargs)
            case dict(config):
                return create(**config)
    except TypeError as error:  # a parameter that the class lacks
        if isinstance(error, MXNetError):
            raise
        raise WrongArgument(f"{nickname}.create: {error}", text, f"pass the parameters of the {nickname}") from error
    raise ParameterError(f"{nickname}.create: invalid JSON configuration", text, 'write \'["name", {"parameter": value}]\'')

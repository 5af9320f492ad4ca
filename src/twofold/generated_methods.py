"""`attach_method`: sets a generated function as a method of a class."""

from collections.abc import Callable
from typing import Any


def attach_method(cls: type, name: str, method: Callable[..., Any]) -> None:
    """Set a generated function as a method of a class, and give it the method's name."""
    method.__name__, method.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)

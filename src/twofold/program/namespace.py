"""``xp`` over a backend's arrays: its primitives, and the functions derived from them."""

from functools import cache
from typing import Any

from ..backend.protocol import Backend
from ..opdef.vocabulary import Derived


@cache
def namespace_of(backend: Backend) -> Any:
    """The whole namespace over a backend's arrays, as rules use it."""
    primitives = type(backend.xp)
    return type(f"{primitives.__name__}WithDerived", (primitives, Derived), {})()

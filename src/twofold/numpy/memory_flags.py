"""``x.flags``: what NumPy says of the memory layout of an array."""

from typing import Any

import numpy as np

from ..errors import ParameterError


class Flags:
    """NumPy's record of an array's memory layout, by attribute or by name. It can be read and compared, but not changed."""

    __slots__ = ("_seen",)

    def __init__(self, seen: np.ndarray) -> None:
        object.__setattr__(self, "_seen", seen.flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # as of NumPy's, there is no copy or pickle of it
            raise AttributeError(name)
        return getattr(self._seen, name)

    def __reduce_ex__(self, protocol: object) -> Any:
        return self._seen.__reduce_ex__(protocol)

    def __getitem__(self, name: str) -> bool:
        return self._seen[name]

    def __setattr__(self, name: str, value: object) -> None:
        if value != getattr(self._seen, name):
            raise refusal(f"{name}={value}", name.lower() == "writeable" and not value)

    def __setitem__(self, name: str, value: object) -> None:
        if value != self._seen[name]:
            raise refusal(f"{name}={value}", name in ("W", "WRITEABLE") and not value)

    def __eq__(self, other: object) -> bool:
        return self._seen == (other._seen if isinstance(other, Flags) else other)

    __hash__ = None  # type: ignore[assignment]  # like NumPy's

    def __repr__(self) -> str:
        return repr(self._seen)


def refusal(given: str, is_protecting: bool) -> ParameterError:
    """The error of a change of flags: another array has them."""
    todo = "np.broadcast_to(x, x.shape) is a view that is read-only" if is_protecting else "write to a copy"
    return ParameterError("setflags: an array's flags cannot be changed", given, todo)

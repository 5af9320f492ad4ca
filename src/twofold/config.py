"""Every setting once: its environment variable, type, default and meaning. `SETTINGS` holds the values in force."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """One setting; its environment variable is ``TWOFOLD_`` and the name in capitals."""

    name: str
    default: Any
    parse: Callable[[str], Any]
    meaning: str


def _switch(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "off", "no")


TABLE = (
    Setting("engine", "window", str, "naive: run every operation at once, by itself; window: defer and fold operations on large arrays"),
    Setting("defer_elements", 65_536, int, "elements from which an operation joins the window instead of running inline"),
    Setting("window_operations", 256, int, "operations after which a window is flushed"),
    Setting("window_bytes", 1 << 30, int, "bytes of pending results after which a window is flushed"),
    Setting("verify", False, _switch, "check the invariants of every graph that is compiled"),
)


class Settings:
    """Values of the settings, read from the environment once; tests and ``mx.engine`` assign to them."""

    engine: str
    defer_elements: int
    window_operations: int
    window_bytes: int
    verify: bool

    def __init__(self) -> None:
        for setting in TABLE:
            given = os.environ.get("TWOFOLD_" + setting.name.upper())
            setattr(self, setting.name, setting.default if given is None else setting.parse(given))


SETTINGS = Settings()

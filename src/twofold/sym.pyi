"""Written by ``make stubs``: `twofold.symbol` by its short name."""

# ruff: noqa: F403

from typing import Any

from .symbol import *

def __getattr__(name: str) -> Any: ...

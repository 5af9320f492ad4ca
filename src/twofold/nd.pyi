"""Written by ``make stubs``: `twofold.ndarray` by its short name."""

# ruff: noqa: F403

from typing import Any

from .ndarray import *

def __getattr__(name: str) -> Any: ...

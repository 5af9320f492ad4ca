"""Written by ``make stubs``: `twofold.numpy` by its short name."""

# ruff: noqa: F403

from typing import Any

from .numpy import *

def __getattr__(name: str) -> Any: ...

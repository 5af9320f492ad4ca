"""Written by ``make stubs``: `twofold.numpy_extension` by its short name."""

# ruff: noqa: F403

from typing import Any

from .numpy_extension import *

def __getattr__(name: str) -> Any: ...

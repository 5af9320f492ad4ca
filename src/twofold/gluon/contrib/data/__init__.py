"""``gluon.contrib.data``: a sampler that visits samples at intervals, and datasets of text."""

from typing import Any as _Any

from ....extension_points import LOADERS as _LOADERS
from ...data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]


def __getattr__(name: str) -> _Any:
    """The module ``text``: it counts words, which `twofold.contrib.text` does, and that is built on this package."""
    if name != "text":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _LOADERS["gluon.contrib.data", name]()

"""``mx.io``: iterators over batches of training data, from arrays, files or user code."""

from typing import Any as _Any

from . import iterator
from .array_iterator import NDArrayIter
from .file_iterators import MNISTIter, MXDataIter
from .iterator import DataBatch, DataDesc, DataIter, ResizeIter, register_iterator
from .prefetch import PrefetchingIter

__all__ = [
    "DataBatch",
    "DataDesc",
    "DataIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "register_iterator",
]


def __getattr__(name: str) -> _Any:
    """Iterators registered by higher packages, such as those over image records."""
    found = iterator.REGISTERED.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *iterator.REGISTERED])

"""``mx.io``: iterators over batches of training data, from arrays, files or user code."""

from typing import Any as _Any

from ..extension_points import LOADERS as _LOADERS
from . import iterator
from . import loading as loading
from .array_iterator import NDArrayIter
from .file_iterators import MNISTIter, MXDataIter
from .iterator import DataBatch, DataDesc, DataIter, register_iterator
from .text_iterators import CSVIter, LibSVMIter
from .wrappers import PrefetchingIter, ResizeIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "register_iterator",
]


def __getattr__(name: str) -> _Any:
    """Registered iterators that this file does not import, those of higher packages too."""
    if ("io", name) in _LOADERS:
        return _LOADERS["io", name]()
    found = iterator.REGISTERED.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found.make


def __dir__() -> list[str]:
    return sorted({*globals(), *iterator.REGISTERED, *(name for package, name in _LOADERS if package == "io")})

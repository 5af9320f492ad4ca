"""What happens when the package is imported: higher packages are made reachable from lower ones, and environment variables take effect."""

import importlib
import os
import sys
from functools import partial
from typing import Any

from . import submodule_names
from .extension_points import LOADERS

__all__: list[str] = []


PACKAGE = __name__.rpartition(".")[0]


def _numpy() -> Any:
    return importlib.import_module(".numpy", __package__)


def _numpy_extension() -> Any:
    return importlib.import_module(".numpy_extension", __package__)


def _mxnet_numpy(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f".mxnet_numpy.{module}", __package__), name)


def _numpy_symbol(name: str) -> Any:
    return getattr(importlib.import_module(".symbol.numpy_symbol", __package__), name)


def _folding_lines() -> Any:
    return importlib.import_module(".numpy_folding.explain", __package__).text


def _cached_op() -> Any:
    return importlib.import_module(".compat.cached_op", __package__).CachedOp


def _record_iterator(name: str) -> Any:
    module = "detection_records" if name == "ImageDetRecordIter" else "records"
    return getattr(importlib.import_module(f".image.{module}", __package__), name)


def _array_internal(name: str) -> Any:
    return getattr(importlib.import_module(".compat.array_internals", __package__), name)


def _trim() -> Any:
    backend_for = importlib.import_module(".backend.loader", __package__).backend_for
    return lambda device: backend_for(device).trim()


def _module_of(name: str) -> str | None:
    """The module for which a public name stands, such as ``numpy`` for ``np``; the table is there once the package is imported."""
    where = vars(sys.modules[PACKAGE]).get("_PUBLIC", {}).get(name)
    return where if isinstance(where, str) and where != name else None


LOADERS |= {
    ("ndarray", "CachedOp"): _cached_op,
    ("device", "trim"): _trim,
    ("gluon.contrib.data", "text"): lambda: importlib.import_module(".contrib.text.wiki_text", __package__),
    ("ndarray", "np"): _numpy,
    ("ndarray", "npx"): _numpy_extension,
    # the class of `as_np_ndarray`, which the alias ``mxnet`` replaces
    ("np", "ndarrayView"): lambda: _numpy().ndarrayView,
    ("numpy", "ndarrayView"): lambda: _numpy().ndarrayView,
    ("mxnet_numpy", "functions"): lambda: _mxnet_numpy("array_functions", "FUNCTIONS"),
    ("mxnet_numpy", "linalg"): lambda: _mxnet_numpy("linalg", "FACE"),
    ("mxnet_numpy", "random"): lambda: _mxnet_numpy("random", "FACE"),
    ("profiler", "folding_lines"): _folding_lines,
    ("symbol", "np"): lambda: _numpy_symbol("NP"),
    ("symbol", "np_symbol"): lambda: _numpy_symbol("NumpySymbol"),
    ("symbol", "npx"): lambda: _numpy_symbol("NPX"),
}

for _name in (
    *("DLContext", "DLDataType", "DLManagedTensor", "DLTensor", "check_boolean_array_dimension", "get_indexing_dispatch_code"),
    *("get_oshape_of_gather_nd_op", "indexing_key_expand_implicit_axes"),
):
    LOADERS["ndarray", _name] = partial(_array_internal, _name)

for _name in (
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
):
    LOADERS["io", _name] = partial(_record_iterator, _name)

submodule_names.install(PACKAGE, _module_of)

if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1" or "TWOFOLD_TRACE" in os.environ:  # the profiler starts when it is loaded
    importlib.import_module(".profiler", __package__)

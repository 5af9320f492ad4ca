"""What importing the package does: it makes higher packages reachable from lower ones and applies environment variables."""

import importlib
import os
import sys
from functools import partial
from types import TracebackType
from typing import Any

from . import submodule_names, tracebacks
from .extension_points import LOADERS

PACKAGE = __name__.rpartition(".")[0]


def _module_of(name: str) -> str | None:
    """The module that a public name refers to, such as ``numpy`` for ``np``; the table is complete once the package is imported."""
    where = vars(sys.modules[PACKAGE]).get("_PUBLIC", {}).get(name)
    # a pair of module and name is not a submodule, and a module of the same name is found directly
    return where if isinstance(where, str) and where != name else None


#: Names of lower packages to the module that has them, and after a colon their name there if it is another thing than the module.
LAZY = {
    "gluon.contrib.data text": "contrib.text.wiki_text",
    "ndarray CachedOp": "compat.cached_op:CachedOp",
    "ndarray np": "numpy",
    "ndarray npx": "numpy_extension",
    # the class of `as_np_ndarray`, which the alias ``mxnet`` replaces
    "np ndarray": "numpy:ndarray",
    "numpy ndarray": "numpy:ndarray",
    "io ImageDetRecordIter": "image.detection_records:ImageDetRecordIter",
}
LAZY |= {
    f"visualization {name}": f"visualization.html:{name}"
    for name in (
        *("array", "block", "executor", "iterator", "loader", "memory_plan", "memory_plans", "metric", "module", "optimizer"),
        *("parameter", "parameters", "profile", "report", "store", "symbol", "trainer"),
    )
}
LAZY |= {
    f"facts {name}": f"facts:{name}"
    for name in (
        *("arguments", "batch", "cell", "dataset", "executor", "iterator", "loader", "module", "one_line", "optimizer", "sampler"),
        *("settings", "store", "trainer"),
    )
}
LAZY |= {
    f"io {name}": f"image.records:{name}"
    for name in ("ImageRecordIter", "ImageRecordIter_v1", "ImageRecordInt8Iter", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1")
}
LAZY |= {
    f"ndarray {name}": f"compat.array_internals:{name}"
    for name in (
        *("DLContext", "DLDataType", "DLManagedTensor", "DLTensor", "check_boolean_array_dimension", "get_indexing_dispatch_code"),
        *("get_oshape_of_gather_nd_op", "indexing_key_expand_implicit_axes"),
    )
}


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    found = importlib.import_module(f".{module}", PACKAGE)
    return getattr(found, name) if name else found


for _key, _place in LAZY.items():
    _package, _name = _key.split()
    LOADERS[_package, _name] = partial(_load, _place)

submodule_names.install(PACKAGE, _module_of)


def _advise(error: BaseException, trace: TracebackType | None) -> None:
    """Add to an error what to do about it."""
    # here, and not by `__getattr__` of arrays or checks of arguments, which would make each access and each call slower
    from .advice import advise  # few programs fail

    advise(error, trace)


tracebacks.install(_advise)

if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1" or "TWOFOLD_TRACE" in os.environ:  # the profiler starts when it is loaded
    importlib.import_module(".profiler", __package__)

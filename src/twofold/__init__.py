"""Twofold: an array and deep-learning framework in pure Python that runs NumPy scripts and MXNet 1.x programs on CPU or GPU.

The composition root: it lists the public names, which are loaded on first use, and is the only file that knows every package.
"""

from . import working_folder as working_folder

# isort: split
# not before: the working folder may have modules of these names
import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from . import startup as _startup  # noqa: F401  (runs on import)
from .collector import RESTING as _RESTING

__version__ = "0.2.0"

#: Public name to its module, or to (module, attribute).
_PUBLIC: dict[str, str | tuple[str, str]] = {
    "nd": "ndarray",
    "ndarray": "ndarray",
    "autograd": "autograd",
    "context": "context",
    "random": "random",
    "image": "image",
    "img": "image",
    "recordio": "recordio",
    "rnd": "random",
    "rnn": "rnn",
    "base": "compat.base",
    "Context": ("context", "Context"),
    "cpu": ("context", "cpu"),
    "cpu_pinned": ("context", "cpu_pinned"),
    "gluon": "gluon",
    "gpu": ("context", "gpu"),
    "operator": "operator",
    "num_gpus": ("context", "num_gpus"),
    "current_context": ("context", "current_context"),
    "MXNetError": ("errors", "MXNetError"),
    "sym": "symbol",
    "symbol": "symbol",
    "engine": "engine",
    "explain": ("profiler.explanation", "explain"),
    "executor": "executor",
    "Executor": ("executor", "Executor"),
    "contrib": "contrib",
    "elementwise": ("opdef.declare", "elementwise"),
    "func": "func",
    "compile": ("symbol.compilation", "compile"),
    "name": "symbol.naming",
    "attribute": "symbol.naming",
    "AttrScope": ("symbol.naming", "AttrScope"),
    "unload_ipython_extension": ("command.run", "unload_ipython_extension"),
    "viz": "visualization",
    "visualization": "visualization",
    "callback": "callback",
    "init": "initializer",
    "initializer": "initializer",
    "io": "io",
    "kv": "kvstore",
    "kvstore": "kvstore",
    "load_ipython_extension": ("command.run", "load_ipython_extension"),
    "load_torch": ("ndarray.torch_files", "load_torch"),
    "lr_scheduler": "lr_scheduler",
    "metric": "metric",
    "mod": "module",
    "model": "model",
    "module": "module",
    "mon": "monitor",
    "monitor": "monitor",
    "np": "numpy",
    "npx": "numpy_extension",
    "numpy": "numpy",
    "numpy_extension": "numpy_extension",
    "onnx": "contrib.onnx",
    "op": ("opdef.declare", "op"),
    "opt": "optimizer",
    "optimizer": "optimizer",
    "profiler": "profiler",
    "progress": ("progress_bars", "progress"),
    "registry": "registry",
    "error": "compat.error",
    "is_np_array": ("numpy_extension", "is_np_array"),
    "is_np_shape": ("numpy_extension", "is_np_shape"),
    "libinfo": "compat.libinfo",
    "log": "compat.log",
    "np_array": ("numpy_extension", "np_array"),
    "np_shape": ("numpy_extension", "np_shape"),
    "runtime": "compat.runtime",
    "set_np_shape": ("numpy_extension", "set_np_shape"),
    "test_utils": "test_utils",
    "use_np": ("numpy_extension", "use_np"),
    "use_np_array": ("numpy_extension", "use_np_array"),
    "use_np_shape": ("numpy_extension", "use_np_shape"),
    "util": "compat.numpy_switches",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> _Any:
    where = _PUBLIC.get(name)
    if where is None:
        if _sys._getframe(1).f_code.co_name == "_handle_fromlist":  # `from twofold import ops`: Python looks for a module next
            raise AttributeError(name)
        from .suggestions import missing_name  # not needed by programs that run

        raise missing_name(__name__, name, __all__, __name__)
    module, attribute = (where, None) if isinstance(where, str) else where
    with _RESTING:
        value = _importlib.import_module(f".{module}", __name__)
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])

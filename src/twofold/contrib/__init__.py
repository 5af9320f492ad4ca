"""``mx.contrib``: what MXNet kept outside its stable interface. Modules are imported on first use."""

from importlib import import_module
from typing import Any

_MODULES = ("amp", "autograd", "io", "onnx", "quantization", "svrg_optimization", "tensorboard", "text")
#: ``contrib.nd`` is ``nd.contrib``: the same functions by another name.
_FUNCTIONS = {"nd": "ndarray", "ndarray": "ndarray", "sym": "symbol", "symbol": "symbol"}

__all__ = sorted([*_MODULES, *_FUNCTIONS])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _FUNCTIONS:
        return import_module(f"..{_FUNCTIONS[name]}", __name__).contrib
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Submodules by other names than those of their files.

``import twofold.np as np`` imports `twofold.numpy`, and ``import twofold.np.fft`` the module that `twofold.np` has as its attribute.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from .collector import RESTING


def install(package: str, module_of: Callable[[str], str | None]) -> None:
    """Let submodules of a package be imported by other names, and by the names of attributes that are modules.

    Parameters
    ----------
    package
        The package's name.
    module_of
        The module that a name stands for, both relative to the package; None if the name is that of a module itself, or of nothing.
    """
    sys.meta_path.insert(0, _Finder(package, module_of))  # first: the import system would load a submodule of a short name a second time
    sys.meta_path.append(_AttributeFinder(package))  # last: only names that are no files


class _Finder:
    """Finds modules by their short names. Each is the module itself: `sys.modules` holds it under both names."""

    def __init__(self, package: str, module_of: Callable[[str], str | None]) -> None:
        self.package, self.module_of = package, module_of
        self.attributes = _AttributeFinder(package)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != self.package:
            return None
        if self.module_of(name.partition(".")[0]) is not None:
            return _spec(fullname, self)
        parent = fullname.rpartition(".")[0]
        if parent and sys.modules[parent].__name__ != parent:
            # a module of another package, such as `twofold.numpy.lib`, whose files the import system would load a second time
            return self.attributes.find_spec(fullname, path) or _not_found(fullname)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        full = module.__name__
        short, _, rest = full.partition(".")[2].partition(".")
        real = f"{self.package}.{self.module_of(short)}"
        try:
            with RESTING:
                sys.modules[full] = import_module(f"{real}.{rest}" if rest else real)
        except ModuleNotFoundError as error:
            if not rest or error.name != f"{real}.{rest}":
                raise
            raise ModuleNotFoundError(f"No module named {full!r}", name=full) from None


class _AttributeFinder:
    """Finds modules that are public attributes of a subpackage, such as ``lib`` of `twofold.numpy`. Each is the attribute itself."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, name = fullname.rpartition(".")
        if not parent.startswith(f"{self.package}.") or name.startswith("_"):
            return None
        is_module = isinstance(getattr(sys.modules[parent], name, None), ModuleType)
        return _spec(fullname, self) if is_module else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        parent, _, name = module.__name__.rpartition(".")
        sys.modules[module.__name__] = getattr(sys.modules[parent], name)


def _spec(fullname: str, loader: object) -> ModuleSpec:
    return ModuleSpec(fullname, loader)  # type: ignore[arg-type]  # `importlib.abc` loads 30 modules


def _not_found(fullname: str) -> None:
    raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

"""Submodules by their short names: ``import twofold.np as np`` imports `twofold.numpy`."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType


def install(package: str, module_of: Callable[[str], str | None]) -> None:
    """Let submodules of a package be imported by other names.

    Parameters
    ----------
    package
        The package's name.
    module_of
        The module that a name stands for, both relative to the package; None if the name is that of a module itself, or of nothing.
    """
    sys.meta_path.insert(0, _Finder(package, module_of))  # first: the import system would load a submodule of a short name a second time


class _Finder:
    """Finds modules by their short names. Each is the module itself: `sys.modules` holds it under both names."""

    def __init__(self, package: str, module_of: Callable[[str], str | None]) -> None:
        self.package, self.module_of = package, module_of

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != self.package or self.module_of(name.partition(".")[0]) is None:
            return None
        return ModuleSpec(fullname, self)  # type: ignore[arg-type]  # `importlib.abc` loads 30 modules

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        full = module.__name__
        short, _, rest = full.partition(".")[2].partition(".")
        real = f"{self.package}.{self.module_of(short)}"
        try:
            sys.modules[full] = import_module(f"{real}.{rest}" if rest else real)
        except ModuleNotFoundError as error:
            if not rest or error.name != f"{real}.{rest}":
                raise
            raise ModuleNotFoundError(f"No module named {full!r}", name=full) from None

"""Imports every module of this package, which registers its iterators: a new module needs no entry anywhere."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

for _module in iter_modules([str(Path(__file__).parent)]):
    import_module(f"{__package__}.{_module.name}")

"""Attaches the rules of every file of this package. Only a program that exports a model pays for them."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

for _module in iter_modules([str(Path(__file__).parent)]):
    if _module.name != Path(__file__).stem:
        import_module(f"{__package__}.{_module.name}")

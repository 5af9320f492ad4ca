"""Installs the alias ``mxnet`` when a program first imports it: the alias's tables take a fifth of the time of starting a NumPy script."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Finder:
    """Finds no module itself: it makes way for the alias."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "mxnet":
            return None
        sys.meta_path.remove(self)
        import_module(f"{__package__}.mxnet_alias").install()
        import_module(f"{__package__}.one_element").install()
        # Python goes on with the finders after this one, but the alias stands before it
        return next((spec for finder in sys.meta_path if (spec := finder.find_spec(name, path, target))), None)


def install() -> None:
    """Let ``import mxnet`` install the alias, and be found by it."""
    sys.meta_path.insert(0, _Finder())

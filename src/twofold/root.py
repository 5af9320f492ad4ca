"""The class of the module `twofold`: one public name, ``mx.op``, is that of a package inside, and must not be hidden by it."""

import importlib
import os
import sys
from types import ModuleType
from typing import Any


class Root(ModuleType):
    """The package's module; importing ``twofold.op`` does not bind the package over the decorator."""

    @property
    def op(self) -> Any:
        """The decorator that declares an operator; its machinery stands in the package of that name."""
        return importlib.import_module(".op.declare", __package__).op

    @op.setter
    def op(self, package: ModuleType) -> None:
        """What the import system does when the package is loaded: inside, modules are imported by their own names."""


sys.modules[__name__.rpartition(".")[0]].__class__ = Root

if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":  # the profiler starts when it is loaded
    importlib.import_module(".profiler", __package__)

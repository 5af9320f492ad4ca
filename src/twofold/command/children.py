"""Prepares the processes that a program spawns with `multiprocessing`. They run the program's first module again, with the same imports."""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader  # imported late: it loads 30 modules

#: The module with which `multiprocessing` prepares a spawned process, before the process runs the program's first module again.
SPAWN = "multiprocessing.spawn"


class _Call:
    """A call that is made where it is unpickled."""

    def __init__(self, function: Callable[..., None], arguments: tuple[object, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Callable[..., None], tuple[object, ...]]:
        # to unpickle it is to call the function: pickle takes the call's result for the object
        return self.function, self.arguments


def prepare_with(function: Callable[..., None], *arguments: object) -> None:
    """Call a function in each process that this one spawns, before the program's first module runs there.

    Parameters
    ----------
    function, arguments
        A function of a module, and its arguments. All of these are pickled.
    """
    call = _Call(function, arguments)
    found = sys.modules.get(SPAWN)
    if found is not None:
        _prepare(found, call)
    else:
        # `multiprocessing` takes long to import, and most programs never do
        sys.meta_path.insert(0, _Finder(call))


def _prepare(spawn: Any, call: _Call) -> None:
    data_for = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, object]:
        # a spawned process unpickles this before it looks at it
        found = {"twofold": call, **data_for(name)}
        if name == "ignore":  # the fork server's own: it is not prepared, so it must not run the program's first module for its children
            return {k: x for k, x in found.items() if not k.startswith("init_main")}
        return found

    spawn.get_preparation_data = get_preparation_data


class _Finder:
    """Changes `multiprocessing.spawn` when it is imported."""

    def __init__(self, call: _Call) -> None:
        self.call = call

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Python's spec, with a loader that also changes the module."""
        if fullname != SPAWN:
            return None
        # first: the search below must not find this finder again
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.call)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, own: "Loader", call: _Call) -> None:
        self.own, self.call = own, call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        # programs that look at the module find its usual loader
        spec.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        _prepare(module, self.call)

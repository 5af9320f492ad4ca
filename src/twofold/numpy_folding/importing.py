"""Which modules see the face when they import numpy: `install` replaces ``builtins.__import__`` by a function that looks at the importer.

Nothing else is changed: ``sys.modules["numpy"]`` is NumPy, and so libraries, C code, pickles and ``importlib.import_module("numpy")`` get
NumPy.
"""

import builtins
import os
import site
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType, ModuleType
from typing import Any, NamedTuple

#: The names under which a program's first module runs: in its own process, and in a spawned child.
FIRST: dict[str | None, bool] = {"__main__": True, "__mp_main__": True}


class Importers(NamedTuple):
    """The modules that see another numpy.

    Attributes
    ----------
    folder
        The folder of the program: modules and packages that Python finds there see the face. None for no folder.
    packages
        Names of other modules, and of packages with all their modules.
    """

    folder: str | None = None
    packages: tuple[str, ...] = ()

    @classmethod
    def beside(cls, folder: str, packages: Sequence[str] = ()) -> "Importers":
        """The modules of a folder, unless libraries are installed there, and those of some packages."""
        folder = os.path.realpath(folder)
        return cls(None if folder in libraries() else folder, tuple(packages))

    def have(self, name: str, variables: Mapping[str, object]) -> bool:
        """Whether a module, given by its name and its variables, is one of the importers."""
        if any(name == package or name.startswith(package + ".") for package in self.packages):
            return True
        # A submodule belongs to the program if its top package does, whatever folder the submodule is in.
        head = sys.modules.get(name.partition(".")[0])
        return self.folder is not None and self.folder in folders_of(variables if head is None else vars(head))


def libraries() -> set[str]:
    """The folders of the standard library and of installed packages."""
    found = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    return {os.path.realpath(folder) for folder in found}


def folders_of(variables: Mapping[str, Any]) -> set[str]:
    """The folders in which a module, or the folders of a package, lie."""
    paths = variables.get("__path__")
    file = variables.get("__file__")
    places = list(paths) if paths is not None else [] if file is None else [file]
    return {os.path.dirname(os.path.realpath(place)) for place in places}


class _Installed(NamedTuple):
    function: Callable[..., Any]
    before: Callable[..., object]
    importers: Importers
    known: dict[str | None, bool]


_installed: list[_Installed] = []


def is_own(variables: Mapping[str, Any]) -> bool:
    """Whether a module, given by its variables, belongs to the program, so that its arrays fold. Without `install` every module does.

    Parameters
    ----------
    variables
        The module's, or those of code run by ``exec``.
    """
    if not _installed:
        return True
    _, _, importers, known = _installed[-1]
    name = variables.get("__name__")
    found = known.get(name)
    if found is None:
        found = known[name] = importers.have(str(name), variables)
    return found


def uninstall() -> None:
    """Undo `install`: later imports get NumPy. Nothing happens if it is not installed."""
    while _installed:
        installed = _installed.pop()
        if builtins.__import__ is installed.function:
            builtins.__import__ = installed.before


def install(importers: Importers, load: Callable[[], ModuleType]) -> None:
    """Let some modules import another module as ``numpy``, from now on.

    The built-in function is replaced, not the built-ins of single modules: a module's copy would not see names that ``gettext.install`` or
    a debugger puts into ``builtins`` later.

    Parameters
    ----------
    importers
        The modules; the first module of the program, ``__main__``, is always one of them.
    load
        Gives the module, on the first import.
    """
    uninstall()
    load, before = cache(load), builtins.__import__  # NumPy's C code imports when it makes pickles: such imports must not take longer

    def sees_another(globals: Mapping[str, object] | None) -> bool:
        frame = sys._getframe(2)  # 0 is this function, 1 is `__import__` below
        while globals is None or "__name__" not in globals:  # called as a function, or in code run by exec
            globals = frame.f_globals
            if frame.f_back is None:
                break
            frame = frame.f_back
        return is_own(globals)

    def __import__(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> object:
        if name[:5] != "numpy" or level or name.partition(".")[0] != "numpy" or not sees_another(globals):
            return before(name, globals, locals, fromlist, level)
        before(name, globals, locals, fromlist, 0)  # loads the submodules, or raises an error if there is none
        return below(load(), name) if fromlist else load()

    __import__.__code__ = _hidden(__import__.__code__)
    _installed.append(_Installed(__import__, before, importers, dict(FIRST)))
    builtins.__import__ = __import__


def below(module: Any, name: str) -> Any:
    """The submodule that stands for ``name`` in the module that stands for ``numpy``; NumPy's own where it has none."""
    for part in name.split(".")[1:]:
        module = getattr(module, part, None)
        if module is None:
            return sys.modules[name]
    return module


#: What compiles the program's first module, while `own_modules` rewrites the program; else empty.
compilers: list[Callable[[bytes, str], CodeType]] = []


def first_code(source: bytes, file: str) -> CodeType:
    """The code of the program's first module."""
    return compilers[-1](source, file) if compilers else compile(source, file, "exec", dont_inherit=True)


#: The file of Python's own import system. It leaves such frames out of tracebacks, and `warnings.warn` does not count them, so that a
#: deprecated module warns at the line that imports it.
HIDDEN = "<frozen importlib._bootstrap>"


def _hidden(code: CodeType) -> CodeType:
    return code.replace(co_filename=HIDDEN)


def is_import(code: CodeType) -> bool:
    """Whether code is that of the function that `install` puts in place."""
    return code.co_filename == HIDDEN and code.co_name == "__import__" and code.co_qualname.startswith("install.")

"""``twofold run script.py …``: run a script that imports mxnet, or NumPy, on Twofold."""

import argparse
import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..compat import mxnet_alias, old_python
from ..errors import MissingFileError
from ..numpy_folding import allocation

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments."""
    parser.add_argument("--numpy", action="store_true", help="fold the large arrays of the script's own numpy (may follow the script)")
    parser.add_argument("script", help="the script: `import mxnet` in it, and in modules it imports, imports Twofold")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")


def execute(given: argparse.Namespace) -> int:
    """Run the script as Python would: as ``__main__``, with its folder first in the module search path.

    Parameters
    ----------
    given
        ``script``, ``args`` and ``numpy``.

    Raises
    ------
    MissingFileError
        If the script does not exist.
    """
    script = Path(given.script)
    if not script.is_file():
        raise MissingFileError("run: there is no such script", str(script), "pass the path of a Python file")
    # REMAINDER takes all words after the script, ours included
    replaces_numpy = given.numpy or given.args[:1] == ["--numpy"]
    arguments = given.args if given.numpy or not replaces_numpy else given.args[1:]
    mxnet_alias.install()
    old_python.install()
    if replaces_numpy:
        allocation.keep_freed_memory()
    run_script(script, arguments, replaces_numpy)
    return 0


def run_script(script: Path, arguments: Sequence[str], replaces_numpy: bool) -> None:
    """Run a script in a fresh ``__main__`` module.

    Parameters
    ----------
    script, arguments
        The file, and its ``sys.argv``.
    replaces_numpy
        Whether its own imports of numpy import the face of `twofold.numpy_folding`. Modules that it imports are not affected.
    """
    main = ModuleType("__main__")
    main.__dict__["__file__"] = str(script)
    main.__dict__["__builtins__"] = _builtins_with(_import_of_numpy) if replaces_numpy else builtins
    sys.modules["__main__"] = main  # where pickle looks up the script's classes
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    exec(compile(script.read_bytes(), str(script), "exec"), main.__dict__)


def _builtins_with(importer: Callable[..., Any]) -> dict[str, Any]:
    """The built-ins with another ``__import__``. Only frames of the script's own code look it up there."""
    return {**vars(builtins), "__import__": importer}


def _import_of_numpy(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """``__import__`` with the face in place of ``numpy`` and its submodules."""
    head, _, below = name.partition(".")
    if head != "numpy" or level:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    # `import numpy.linalg` binds the package, `from numpy.linalg import x` the submodule
    builtins.__import__(name)  # a submodule that NumPy loads on first use
    module = import_module(f"{__name__.partition('.')[0]}.numpy_folding.face").numpy
    if fromlist:
        for part in filter(None, below.split(".")):
            module = getattr(module, part)
    return module

"""``twofold run script.py …``, and ``%load_ext twofold`` in IPython and Jupyter: run code that imports mxnet, or NumPy, on Twofold."""

import argparse
import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

from .. import tracebacks
from ..compat import mxnet_on_demand, old_python
from ..device import CPU, Device, interned
from ..errors import LaunchError
from ..numpy_folding import allocation, explain, importing
from .arguments import valued_options
from .children import prepare_with
from .failing_together import failing_together
from .main_module import Program, is_importable, of_code, of_module, of_script, of_standard_input, run, search_first, split_at_program


class Imports(NamedTuple):
    """What a program imports, in its own process and in the processes that it spawns.

    Attributes
    ----------
    numpy
        ``"folding"``: NumPy with large arrays folded; ``"twofold"``: `twofold.np`; empty: NumPy.
    importers
        Which modules import it.
    device
        The default device of the thread that runs the program; None for the CPU.
    """

    numpy: str
    importers: importing.Importers
    device: Device | None

    def install(self) -> None:
        """Apply this to the current process."""
        mxnet_on_demand.install()
        old_python.install(names_only=bool(self.numpy))
        if self.numpy:
            importing.install(self.importers, _LOAD[self.numpy])
        if self.numpy == "folding":
            from ..numpy_folding import own_modules  # here, since it loads folding arrays

            allocation.keep_freed_memory()
            own_modules.install(self.importers)
        # spawned processes install the same, before they import the program's module
        prepare_with(_in_child, *self)

    def context(self) -> AbstractContextManager[object]:
        """The context in which the device is the default."""
        return nullcontext() if self.device is None else self.device


def load_face() -> ModuleType:
    """NumPy with large arrays folded."""
    from ..numpy_folding.face import numpy

    return numpy


def _load_twofolds() -> ModuleType:
    return import_module(f"{ROOT}.numpy")


_LOAD = {"folding": load_face, "twofold": _load_twofolds}


def _in_child(*imports: object) -> None:
    own = Imports(*imports)  # type: ignore[arg-type]
    own.install()
    own.context().__enter__()


ROOT = __name__.partition(".")[0]


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The launcher's words, up to the script or the word after ``-m`` or ``-c``, and the program's own arguments.

    Parameters
    ----------
    words
        The words after ``run`` on the command line.
    """
    return split_at_program(words, valued_options(add_arguments))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments, up to those of the script, module or code."""
    parser.usage = "twofold run [options] [SCRIPT | -m MODULE | -c CODE | -] [argument ...]"
    add = parser.add_argument
    add("--numpy", action="store_true", help="fold the large arrays of the program's own numpy")
    add(
        "--packages",
        action="append",
        default=[],
        metavar="NAME[,NAME]",
        help="with --numpy: packages that fold too, beside the script's own; may be repeated",
    )
    add(
        "--arrays",
        choices=["folding", "twofold"],
        default="folding",
        help="with --numpy: NumPy's arrays, folded (default), or twofold.np's",
    )
    add("--no-fold", action="store_true", help="with --numpy: plain NumPy, to compare")
    add("--explain", action="store_true", help="with --numpy: print at exit which lines fold, which do not, and why")
    add("--device", type=_device, metavar="cpu|gpu[:N]", help="where the program makes its arrays")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    what.add_argument("-c", dest="code", metavar="CODE", help="run code, as python -c does")
    what.add_argument("script", nargs="?", help="a Python file; - or nothing for standard input; `import mxnet` in it imports Twofold")


def _device(text: str) -> Device:
    kind, _, number = text.partition(":")
    if kind not in ("cpu", "gpu") or not (number or "0").isdecimal():
        raise argparse.ArgumentTypeError(f"given {text!r}: pass cpu, gpu or gpu:N")
    return interned(kind, int(number or 0))


def execute(given: argparse.Namespace) -> int:
    """Run the program as Python would: as ``__main__``, with its folder first in the module search path.

    Parameters
    ----------
    given
        The parsed arguments.

    Raises
    ------
    LaunchError
        If there is no such script, module, package or device.
    """
    if not given.numpy and (given.packages or given.no_fold or given.explain or given.arrays != "folding"):
        given.usage_error("--packages, --arrays, --no-fold and --explain need --numpy")
    if [given.no_fold, given.explain, given.arrays != "folding"].count(True) > 1:
        given.usage_error("--no-fold, --explain and --arrays twofold exclude each other")
    program = _program(given)
    search_first(program.folder)
    importers = importing.Importers.beside(program.folder, [*_packages(given.packages), *([program.package] if program.package else [])])
    for device in [given.device] if given.device is not None else [CPU] if "TWOFOLD_BACKEND_CPU" in os.environ else []:
        # before the program runs: a missing device is an error of the command line, not of the program
        _look_up(device)
    imports = Imports(given.arrays if given.numpy and not given.no_fold else "", importers, given.device)
    imports.install()
    if given.explain:
        # at exit, because the program may end by `sys.exit`
        atexit.register(_print_explanation, perf_counter())
    with imports.context(), failing_together():
        run(program, given.arguments)
    return 0


def _program(given: argparse.Namespace) -> Program:
    if given.module is not None:
        return of_module(given.module)
    if given.code is not None:
        return of_code(given.code)
    if given.script is None:
        if sys.stdin is None or sys.stdin.isatty():
            given.usage_error("pass a script, -m MODULE, -c CODE, or - to read the program from standard input")
        return of_standard_input("")
    if given.script == "-":
        return of_standard_input("-")
    try:
        return of_script(given.script)
    except LaunchError as error:
        if given.packages and given.script.isidentifier():  # `--packages` takes one word
            names = ",".join([*given.packages, given.script])
            raise LaunchError(error.what, error.given, f"separate names of packages by commas: --packages {names}") from None
        raise


def _packages(words: Sequence[str]) -> list[str]:
    """The names in the words that follow ``--packages``."""
    names = [name.strip() for word in words for name in word.split(",")]
    for name in names:
        if name.partition(".")[0] in ("numpy", ROOT):
            raise LaunchError("run: --packages: it cannot fold itself", name, "name packages that import numpy")
        if not is_importable(name):
            todo = "pass names as they are imported, separated by commas; PYTHONPATH adds folders in which they are looked up"
            raise LaunchError("run: --packages: there is no such package or module", repr(name), todo)
    return names


def _look_up(device: Device) -> None:
    """Load the adapter of a device."""
    from ..backend.loader import backend_for  # here, as it takes as long to load as the rest

    try:
        backend_for(device)
    except RuntimeError as error:  # an array library's own, or one of ours
        raise LaunchError(f"run: {error}") from error


def _print_explanation(begin: float) -> None:
    """Print which lines fold, and the program's time in seconds since ``begin``, to be compared with NumPy's."""
    print(explain.text() or "no large arrays were computed with", file=sys.stderr)
    print(f"{perf_counter() - begin:.2f} s; compare with plain NumPy: --no-fold in place of --explain", file=sys.stderr)


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext twofold``: ``import numpy`` in later cells, and in modules of the current folder that they import, folds.

    Names that are already bound do not change, so import numpy again. ``import mxnet`` imports Twofold.

    Parameters
    ----------
    shell
        IPython's shell.
    """
    from ..numpy_folding import own_modules

    mxnet_on_demand.install()
    importers = importing.Importers.beside(os.getcwd())
    importing.install(importers, load_face)
    own_modules.install(importers)
    own_modules.leave_cells_alone(shell)
    shell.ast_transformers.append(own_modules.CellTransformer())
    tracebacks.explain_cells(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by ``%unload_ext twofold``: later imports of numpy get NumPy. Arrays that exist keep working.

    Parameters
    ----------
    shell
        IPython's shell.
    """
    from ..numpy_folding import own_modules

    importing.uninstall()
    own_modules.uninstall()
    own_modules.leave_cells_alone(shell)

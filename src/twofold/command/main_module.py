"""Runs a program as Python does: a script, a module, code or standard input, as ``__main__``, with its own arguments and search path."""

import builtins
import gc
import os
import stat
import sys
import zipimport
from collections.abc import Callable, Collection, Sequence
from importlib.machinery import BuiltinImporter, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import NamedTuple

from ..errors import LaunchError
from ..numpy_folding.importing import first_code, is_import
from ..numpy_folding.sites import PACKAGE as FOLDING
from ..origin import is_inside

#: The type of `sys.excepthook`.
ExceptionHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


class Loaded(NamedTuple):
    """A program that can run.

    Attributes
    ----------
    name
        Its ``sys.argv[0]``.
    code
        The code that runs.
    variables
        The first variables of its ``__main__``.
    """

    name: str
    code: CodeType
    variables: dict[str, object]


class Program(NamedTuple):
    """A program that can be found and loaded.

    Attributes
    ----------
    folder
        Its ``sys.path[0]``, where its modules are.
    package
        The top-level package or module that ``-m`` names; empty for other programs.
    load
        Finds and compiles it, which may import packages.
    """

    folder: str
    package: str
    load: Callable[[], Loaded]


def split_at_program(words: Sequence[str], valued: Collection[str]) -> tuple[list[str], list[str]]:
    """Split a command line after the program: after a script, or after the word that follows ``-m`` or ``-c``.

    Parameters
    ----------
    words
        The words.
    valued
        Options that take the next word.
    """
    at = 0
    while at < len(words):
        word = words[at]
        # the next word is the program, even if it looks like an option
        if word in ("-m", "-c"):
            at += 2
            break
        # an option's value may look like a script
        at += 2 if word in valued else 1
        if word == "-" or not word.startswith("-") or word.startswith(("-m", "-c")):
            break
    return list(words[:at]), list(words[at:])


def of_script(path: str) -> Program:
    """A file of Python source, or a folder or archive that has a ``__main__`` module.

    Raises
    ------
    LaunchError
        If there is no such file, or no such module in it.
    """
    file = os.path.join(os.getcwd(), path.removeprefix("./"))  # as Python makes it absolute
    if os.path.isdir(file) or _is_archive(file):
        spec = PathFinder.find_spec("__main__", [file])
        if spec is None:
            raise LaunchError("run: there is no __main__.py in the folder or archive", path, "pass the path of a Python file")
        return Program(file, "", lambda: _of_spec(spec, path, path))
    if not os.path.isfile(file) and not (os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode)):
        raise LaunchError("run: there is no such script", path, "pass the path of a Python file")
    loader = SourceFileLoader("__main__", file)
    # Python puts this into the module of a script; scripts and `inspect` use it
    variables = {"__file__": file, "__cached__": None, "__loader__": loader, "__spec__": None}
    return Program(os.path.dirname(os.path.realpath(file)), "", lambda: Loaded(path, _compiled(_content(loader, file), file), variables))


def _content(loader: SourceFileLoader, file: str) -> bytes:
    try:
        return loader.get_data(file)
    except OSError as error:
        raise LaunchError("run: the script cannot be read", f"{file}: {error.strerror}", "make it readable") from error


def _is_archive(file: str) -> bool:
    """Whether a file is a ZIP file, which Python runs. Python's importer decides: `zipfile` takes long to load."""
    if not os.path.isfile(file):
        return False
    try:
        zipimport.zipimporter(file)
    except zipimport.ZipImportError:
        return False
    return True


def of_module(name: str) -> Program:
    """A module, or the ``__main__`` module of a package, as ``python -m`` runs it. It is looked up in the current folder first."""
    return Program(os.getcwd(), name.partition(".")[0], lambda: _module(name))


def of_code(text: str) -> Program:
    """Code given on the command line."""
    return Program("", "", lambda: Loaded("-c", _compiled(text.encode(), "<string>"), WITHOUT_FILE))


def of_standard_input(name: str) -> Program:
    """Code read from standard input, with its ``sys.argv[0]``: a dash, or an empty text if the command line has none."""
    return Program("", "", lambda: Loaded(name, _compiled(sys.stdin.buffer.read(), "<stdin>"), {**WITHOUT_FILE, "__file__": "<stdin>"}))


WITHOUT_FILE = {"__loader__": BuiltinImporter, "__spec__": None}


def _module(name: str) -> Loaded:
    spec = _found(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _found(f"{name}.__main__")
    return _of_spec(spec, name, None)


def _found(name: str) -> ModuleSpec | None:
    if not name or name.startswith("."):  # errors of `find_spec`
        return None
    try:
        return find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a package that contains it has failed to import something else
        return None


def is_importable(name: str) -> bool:
    """Whether there is a module of this name. Nothing is imported, not even the packages that contain it."""
    known, places = "", None
    for k, part in enumerate(name.split(".")):
        if not part.isidentifier() or (k and places is None):
            return False
        known = f"{known}.{part}" if k else part
        spec = next((found for finder in sys.meta_path if (found := finder.find_spec(known, places)) is not None), None)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


def _of_spec(spec: ModuleSpec | None, given: str, name: str | None) -> Loaded:
    code = None if spec is None else spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    if spec is None or code is None:
        raise LaunchError("run: there is no Python module to run", given, "pass the name of a module, or of a package with __main__")
    variables = {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__spec__": spec,
        "__package__": spec.parent,
    }
    return Loaded(str(spec.origin) if name is None else name, code, variables)


def _compiled(source: bytes, file: str) -> CodeType:
    return first_code(source, file)


def search_first(folder: str) -> None:
    """Make a folder the first of ``sys.path``, in place of the launcher's."""
    if not sys.flags.safe_path:
        sys.path[:1] = [folder]


def run(program: Program, arguments: Sequence[str]) -> None:
    """Run a program in a fresh ``__main__`` module. Its exceptions are not caught; their tracebacks are shown as Python shows them.

    Parameters
    ----------
    program, arguments
        The program, and its ``sys.argv[1:]``.
    """
    main = ModuleType("__main__")
    sys.modules["__main__"] = main  # where pickle looks up the program's classes
    # Python's value until it has found the module; packages that are imported on the way may read it
    sys.argv[:] = ["-m", *arguments]
    code = None
    try:
        name, code, variables = program.load()
        sys.argv[0] = name
        vars(main).update(variables, __builtins__=builtins)
        # what has been imported so far lives as long as the process: garbage collections, of which there are some at its end, leave it out
        gc.freeze()
        exec(code, vars(main))
    except SystemExit:
        raise
    except BaseException:
        sys.excepthook = _without_launcher(sys.excepthook)
        raise


def _without_launcher(hook: ExceptionHook) -> ExceptionHook:
    """A hook for uncaught errors that passes on only the program's frames."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> object:
        # first the launcher's frames above `run`, and `run` itself with the import machinery below it
        while trace is not None and trace.tb_frame.f_code is not run.__code__:
            trace = trace.tb_next
        while trace is not None and _finds_the_program(trace.tb_frame):
            trace = trace.tb_next
        _shorten(error.with_traceback(trace), set())
        return hook(kind, error, trace)

    return show


#: Errors that NumPy raises. Others in the code of folding arrays would be its own.
NUMPYS = (ValueError, TypeError, IndexError, ArithmeticError, MemoryError)


def _shorten(error: BaseException | None, seen: set[int]) -> None:
    """Remove the frames between the program and NumPy from the traceback of an error, and from those of its causes."""
    if error is None or id(error) in seen:
        return
    # errors may refer to one another in a circle
    seen.add(id(error))
    at = error.__traceback__
    while at is not None:
        # several such frames may follow one another, so look at the next one from the same place
        while at.tb_next is not None and _is_between(at.tb_next.tb_frame, error):
            at.tb_next = at.tb_next.tb_next
        at = at.tb_next
    _shorten(error.__cause__, seen)
    _shorten(error.__context__, seen)


def _is_between(frame: FrameType, error: BaseException) -> bool:
    if is_import(frame.f_code):
        return True
    return isinstance(error, NUMPYS) and frame.f_globals.get("__package__") == FOLDING


def _finds_the_program(frame: FrameType) -> bool:
    return is_inside(frame) or frame.f_code.co_filename.startswith("<frozen ")

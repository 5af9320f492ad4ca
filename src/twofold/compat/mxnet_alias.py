"""Installs ``mxnet`` as an alias of Twofold: importing it or a submodule returns a proxy that finds names through ``module_table.toml``."""

import sys
import tomllib
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from opcode import opmap
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, NamedTuple

from ..errors import MXNetError
from ..extension_points import LOADERS
from ..suggestions import PLACES, WHAT_RUNS, absent_names, canonical, did_you_mean, module_table, reason_for_absence

#: The value of ``mxnet.__version__``, which scripts compare.
MXNET_VERSION = "1.9.1"
ROOT = __name__.partition(".")[0]

# The tables' comments say what each is.
_TABLES = module_table()
MODULES: list[str] = _TABLES["modules"]
SAME: dict[str, str] = _TABLES["same"]
EVERYWHERE: list[str] = _TABLES["everywhere"]
IMPORTED: dict[str, list[str]] = _TABLES["imported"]
NAMED: dict[str, dict[str, str]] = _TABLES["named"]
SOURCES: dict[str, list[str]] = _TABLES["sources"]
ABSENT, ABSENT_NAMES = absent_names()
INTERNAL: list[str] = _TABLES["internal"]


#: The modules that give the classes of a module of MXNet their private state.
STATES = {
    "mxnet.gluon": "gluon_hooks",
    "mxnet.gluon.data": "data_hooks",
    "mxnet.io": "data_hooks",
    "mxnet.kvstore": "training_state",
    "mxnet.metric": "metric_state",
    "mxnet.model": "former_state",
    "mxnet.module": "training_state",
    "mxnet.ndarray": "handles",
    "mxnet.numpy": "array_state",
    "mxnet.optimizer": "training_state",
    "mxnet.recordio": "record_state",
    "mxnet.rnn": "former_state",
    "mxnet.symbol": "symbol_state",
}


class MissingName(MXNetError, AttributeError):
    """A name of an MXNet module that Twofold does not have."""


class MissingModule(MXNetError, ModuleNotFoundError):
    """An MXNet module that Twofold does not have, or that MXNet does not have either."""


def install() -> None:
    """Make ``import mxnet`` import Twofold in this process, even if MXNet is installed; its ``np`` is MXNet's dialect."""
    LOADERS["np", "ndarray"] = lambda: import_module(f"{ROOT}.mxnet_numpy.array").ndarray
    for name, module in (("np", "mxnet_numpy"), ("npx", "mxnet_numpy.extension")):
        LOADERS["ndarray", name] = partial(import_module, f"{ROOT}.{module}")
        if f"{ROOT}.ndarray" in sys.modules:  # it may have found the name already
            vars(sys.modules[f"{ROOT}.ndarray"]).pop(name, None)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # before all other finders, which may find an installed MXNet
        sys.meta_path.insert(0, _Finder())


def sources_of(name: str) -> list[Any]:
    """The modules and namespaces of Twofold that provide the names of an MXNet module, in search order.

    Parameters
    ----------
    name
        The module, without ``mxnet.``; empty for the root.
    """
    name = canonical(name)
    found = (_namespace(source) for source in SOURCES.get(name, [name]))
    return [source for source in found if source is not None]


def _namespace(path: str) -> ModuleType | None:
    """A module of Twofold, or a namespace that a module creates on request, such as ``ndarray.linalg``; None for other names."""
    full = f"{ROOT}.{path}" if path else ROOT
    if full in sys.modules:
        return sys.modules[full]
    head, _, tail = path.rpartition(".")
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        # the module itself or its package is missing; any other failure happens inside a module that exists, and must be seen
        if error.name is None or not (full == error.name or full.startswith(error.name + ".")):
            raise
    outer = _namespace(head) if head else None
    made = None if outer is None else getattr(outer, tail, None)
    return made if isinstance(made, ModuleType) else None


class _Proxy(ModuleType):
    """Stands for an MXNet module. Names are looked up on first use."""

    def __init__(self, name: str, sources: Sequence[Any]) -> None:
        super().__init__(name, f"{name}, as a name of Twofold.")
        self._sources = list(sources)
        self._is_complete = False
        self.__path__ = []  # makes it a package, so that its submodules are looked up by the finder

    @property
    def __all__(self) -> list[str]:
        given = _starred(self.__name__.partition(".")[2])
        if given.only is not None:
            return sorted(given.only)
        # a module of private names exports nothing to a star import, not even its own imports
        return sorted({name for name in self._shown() if not name.startswith("_")} - given.without | given.also)

    @property
    def __dict__(self) -> dict[str, object]:
        # programs ask it which operators there are: `"box_decode" in F.contrib.__dict__`
        names = _NAMES.__get__(self)
        if not self._is_complete:
            self._is_complete = True
            for name in self.__dir__():
                if not name.startswith("_"):
                    getattr(self, name, None)
        return names

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._shown()})

    def _shown(self) -> set[str]:
        """The names of the sources, without Twofold's inner modules and what Python gives each module."""
        own = self.__name__.partition(".")[2]
        return {
            name
            for source in self._sources
            for name in _shown(source)
            if not name.startswith("__") and (not _is_module(source, name) or _exists(f"{own}.{name}".lstrip(".")))
        }

    def __getattr__(self, name: str) -> Any:
        # Python asks modules for special names, such as ``__wrapped__``: no source may answer in their place
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        for source in self._sources:
            value = getattr(source, name, _NOTHING)
            if value is not _NOTHING:
                break
        else:
            return self._submodule_or_shared(name)
        # a module found in a module must be a proxy too, so that it has MXNet's names
        if value is sys.modules[ROOT]:  # `mx` of test_utils
            return import_module("mxnet")
        if isinstance(value, ModuleType) and (value.__name__.startswith(ROOT + ".") or self._has_submodule(name)):
            return self._submodule_or_shared(name)
        # from now on an attribute of the module, found without this method; but not what the source computes anew for each look-up
        if name not in vars(source).get("COMPUTED", ()):  # a module's `__getattr__` would look for names like it
            setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Python enters a submodule that was imported into its package, where MXNet has a function of that name: `vision.alexnet`
        if isinstance(value, _Proxy) and any(
            not isinstance(getattr(s, name, value), ModuleType) for s in _NAMES.__get__(self).get("_sources", ())
        ):
            return
        super().__setattr__(name, value)

    def _has_submodule(self, name: str) -> bool:
        """Whether MXNet has a module here, though a source has imported another one of that name: Python's `io` in `mxnet.io`."""
        return _exists(f"{self.__name__}.{name}".partition(".")[2])

    def _submodule_or_shared(self, name: str) -> Any:
        """A submodule that is not an attribute of the sources, such as ``gluon.utils``, or what all modules of MXNet had imported."""
        full = f"{self.__name__}.{name}"
        own = self.__name__.partition(".")[2]
        if _exists(full.partition(".")[2]):
            return import_module(full)
        if name in IMPORTED.get(own, ()):
            return import_module(f"mxnet.{name}")
        if name in NAMED.get(own, {}):
            return getattr(import_module(f"mxnet.{NAMED[own][name]}"), name)
        for source in EVERYWHERE:
            value = getattr(_namespace(source), name, _NOTHING)
            if value is not _NOTHING and not isinstance(value, ModuleType):
                return value
        if name in self.__all__ and (place := _star_tables()["from_elsewhere"].get(name)):
            return resolve_name(place)
        raise MissingName(*_missing(full))


class _Starred(NamedTuple):
    """What a star import from a module gives: these names; or if None, those that are shown, without some, and some more."""

    only: frozenset[str] | None
    without: frozenset[str]
    also: frozenset[str]


@cache
def _star_tables() -> dict[str, dict[str, str]]:
    """The tables of `star_names.toml`, which says what they are."""
    found: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("star_names.toml").read_text(encoding="utf-8"))
    return found


@cache
def _starred(own: str) -> _Starred:
    """What a star import from a module gives; ``own`` is its name without ``mxnet.``."""
    only, without, also = (_star_tables()[table].get(own) for table in ("only", "without", "also"))
    return _Starred(None if only is None else frozenset(only.split()), frozenset((without or "").split()), frozenset((also or "").split()))


_NOTHING = object()
#: Gives the names that a module has, without a search for others.
_NAMES = vars(ModuleType)["__dict__"]
_ROWS = {*SOURCES, *MODULES}


def _shown(source: object) -> list[str]:
    """The names of a source that ``dir()`` of an MXNet module shows: not those that the source has imported."""
    listed = None if "__dir__" in vars(source) else getattr(source, "__all__", None)
    return dir(source) if listed is None else [*listed, *(name for name in dir(source) if name.startswith("_"))]


def _is_module(source: ModuleType, name: str) -> bool:
    """Whether a source's attribute is a module of Twofold, or one that it happens to have imported; nothing is loaded."""
    path = f"{source.__name__}.{name}".partition(".")[2]
    found = vars(source).get(name)
    if isinstance(found, ModuleType) and not found.__name__.startswith(ROOT):
        return name not in getattr(source, "__all__", ())  # `np` of test_utils is meant to be seen
    return isinstance(found, ModuleType) or path in _ROWS or path in SAME or path in ABSENT or path in ABSENT_NAMES


def _exists(name: str) -> bool:
    """Whether MXNet has a module, and Twofold its names or submodules."""
    if reason_for_absence(name) is not None:
        return False
    return name in SAME or canonical(name) in _ROWS or any(row.startswith(canonical(name) + ".") for row in _ROWS)


def _missing(full: str) -> tuple[str, None, str]:
    """The error for a name or module that is not there: with a name like it if there is no reason for its absence."""
    path = full.partition(".")[2]
    if why := reason_for_absence(path):
        return f"{full}: {why[0]}", None, f"{why[1]}; {WHAT_RUNS}"
    head, _, name = path.rpartition(".")
    if any(hasattr(source, name) for source in sources_of(head)):
        return f"{full}: it is not a module", None, f"write `from mxnet.{head} import {name}`"
    near = did_you_mean(name, (shown for source in sources_of(head) for shown in _shown(source)), "", PLACES.get(head, head))
    if near:  # MXNet's own names that are absent have a reason each
        return f"{full}: there is no such name", None, f"{near}; {WHAT_RUNS}"
    return f"{full}: Twofold does not have it", None, WHAT_RUNS


def _is_name_imported() -> bool:
    """Whether a module is searched because the statement ``from package import name`` has not found an attribute of that name.

    A call of ``__import__`` with a ``fromlist`` is none: programs pass any name, so that they get the inner module.
    """
    frame, is_listed = sys._getframe(2), False  # of Python's import system, which has called the finder
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        is_listed = is_listed or frame.f_code.co_name == "_handle_fromlist"
        frame = frame.f_back
    return is_listed and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_NAME"]


class _Finder:
    """Creates a proxy for every module whose name starts with ``mxnet``."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        root, _, name = fullname.partition(".")
        if root != "mxnet":
            return None
        if not _exists(name):
            missing = MissingModule(*_missing(fullname))
            # The name tells callers such as `pydoc.locate` that the module is missing, not something inside it. After `from mxnet import x`
            # Python replaces such an error by its own, which does not say what to do.
            if not _is_name_imported():
                missing.name = fullname
            raise missing
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]  # `importlib.abc` loads 30 modules

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = spec.name.partition(".")[2]
        first = canonical(name)
        if first != name:
            return import_module(f"mxnet.{first}")  # all aliases share one proxy
        return _Proxy(spec.name, sources_of(name))

    def exec_module(self, module: ModuleType) -> None:
        files = (getattr(source, "__file__", None) for source in module._sources)
        module.__file__ = next((file for file in files if file), __file__)
        if module.__name__ == "mxnet":
            _NAMES.__get__(module)["__version__"] = MXNET_VERSION
            import_module("multiprocessing.pool")  # programs rely on MXNet's importing it
        elif module.__name__ == "mxnet.gluon":
            given = import_module(f"{ROOT}.gluon.signatures").Given
            given.nd, given.sym = import_module("mxnet.ndarray"), import_module("mxnet.symbol")
        if module.__name__ in STATES:
            import_module(f"{ROOT}.compat.{STATES[module.__name__]}")

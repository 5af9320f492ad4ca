"""NumPy's names beside the package's own: its functions, objects and modules, for arrays of ours."""

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..calls.host_calls import is_recorded, map_nested, refuse_cut, to_numpy
from ..imperative.tape import tls
from ..suggestions import missing_name
from .array import ndarray
from .creation import operand
from .fallback import by_numpy, nditer, objects_of, ordered_unique_values, wrapped
from .forms import FORMS
from .short_calls import short_call

#: Functions that are passed on unwrapped: they set or print NumPy's state, and `errstate` and `printoptions` are context managers.
PLAIN_FUNCTIONS = frozenset({"errstate", "geterr", "seterr", "printoptions", "set_printoptions", "get_printoptions", "show_config", "info"})


class _Indexed:
    """A NumPy object that makes an array from its index, such as ``r_``."""

    def __init__(self, name: str, numpys: Any) -> None:
        self._name, self._numpys = name, numpys

        def function(key: object) -> object:
            return numpys[key]

        # the name that `by_numpy` gives in errors
        function.__qualname__ = name

        def general(key: object) -> Any:
            return FORMS[numpys](key) if numpys in FORMS and is_recorded(key) else by_numpy(function, (key,), {})

        self._general, self._short = general, short_call(general, function)

    def __getitem__(self, key: object) -> Any:
        # a slice may have recorded bounds, which short calls do not look for
        return self._short(key) if tls.tape is None else self._general(key)

    def __repr__(self) -> str:
        return f"<twofold.np.{self._name}>"


class _Namespace(ModuleType):
    """A NumPy module, whose attributes a function looks up: attributes that take arrays are wrapped."""

    def __init__(self, module: ModuleType, find: Callable[[ModuleType, str], Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        self._module, self._find = module, find

    def __getattr__(self, name: str) -> Any:
        found = self._find(self._module, name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(self._module)


@cache
def _polynomial(cls: Any) -> type:
    """A class of polynomials that refuses recorded coefficients: NumPy's function would silently convert them to a NumPy array."""

    @wraps(cls.__init__)
    def __init__(self: Any, *args: object, **options: object) -> None:
        refuse_cut(cls.__name__, (args, options), np.empty(0))
        cls.__init__(self, *args, **options)

    def __reduce__(self: Any) -> tuple[Any, ...]:
        # pickle would look up this class by its name in NumPy's module, and find NumPy's class
        return _polynomial_again, (cls, self.coef, self.domain, self.window, self.symbol)

    return type(cls.__name__, (cls,), {"__init__": __init__, "__reduce__": __reduce__, "__module__": cls.__module__})


def _polynomial_again(cls: type, *args: object) -> object:
    return _polynomial(cls)(*args)


def _named(module: ModuleType, name: str) -> Any:
    """An attribute of a module of NumPy; the error for another name suggests one."""
    if not hasattr(module, name):
        raise missing_name(f"twofold.{module.__name__}", name, dir(module))
    return getattr(module, name)


def _of_transforms(module: ModuleType, name: str) -> object:
    found = _named(module, name)
    return wrapped(found) if isinstance(found, (FunctionType, type(np.sum))) else found


def _of_objects(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on polynomials. It is written in Python, so from recorded coefficients it is computed as from objects: each an element."""
    evaluates = function.__name__.endswith("val")

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not is_recorded((args, options)):
            return by_numpy(function, args, options)
        try:
            if evaluates:
                found = function(*_evaluated(*args, **options))
            else:
                found = function(*map(objects_of, args), **{k: objects_of(v) for k, v in options.items()})
        except (TypeError, np.linalg.LinAlgError):  # linear algebra of objects
            refuse_cut(function.__name__, (args, options), np.empty(0))
            raise
        result = map_nested(found, lambda v: operand(v.tolist()) if isinstance(v, np.ndarray) else v)
        if not is_recorded(result):  # some convert objects to floats, one by one
            refuse_cut(function.__name__, (args, options), np.empty(0))
        return result

    return call


def _evaluated(x: Any, c: Any, tensor: bool = True) -> tuple[ndarray, np.ndarray, bool]:
    """The arguments of a function that evaluates a polynomial: ``x`` as an array, and recorded coefficients as objects, one of each degree.

    NumPy's functions give several polynomials the axes of ``x`` only if that is an array of NumPy's.
    """
    at = operand(x)
    rows = operand(c) if is_recorded(c) else np.asarray(to_numpy(c))
    if tensor and rows.ndim > 1:
        rows = rows.reshape(rows.shape + (1,) * at.ndim)
    if isinstance(rows, np.ndarray):
        return at, rows, False
    found = np.empty(len(rows) if rows.ndim else 1, object)
    for k in range(len(found)):
        found[k] = rows[k] if rows.ndim else rows
    return at, found, False


def _of_polynomials(module: ModuleType, name: str) -> Any:
    found = _named(module, name)
    if isinstance(found, (FunctionType, type(np.sum))):
        return _of_objects(found)
    if isinstance(found, ModuleType):
        return _Namespace(found, _of_polynomials)
    base = np.polynomial.Polynomial.__base__
    return _polynomial(found) if isinstance(found, type) and base is not None and issubclass(found, base) else found


def _of_library(module: ModuleType, name: str) -> object:
    found = _named(module, name)
    # our package imports this module, which needs its functions
    return import_module(f"{__package__}.{name}") if found is np.lib.stride_tricks else found


def _of_tests(module: ModuleType, name: str) -> Any:
    found = _named(module, name)
    if name not in COMPARING:
        return found

    @wraps(found)
    def call(*args: Any, **options: Any) -> None:
        found(*to_numpy(args), **to_numpy(options))

    return call


def attribute(module: ModuleType, name: str) -> Any:
    """An attribute of NumPy: functions, objects and modules that take arrays are wrapped, the others are returned unchanged.

    Raises
    ------
    AttributeError
        If NumPy has no such name.
    """
    found: Any = ordered_unique_values if name == "unique_values" else _named(module, name)
    if name == "nditer":
        return nditer
    if name in MODULES:
        return _Namespace(found, MODULES[name])
    if name in INDEXED:
        return _Indexed(name, found)
    # functions that dispatch on the class of their arguments have a class that is not public
    is_function = isinstance(found, (FunctionType, BuiltinFunctionType, type(np.sum)))
    return wrapped(found) if is_function and name not in PLAIN_FUNCTIONS else found


#: Modules with functions or classes that take arrays, and how to find their attributes.
MODULES: dict[str, Callable[[ModuleType, str], Any]] = {
    "fft": _of_transforms,
    "emath": attribute,
    "polynomial": _of_polynomials,
    "lib": _of_library,
    "testing": _of_tests,
}
#: Functions of ``testing`` that compare lists and dictionaries, and numbers by other rules than arrays.
COMPARING = frozenset({"assert_equal", "assert_almost_equal", "assert_approx_equal"})
#: Objects that make arrays from their index.
INDEXED = frozenset({"r_", "c_", "mgrid", "ogrid"})

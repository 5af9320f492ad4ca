"""Suggestions for names that do not exist: the nearest ones that do, and what other libraries' names are called here."""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from functools import cache
from inspect import Parameter, signature
from types import ModuleType
from typing import Any, ClassVar, NoReturn, get_args

from .errors import OperatorError, UnknownKey

#: The end of the error for a name of MXNet that is missing here.
WHAT_RUNS = 'the page "What runs" (docs/reference/mxnet-names.md) lists MXNet\'s names'


#: The tables of names by the module in which a name was looked up, if their names differ.
PLACES = {"": "twofold", "ndarray": "nd", "symbol": "nd", "numpy": "np", "numpy_extension": "npx"}


@cache
def _elsewhere() -> dict[str, dict[str, str]]:
    """Names of other libraries with ours, by the module in which users look for them."""
    import tomllib  # programs that make no mistake load neither this nor `difflib`

    with open(os.path.join(os.path.dirname(__file__), "names_elsewhere.toml"), "rb") as file:
        return tomllib.load(file)


Absent = dict[str, tuple[str, str]]


@cache
def absent_names() -> tuple[Absent, Absent]:
    """MXNet's modules, and names of other modules, that have no counterpart: why, and what to do instead."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "absent_names.toml"), "rb") as file:
        tables = tomllib.load(file)
    modules, names = ({path: (why, todo) for path, (why, todo) in tables[kind].items()} for kind in ("modules", "names"))
    return modules, names


@cache
def module_table() -> dict[str, Any]:
    """Where the names of each MXNet module are, as the comments of ``module_table.toml`` say."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "compat", "module_table.toml"), "rb") as file:
        return tomllib.load(file)


def canonical(name: str) -> str:
    """The canonical name of an MXNet module, without ``mxnet.``: ``ndarray.random`` for ``nd.random``."""
    same: dict[str, str] = module_table()["same"]
    if name in same:
        return same[name]
    head, _, tail = name.rpartition(".")
    return f"{canonical(head)}.{tail}" if head else name


def reason_for_absence(name: str) -> tuple[str, str] | None:
    """Why Twofold deliberately lacks an MXNet module or name, and what to do instead; None for all others."""
    if any(name == m or name.startswith(m + ".") for m in module_table()["internal"]):
        return "it is internal to MXNet", "use the public modules"
    name = canonical(name)
    modules, names = absent_names()
    return next((why for row, why in (modules | names).items() if name == row or name.startswith(row + ".")), None)


def _of_mxnet(module: str, name: str) -> str:
    """What to do about a name that an MXNet module has, and a module of Twofold lacks; empty if nothing is known.

    Parameters
    ----------
    module
        Twofold's module, without ``twofold.``: MXNet's modules whose names it provides are searched.
    name
        The name, or that of a module of MXNet whose names are elsewhere.
    """
    sources: dict[str, list[str]] = module_table()["sources"]
    paths = [f"{m}.{name}" if m else name for m in (module, *(m for m, given in sources.items() if module in given))]
    if reason := next((found for path in paths if (found := reason_for_absence(path))), None):
        return reason[1]
    path = next((p for p in map(canonical, paths) if p in sources or any(row.startswith(p + ".") for row in sources)), "")
    if not path:
        return ""
    given = next(given for row, given in sources.items() if row == path or row.startswith(path + "."))
    here = [source for source in given if not source.startswith("compat.") and (source == given[0] or path.startswith(source))]
    use = f"use mx.{_AS_NP.get(here[0], here[0])}" if here else "`python -m twofold run` has it for programs that import mxnet"
    todos = dict.fromkeys(todo for row, (_, todo) in absent_names()[1].items() if row.startswith(path + "."))
    return "; ".join([use, f"for what it lacks: {', or '.join(todos)}"] if todos else [use])


#: What programs that import the package itself have in place of MXNet's dialect of NumPy.
_AS_NP = {"mxnet_numpy": "np", "mxnet_numpy.linalg": "np.linalg", "mxnet_numpy.random": "np.random", "mxnet_numpy.extension": "npx"}


def _known(name: str, place: str) -> str:
    """What another library's name is called here, by a table of ``names_elsewhere.toml``; empty if it is not there."""
    found = _elsewhere().get(place, {}).get(name, "")
    if found.startswith("none: "):
        return f"leave it out: {found.removeprefix('none: ')}"
    return f"use {found}" if found else ""


def _instead(module: str, name: str, place: str = "") -> str:
    """What to do about a name that a module does not have, and MXNet or another library does; empty if nothing is known."""
    head = module.partition(".")[2]
    if known := _known(name, place or PLACES.get(head, head)):
        return known
    todo = _of_mxnet(head, name)
    return f"{todo}; {WHAT_RUNS}" if todo else ""


def did_you_mean(name: str, names: Iterable[str], otherwise: str, place: str = "") -> str:
    """What to do about a name that does not exist.

    Parameters
    ----------
    name
        The name.
    names
        Those that exist.
    otherwise
        What to say if none is near.
    place
        A table of ``names_elsewhere.toml`` to look in first.

    Examples
    --------
    >>> did_you_mean("acuracy", ["accuracy", "f1"], "see the list")
    "did you mean 'accuracy'?"
    >>> did_you_mean("Linear", [], "see dir() of it", "gluon.nn")
    'use Dense'
    """
    from difflib import get_close_matches

    if known := _known(name, place):
        return known
    names = [n for n in dict.fromkeys(names) if not n.startswith("_")]
    # without regard to capital letters first: `relu` for `ReLU`
    # reversed, so that of names that differ in capitals the first one is kept
    folded = {n.lower(): n for n in reversed(names)}
    swapped = [n for n in names if sorted(n) == sorted(name)]  # short names are not close by difflib's measure: `sdg` for `sgd`
    near = [folded[name.lower()]] if name.lower() in folded else swapped[:2] or get_close_matches(name, names, 2, 0.75)
    near = near or [n for n in names if len(name) > 3 and (n.startswith(name) or n.endswith(name))][:2]
    return f"did you mean {' or '.join(map(repr, near))}?" if near else otherwise


class ByName(dict[str, Any]):
    """A dict of a fixed set of names, whose error for another name suggests one of them.

    A subclass says what has the names, as the error begins. Its instances are made without a call of Python code, as each step makes some.

    Examples
    --------
    >>> class Weights(ByName, what="the executor"):
    ...     pass
    >>> Weights({"fc_weight": 1})["fc_wieght"]
    Traceback (most recent call last):
        ...
    twofold.errors.UnknownKey: the executor has no 'fc_wieght'; did you mean 'fc_weight'?
    """

    what: ClassVar[str]

    def __init_subclass__(cls, what: str) -> None:
        cls.what = what
        cls.__name__ = cls.__qualname__ = "dict"  # what MXNet's are

    def __missing__(self, name: object) -> NoReturn:
        raise unknown_key(self.what, name, self)


def unknown_key(what: str, name: object, names: Collection[str]) -> UnknownKey:
    """The `KeyError` for a name that something does not have."""
    # the names of a large network would bury the mistake
    otherwise = f"it has {', '.join(names) or 'none'}" if len(names) <= 12 else "see its keys()"
    return UnknownKey(f"{what} has no {name!r}", None, did_you_mean(name, names, otherwise) if isinstance(name, str) else otherwise)


def attribute_here(shown: object, name: str) -> str:
    """What to do about an attribute that objects or modules of other libraries have, and this one lacks; empty if nothing is known.

    Examples
    --------
    >>> import twofold as mx
    >>> attribute_here(mx.nd.ones(3), "numpy")
    'use asnumpy()'
    """
    if isinstance(shown, ModuleType):
        if shown.__name__ == "twofold.func":  # no module of MXNet
            return did_you_mean(name, shown.__all__, "see dir() of it", "func")
        return _instead(shown.__name__, name)
    places = [f"attributes of {kind.__name__}" for kind in type(shown).__mro__ if _is_ours(kind)]
    return next((_elsewhere()[place][name] for place in places if name in _elsewhere().get(place, {})), "")


def assigned_here(shown: object, name: str, names: Iterable[str]) -> str:
    """What to do instead of assigning to an attribute; empty if nothing is known.

    Parameters
    ----------
    shown
        The object.
    name
        The attribute.
    names
        Attributes that exist: one that differs in a letter or two is meant.

    Examples
    --------
    >>> import twofold as mx
    >>> weight = mx.gluon.Parameter("weight")
    >>> assigned_here(weight, "grad_rq", ["grad_req", "shape"])
    "did you mean 'grad_req'?"
    """
    from difflib import get_close_matches

    places = [_elsewhere().get(f"assigned to {kind.__name__}", {}) for kind in type(shown).__mro__ if _is_ours(kind)]
    known = next((place[name] for place in places if name in place), "")
    near = () if known else get_close_matches(name, [n for n in names if n != name], 1, 0.88)
    return f"did you mean {near[0]!r}?" if near else known


def operand_here(given: object, function: str = "") -> str:
    """What to do about an operand that stands for an array but is none, such as a `Parameter`; empty if nothing is known.

    Parameters
    ----------
    given
        The operand.
    function
        The name of the function that it was passed to; empty if that was none of an operator's.
    """
    known = _elsewhere()["operands"] | (_elsewhere()["operands of functions"] if function else {})
    advice = next((known[kind.__name__] for kind in type(given).__mro__ if kind.__name__ in known and _is_ours(kind)), "")
    return advice.replace("{}", function)


def module_of(thing: object) -> str:
    """The name of the module of a class or function; empty for one that a program has made by ``exec`` among names without a module's."""
    return getattr(thing, "__module__", None) or ""


def _is_ours(kind: type) -> bool:
    return module_of(kind).startswith("twofold.")


def argument_here(name: str, called: Callable[..., object]) -> str:
    """What to do about an argument that a function, or a class's constructors, do not have.

    Parameters
    ----------
    name
        The argument.
    called
        The function or class.

    Examples
    --------
    >>> import twofold as mx
    >>> argument_here("stride", mx.gluon.nn.Conv2D)
    "did you mean 'strides'?"
    >>> argument_here("lr", mx.optimizer.SGD)
    'use learning_rate'
    """
    kinds = called.__mro__ if isinstance(called, type) else [called]
    place = next((p for kind in kinds if (p := f"arguments of {kind.__name__}") in _elsewhere()), "")
    names = arguments_of(called)
    elsewhere = "" if isinstance(called, type) else _elsewhere()["arguments of other libraries"].get(name, "")
    return did_you_mean(name, names, renamed_argument(name, names) or elsewhere or f"it takes {', '.join(names) or 'none by name'}", place)


def renamed_argument(name: str, names: Collection[str]) -> str:
    """What to do about an argument that other libraries have under another name; empty if it is not among the names.

    Examples
    --------
    >>> renamed_argument("dim", ["a", "axis"])
    'use axis'
    """
    here = [n for n in _elsewhere()["arguments"].get(name, "").split() if n in names]
    return f"use {here[0]}" if here else ""


def arguments_of(called: Callable[..., object]) -> list[str]:
    """The names of the arguments of a function, or of all constructors of a class: most pass on those that they do not take."""
    if isinstance(called, type):
        own = [kind for kind in called.__mro__ if kind is not object and "__init__" in vars(kind)]
        # what a private base takes beside its first subclass's arguments is for that subclass
        functions = [vars(kind)["__init__"] for kind in own if kind is own[0] or not kind.__name__.startswith("_")]
    else:
        functions = [called]
    parameters = [p for function in functions for p in (*_of_numpys(function), *signature(function).parameters.values())]
    by_name = [name for p in parameters for name in _names_of(p)]
    return [n for n in dict.fromkeys(by_name) if n != "self"]


def _names_of(parameter: Parameter) -> Iterable[str]:
    """The names that a program can write for a parameter: its own, or those of the options that it collects."""
    if parameter.kind is Parameter.VAR_KEYWORD:
        return [name for options in get_args(parameter.annotation) for name in getattr(options, "__annotations__", ())]
    return [parameter.name] if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY) else []


def _of_numpys(function: Callable[..., object]) -> Iterable[Parameter]:
    """The parameters of NumPy's function of the same name, if this one passes on to it what it does not take itself."""
    passes_on = any(p.kind is Parameter.VAR_KEYWORD for p in signature(function).parameters.values())
    package, _, module = function.__module__.partition(".")
    numpys = getattr(sys.modules.get(module), function.__name__, None) if passes_on and package == "twofold" else None
    try:
        return signature(numpys).parameters.values() if callable(numpys) else ()
    except ValueError:  # functions written in C may have no signature
        return ()


def lookup(module: str, names: Iterable[str], place: str = "") -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has all its names, which raises `missing_name`."""

    def find(name: str) -> Any:
        raise missing_name(module, name, names, place)

    return find


def missing_name(module: str, name: str, names: Iterable[str], place: str = "") -> OperatorError:
    """The error for a name that a module does not have: an `AttributeError`, as Python's own."""
    # Python's own questions, such as for `__path__`, load no tables
    known = "" if name.startswith("__") else _instead(module, name, place) or did_you_mean(name, names, "")
    todo = known or "see dir() of it"
    return OperatorError(f"module {module!r} has no attribute {name!r}", None, todo)


def import_here(module: ModuleType, name: str) -> str:
    """What to do about a name that a program imports from a module that does not have it; empty if nothing is known.

    Examples
    --------
    >>> import twofold as mx
    >>> import_here(mx.gluon.nn, "Linear")
    'use Dense'
    """
    return _instead(module.__name__, name) or did_you_mean(name, dir(module), "")

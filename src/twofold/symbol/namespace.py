"""The functions of ``mx.sym`` that are operators, generated on first use; and `Symbol`'s methods of the same names."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ..assembly import attach_method
from ..opdef import NAMES, OPS, Op
from ..opdef.frontend import PREFIXES, function_of
from ..ops.primitive_arithmetic import astype
from ..suggestions import missing_name
from . import control_flow
from .compose import apply_op
from .functions import expand_dims, flatten, split_v2, squeeze
from .symbol import Symbol

PACKAGE = "twofold.symbol"


def made(registered: str, name: str, place: str = PACKAGE) -> Callable[..., Symbol]:
    """The function of an operator.

    Parameters
    ----------
    registered
        Name or alias of the operator.
    name
        Name of the function; automatic names of nodes start with it in lower case.
    place
        Its ``__module__``.
    """

    def call(op: Op, arrays: Sequence[Symbol | None], params: dict[str, Any], label: str | None) -> Symbol:
        return apply_op(op, name.lower(), arrays, params, label, params.pop("attr", None))

    op = NAMES[registered]
    return function_of(op, name, call, place, extra=() if op.arrays else ("ctx",), passes="name")


class Operators(ModuleType):
    """A namespace of operators, whose functions are generated on first use.

    Parameters
    ----------
    name, doc
        Name and docstring of the module.
    prefixes
        Prefixes of the operators' registered names that the namespace omits.
    """

    def __init__(self, name: str, doc: str, prefixes: Sequence[str]) -> None:
        super().__init__(name, doc)
        self.__dict__["_prefixes"] = tuple(prefixes)

    def __getattr__(self, name: str) -> Any:
        for prefix in self._prefixes:
            # Python asks modules for names such as ``__path__``, which are never operators.
            if prefix + name in NAMES and (prefix or not name.startswith("__")):
                function = made(prefix + name, name, self.__name__)
                setattr(self, name, function)  # made once: the next access finds it without this method
                return function
        raise missing_name(self.__name__, name, dir(self), "nd")

    def __dir__(self) -> list[str]:
        found = [n.removeprefix(p) for n in NAMES for p in self._prefixes if n.startswith(p)]
        return sorted({*super().__dir__(), *found})


def _namespaces() -> dict[str, Operators]:
    prefixes: dict[str, list[str]] = {"op": [""], "_internal": [""]}
    for prefix, where in PREFIXES.items():
        prefixes.setdefault(where, []).append(prefix)
    del prefixes["random"]  # `symbol.random`, whose functions choose an operator by the kinds of their arguments
    return {name: Operators(f"{PACKAGE}.{name}", f"Operators of mx.sym.{name}.", found) for name, found in prefixes.items()}


NAMESPACES = _namespaces()
for _name in control_flow.__all__:
    setattr(NAMESPACES["contrib"], _name, getattr(control_flow, _name))


def find_attribute(name: str) -> ModuleType | Callable[..., Symbol]:
    """The attributes of the package that are not written by hand: sub-namespaces, and the functions of public operators.

    Raises
    ------
    AttributeError
        If there is nothing of that name.
    """
    if name in NAMESPACES:
        return NAMESPACES[name]
    if name in ("np", "npx"):
        from .numpy_symbol import NP, NPX  # loads `mxnet_numpy`, which few programs need

        return NP if name == "np" else NPX
    if name.startswith("_") or name not in NAMES:
        raise missing_name(PACKAGE, name, attribute_names(), "nd")
    return getattr(NAMESPACES["op"], name)


def attribute_names() -> list[str]:
    """The names that `find_attribute` knows."""
    return sorted([*NAMESPACES, *(n for n in NAMES if not n.startswith("_"))])


def as_np_ndarray(self: Symbol) -> Symbol:
    """The symbol with NumPy's operators and methods, as in MXNet's dialect of NumPy."""
    from .numpy_symbol import NumpySymbol

    return NumpySymbol(self.heads)


def attach() -> None:
    """Attach the methods that operators declare to `Symbol`."""
    for op in [op for op in OPS.values() if op.method_name and op.front.symbol_method]:
        attach_method(Symbol, op.method_name, made(op.title, op.method_name))
    attach_method(Symbol, "astype", made(astype.title, "cast"))
    for method in (as_np_ndarray, expand_dims, flatten, split_v2, squeeze):
        attach_method(Symbol, method.__name__, method)


attach()

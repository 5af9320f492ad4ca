"""The functions of ``mx.sym`` that are operators: one per registered name, generated; and `Symbol`'s methods of the same names."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ..op.frontend import PREFIXES, function_of, place_of, submodules
from ..op.registry import NAMES
from ..op.spec import Op
from .compose import apply_op
from .symbol import Symbol

SUBMODULES = ("linalg", "contrib", "image", "sparse", "_internal", "op")

#: MXNet's methods of symbols that are operators under the same name; each takes what the function of that name takes.
METHODS = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes broadcast_like broadcast_to cbrt "
    "ceil clip cos cosh degrees depth_to_space diag exp expand_dims expm1 fix flatten flip floor log log10 log1p log2 log_softmax max mean "
    "min nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape reshape_like rint round rsqrt "
    "shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like softmax softmin sort space_to_depth split sqrt square squeeze "
    "sum swapaxes take tan tanh tile topk transpose trunc zeros_like"
).split()


def caller(hint: str) -> Callable[..., Symbol]:
    """What generated functions of one name call: automatic names of their nodes start with ``hint``."""

    def call(op: Op, arrays: Sequence[Any], params: dict[str, Any], name: str | None) -> Symbol:
        return apply_op(op, hint, arrays, params, name, params.pop("attr", None))

    return call


def populate(namespace: dict[str, Any], package: str) -> dict[str, ModuleType]:
    """Fill a module's names with the functions of all registered operators; what stands there already stays.

    Returns
    -------
    dict
        The sub-namespaces: ``op`` with all public operators, ``_internal`` with all others, and one per prefix.
    """
    modules = submodules(package, SUBMODULES)
    random = namespace["random"]
    for registered, op in NAMES.items():
        where, name = place_of(registered)
        function = function_of(op, name, caller(name.lower()), f"{package}.{where}" if where else package, passes="name")
        if registered.startswith("_"):
            setattr(modules["_internal"], registered, function_of(op, registered, caller(registered.lower()), package, passes="name"))
        else:
            setattr(modules["op"], name, function)
            namespace.setdefault(name, function)
        if where == "random":
            if name.endswith("_like"):
                setattr(random, name, function)
        elif where in PREFIXES.values():
            setattr(modules[where], name, function)
    return modules


def attach() -> None:
    """Attach to `Symbol` the methods that operators give."""
    for name in METHODS:
        if name in NAMES:
            method = function_of(NAMES[name], name, caller(name), "twofold.symbol", passes="name")
            method.__qualname__ = f"Symbol.{name}"
            setattr(Symbol, name, method)


attach()

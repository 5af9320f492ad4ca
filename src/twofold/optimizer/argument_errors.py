"""What optimizers are given: arguments as a dict, arrays of every front end, and the errors for what they do not take."""

from collections.abc import Iterable
from inspect import signature
from typing import Any

from ..errors import WrongArgument, WrongType
from ..imperative.array import Array
from ..imperative.views import view_of
from ..lr_scheduler import LRScheduler
from ..ndarray.array import NDArray
from ..suggestions import argument_here, arguments_of, module_of


def options_of(given: Any, what: str) -> dict[str, Any]:
    """The arguments for an optimizer, from a dict or pairs; none for None.

    Raises
    ------
    WrongArgument
        If it is neither, such as a learning rate alone.
    """
    try:
        return dict(given or {})
    except (TypeError, ValueError):
        rate = given if isinstance(given, float) else 0.1
        raise WrongArgument(f"{what}: optimizer_params must be a dict", repr(given), f"write {{'learning_rate': {rate}}}") from None


def check_arguments(cls: type, given: Iterable[str]) -> None:
    """Raise for an argument that no constructor of one of our optimizers has: those of users may take any.

    Raises
    ------
    WrongArgument
        If there is one.
    """
    if not module_of(cls).startswith(__package__ or ""):
        return
    known = arguments_of(cls)
    for name in given:
        if name not in known:
            raise WrongArgument(f"{cls.__name__}: there is no argument {name!r}", None, argument_here(name, cls))


def check_arrays(*given: object) -> None:
    """Raise for a weight or gradient that is no array, as MXNet asserts in each update.

    Raises
    ------
    WrongType
        If there is one.
    """
    for x in given:
        if not isinstance(x, Array):
            raise WrongType("update: weights and gradients must be arrays", type(x).__name__, "pass an NDArray")


def classic(value: Any) -> Any:
    """An array of ``mx.np`` or ``twofold.np`` as a view of class `NDArray`, with which optimizers compute; anything else as it is.

    Parameters
    ----------
    value
        An array, or a state: None, an array, or a tuple or list of these.
    """
    if isinstance(value, Array):
        return value if value._legacy else view_of(NDArray, value, ())
    return type(value)(map(classic, value)) if isinstance(value, (tuple, list)) else value


def check_numbers(optimizer: object, **given: object) -> None:
    """Raise for text in place of a number that one of our optimizers was made with.

    Parameters
    ----------
    optimizer
        The optimizer.
    **given
        Its arguments, if they are known: some attributes have other names.

    Raises
    ------
    WrongArgument
        If there is one. MXNet's constructors accept them, most of its updates do not.
    """
    if not module_of(type(optimizer)).startswith(__package__ or ""):
        return
    held = vars(optimizer) | given
    texts = {"learning_rate" if name == "lr" else name: value for name, value in held.items() if isinstance(value, str)}
    for name in _numbers_of(type(optimizer)) if texts else ():
        if name in texts:
            raise wrong_argument(optimizer, name, texts[name])


def _numbers_of(cls: type) -> list[str]:
    """The names of the numbers among the arguments of a class's constructors."""
    kinds = [kind for kind in cls.__mro__ if kind is not object and "__init__" in vars(kind)]
    parameters = [p for kind in kinds for p in signature(vars(kind)["__init__"]).parameters.values()]
    return [p.name for p in parameters if p.annotation in (int, float, float | None)]


def wrong_argument(optimizer: object, name: str, given: object) -> WrongArgument:
    """The error for text as a number or scheduler, or a scheduler as a number: MXNet's constructors accept them, its updates do not."""
    what, shown, todo = f"{name} must be a number", repr(given), f"write {name}={given}"
    if name == "lr_scheduler":
        what, todo = f"{name} must be a scheduler", "pass one, such as mx.lr_scheduler.FactorScheduler(step=1000)"
    elif isinstance(given, LRScheduler):
        # an object's text says nothing here
        shown, todo = type(given).__name__, "pass a scheduler as lr_scheduler"
    return WrongArgument(f"{type(optimizer).__name__}: {what}", shown, todo)

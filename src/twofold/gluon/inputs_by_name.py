"""Inputs that a block is called with by name."""

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from ..errors import WrongArgument
from ..plurals import counted
from ..suggestions import did_you_mean


def in_order(
    computation: Callable[..., object], parameters: Collection[str], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs in the order of a signature, with defaults for those left out between others; and those that it takes by name only.

    Parameters
    ----------
    computation
        The block's ``forward``, or its ``hybrid_forward`` if that is what it computes: this one takes all inputs in order.
    parameters
        Names of the block's own parameters, which ``hybrid_forward`` gets by name.
    args, named
        What the block is called with.

    Raises
    ------
    WrongArgument
        If there is no input of a name, it is passed twice, or one before it is missing.
    """
    block, is_hybrid = type(getattr(computation, "__self__", computation)).__name__, computation.__name__ == "hybrid_forward"
    taken = list(signature(computation).parameters.values())[is_hybrid:]
    takes_any = not is_hybrid and any(p.kind is Parameter.VAR_KEYWORD for p in taken)
    ordered = [p for p in taken if p.kind is Parameter.POSITIONAL_OR_KEYWORD and not (is_hybrid and p.name in parameters)]
    by_name = set() if is_hybrid else {p.name for p in taken if p.kind is Parameter.KEYWORD_ONLY}
    names = [p.name for p in ordered]
    for name in named:
        if name in names[: len(args)]:
            raise WrongArgument(f"{block}: {name} is passed twice", f"{counted(len(args), 'input')} in order, and {name}=", "pass it once")
        if name not in names and name not in by_name and not takes_any:
            todo = did_you_mean(name, [*names, *by_name], f"it takes {', '.join([*names, *by_name]) or 'none by name'}")
            raise WrongArgument(f"{block}: there is no input {name!r}", None, todo)
    inputs, rest = list(args), dict(named)
    for p in ordered[len(args) :]:
        if rest.keys().isdisjoint(names[len(inputs) :]):
            break
        if p.name not in rest and p.default is Parameter.empty:
            raise WrongArgument(f"{block}: there is no value for {p.name}", ", ".join(named), f"pass {p.name} as well")
        inputs.append(rest.pop(p.name, p.default))
    return tuple(inputs), rest

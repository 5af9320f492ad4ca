"""Calls in which ``out`` is given by position, as calls that name it."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any


def naming_out(function: Callable[..., object]) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]:
    """A function of a call's arguments and options that names ``out``, and what follows it, where they are given by position.

    A call that the function would refuse stays as it is.
    """

    @cache  # when it is first asked for: to read a signature takes longer than most calls
    def from_out() -> tuple[int, list[str]]:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # functions in C
            return 0, []
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        place = names.index("out") if "out" in names else len(names)
        return place, names[place:]

    def named(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        place, names = from_out()
        if place < len(args) <= place + len(names) and options.keys().isdisjoint(names):
            return args[:place], options | dict(zip(names, args[place:], strict=False))
        return args, options

    return named

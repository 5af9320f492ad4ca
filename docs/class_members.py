"""What the page of a class shows of its bases: members of bases without a page as its own, those of the others as links."""

from __future__ import annotations

import inspect
import typing
from abc import ABC
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple


class Described(NamedTuple):
    """Where a class is described: its dotted name on the page, and how users write it."""

    dotted: str
    shown: str


#: Classes with pages.
Pages = Mapping[type, Described]
#: Bases that say nothing to users.
SILENT = (object, ABC, typing.Generic, typing.Protocol)


def is_ours(found: type) -> bool:
    """Whether a class is defined in this package."""
    return found.__module__.partition(".")[0] == "twofold"


def public_bases(bases: Iterable[Any], pages: Pages) -> Iterator[type]:
    """The nearest bases that have a page or belong to other packages."""
    for base in bases:
        found: type = typing.get_origin(base) or base
        if found in pages or (found not in SILENT and not is_ours(found)):
            yield found
        elif found not in SILENT:
            yield from public_bases(found.__bases__, pages)


def shown_elsewhere(cls: type, pages: Pages) -> set[type]:
    """Bases whose members are not repeated on the page of a class: other packages', and those that the page of another base covers."""
    linked = [base for base in cls.__mro__[1:] if base in pages]
    return {base for base in cls.__mro__[1:] if not is_ours(base) or any(issubclass(other, base) for other in linked)}


def linked_members(cls: type, pages: Pages) -> dict[type, list[str]]:
    """The documented members that a class inherits from bases with pages, by the base whose page describes them."""
    linked = [base for base in cls.__mro__[1:] if base in pages]
    found: dict[type, list[str]] = {base: [] for base in linked}
    for name in sorted(n for n in dir(cls) if not n.startswith("_")):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        # a member of a base without a page is described with the farthest class that has one
        homes = [base for base in linked if is_ours(owner) and issubclass(base, owner)]
        if homes and has_docstring(getattr(cls, name)):
            found[homes[-1]].append(name)
    return {base: names for base, names in found.items() if names}


def has_docstring(member: object) -> bool:
    """Whether a member has a docstring of its own, rather than that of its type."""
    doc = inspect.getdoc(member)
    return bool(doc) and doc != inspect.getdoc(type(member))


def inheritance(cls: type, pages: Pages) -> list[str]:
    """Lines that name the inherited members with links to them."""
    lines = []
    for base, names in linked_members(cls, pages).items():
        dotted, shown = pages[base]
        links = ", ".join(f":py:obj:`{name} <{dotted}.{name}>`" for name in names)
        lines += [f"Also has the members of :py:obj:`{shown} <{dotted}>`: {links}.", ""]
    return lines

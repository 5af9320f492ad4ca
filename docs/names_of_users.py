"""Names as users write them in ``objects.inv``, by which other projects' documentation links to these pages.

Pages describe a name where it is defined, such as ``twofold.module.BaseModule.fit``; users write ``twofold.mod.Module.fit``, and those
of MXNet ``mxnet.mod.Module.fit``.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from api_pages import ROOT, Namespace, every_namespace, public_names

import twofold as mx

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What the root package is called.
ROOTS = ("twofold", "mx", "mxnet")


def places(namespace: Namespace) -> set[str]:
    """The names of a namespace below the root package, which has shorter ones for some modules: ``init`` for ``initializer``."""
    first, dot, rest = namespace.name.partition(".")
    module = getattr(mx, first)
    return {name + dot + rest for name in dir(mx) if isinstance(found := getattr(mx, name), ModuleType) and found is module}


def described_names(name: str, value: object, described: Container[str]) -> Iterator[tuple[str, str]]:
    """What a name of a class or function, and those of its members, are on pages: the rest after the name, and where it is described."""
    if name in described:
        yield "", name
    elif inspect.isclass(value) and (own := f"{value.__module__}.{value.__name__}") in described:
        yield "", own
    for member in dir(value) if inspect.isclass(value) else ():
        for base in inspect.getmro(value):
            found = next((d for d in every_name(base) if f"{d}.{member}" in described), None)
            if found is not None:
                yield f".{member}", f"{found}.{member}"
                break


def every_name(cls: type) -> Iterable[str]:
    """The names under which a class may be described."""
    yield f"{cls.__module__}.{cls.__name__}"
    module, _, _ = cls.__module__.rpartition(".")
    while module:
        yield f"{module}.{cls.__name__}"
        module = module.rpartition(".")[0]


def further_names(described: Mapping[str, object]) -> dict[str, str]:
    """The names of users that pages do not have, and what is described instead."""
    found: dict[str, str] = {}
    for namespace in every_namespace():
        for name in public_names(namespace):
            for rest, where in described_names(f"{namespace.dotted}.{name}", getattr(namespace.module, name), described):
                found |= {f"{root}.{place}.{name}{rest}": where for root in ROOTS for place in places(namespace)}
    for where in described:
        root, _, rest = where.partition(".")
        if root == ROOT or (root == "twofold" and rest.count(".") == 0):  # operators; names of the package itself
            found |= {f"{other}.{rest}": where for other in ROOTS}
    return {name: where for name, where in found.items() if name not in described}


def add_names(app: Sphinx) -> list[tuple[str, dict[str, object], str]]:
    """Enter these names before the inventory is written; the search and the pages' own links do without them. There are no pages to add."""
    objects = app.env.get_domain("py").data["objects"]
    for name, where in further_names(objects).items():
        objects[name] = objects[where]._replace(aliased=True)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx to enter the names when the pages are written."""
    app.connect("html-collect-pages", add_names)
    return {"parallel_read_safe": True}

"""Links from the pages of operators and of functions made by others to the source that computes them.

``viewcode`` finds the source of a name in the module that the page says. Here that would be the namespace, which makes or imports the
function; so the page says in its metadata where the source is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx import addnodes
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

import twofold as mx
from twofold.opdef.spec import Op

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

PACKAGE = Path(mx.__file__).parent


def source_of(found: Any) -> str | None:
    """Where an operator's rule or a function's code is, as ``module:name``; None where it is not in this package."""
    if isinstance(found, mx.np.ufunc):
        found = found._op or mx.np.ufunc
    if isinstance(found, type):
        return f"{found.__module__}:{found.__qualname__}"
    code, chain = None, found.rule if isinstance(found, Op) else found
    while chain is not None:
        own = getattr(chain, "__code__", None)
        if own is not None and own.co_filename.startswith(str(PACKAGE)):
            code = own
        chain = getattr(chain, "__wrapped__", None)
    if code is None:
        return None
    path = Path(code.co_filename).relative_to(PACKAGE.parent).with_suffix("")
    module = ".".join(path.parts).removesuffix(".__init__")
    return f"{module}:{code.co_qualname.partition('.<locals>')[0]}"


def source_lines(found: Any) -> list[str]:
    """What a page says first, before its title, so that its description links to the source."""
    source = source_of(found)
    return [f":source: {source}", ""] if source else []


def show(app: Sphinx, doctree: nodes.document) -> None:
    """Tell ``viewcode`` where the source of a page's function is."""
    source = app.env.metadata[app.env.docname].get("source")
    if source is None:
        return
    module, _, name = source.partition(":")
    for signature in doctree.findall(addnodes.desc_signature):
        signature["module"], signature["fullname"] = module, name
        if (anchor := f"{module}.{name}") not in signature["ids"]:  # where the link back from the source leads
            signature["ids"].append(anchor)
        break


def where(app: Sphinx, module: str, name: str) -> str | None:
    """The module itself where it defines the name: ``viewcode`` would ask what the name stands for, which an operator does not say."""
    try:
        return module if name in ModuleAnalyzer.for_module(module).find_tags() else None
    except PycodeError:
        return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx; it must be set up before ``viewcode``."""
    app.connect("doctree-read", show)
    app.connect("config-inited", lambda app, config: app.connect("viewcode-follow-imported", where))  # an event of ``viewcode``
    return {"parallel_read_safe": True, "parallel_write_safe": True}

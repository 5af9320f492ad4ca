"""A page that says where its function's source is has the anchor to which the listing leads back, once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

nodes = pytest.importorskip("docutils.nodes")
addnodes = pytest.importorskip("sphinx.addnodes")
sources = pytest.importorskip("sources")


@pytest.mark.parametrize("known", [[], ["twofold.context.cpu"], ["mx.cpu"]])
def test_a_description_has_the_anchor_of_its_source_once(known):
    signature = addnodes.desc_signature("", "", ids=list(known))
    page = nodes.document(SimpleNamespace(), SimpleNamespace())
    page += addnodes.desc("", signature)
    metadata = {"api/context.cpu": {"source": "twofold.context:cpu"}}
    sources.show(SimpleNamespace(env=SimpleNamespace(docname="api/context.cpu", metadata=metadata)), page)
    assert (signature["module"], signature["fullname"]) == ("twofold.context", "cpu")
    assert signature["ids"].count("twofold.context.cpu") == 1

"""Names and titles on the page of MXNet's names lead to pages and rows, code on pages about the code to the listings of the source."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.house.sources import ROOT
from tools.differing_names import Differences, mentions

nodes = pytest.importorskip("docutils.nodes")
linked_names = pytest.importorskip("linked_names")
linked_sources = pytest.importorskip("linked_sources")


class Builder:
    """Links of pages in one folder."""

    format = "html"

    def get_relative_uri(self, _from: str, to: str) -> str:
        """The page."""
        return f"{to}.html"


def application(page: str) -> SimpleNamespace:
    """An application of Sphinx that writes a page, and knows where two names are described."""
    where = {
        "mx.nd.relu": SimpleNamespace(docname="api/op.relu", node_id="mx.nd.relu"),
        "twofold.module.Module": SimpleNamespace(docname="api/mod.Module", node_id="twofold.module.Module"),
    }
    domain = SimpleNamespace(data={"objects": where})
    return SimpleNamespace(builder=Builder(), env=SimpleNamespace(docname=page, get_domain=lambda _: domain))


def document(*children: nodes.Node) -> nodes.document:
    """A page with one section."""
    found = nodes.document(SimpleNamespace(), SimpleNamespace())
    found += nodes.section("", *children)
    return found


def test_names_with_pages_are_links_and_others_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(linked_names, "described", {})
    names = [nodes.literal("", name) for name in ("mx.nd.relu", "mx.mod.Module", "mx.no.such_name")]
    page = document(nodes.paragraph("", "", *names))
    linked_names.link(application(linked_names.NAMES), page, linked_names.NAMES)
    links = {link.astext(): link["refuri"] for link in page.findall(nodes.reference)}
    assert links == {"mx.nd.relu": "api/op.relu.html#mx.nd.relu", "mx.mod.Module": "api/mod.Module.html"}
    assert [left.astext() for left in page.findall(nodes.literal)] == ["mx.no.such_name"]


def test_a_title_of_a_difference_leads_to_its_row(monkeypatch):
    monkeypatch.setattr(linked_names, "described", {})
    cell = nodes.entry("", nodes.paragraph("", "", nodes.strong("", "Masks"), nodes.Text(" of axes")))
    row = nodes.row("", cell, nodes.entry("", nodes.paragraph("", "other")))
    linked_names.name_rows(application(linked_names.DIFFERENCES), document(row))
    link = nodes.reference("", "Masks of axes", refuri=f"{linked_names.DIFFERENCES}.html")
    page = document(nodes.bullet_list("", nodes.list_item("", nodes.paragraph("", "", link))))
    linked_names.link(application(linked_names.NAMES), page, linked_names.NAMES)
    assert link["refuri"] == f"{linked_names.DIFFERENCES}.html#{row['ids'][0]}"


def test_every_row_has_an_anchor_of_its_own():
    titles = Differences().titles()
    assert len(titles) > 250
    assert len({linked_names.row_id(title) for title in titles}) == len(titles)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("`nd.array([x, y])`, `nd.stack` raise", {"nd.array", "nd.stack"}),
        ('with `grad_req="add"`, `clip` loses', {"clip"}),
        ("`type(x[1:]) is nd.NDArray`", set()),
        ("`x == y` raises", {"x"}),
    ],
)
def test_a_row_mentions_the_code_in_it(text, names):
    assert mentions(text) == names


@pytest.mark.parametrize(
    ("path", "title", "is_described"),
    [
        ("mxnet.ndarray.ndarray.array", "Lists of arrays", True),
        ("mxnet.gluon.parameter.Parameter.set_data", "Data set during deferred initialization", True),
        ("mxnet.symbol.softmax_cross_entropy", "Labels outside the classes", True),
        # `resize` of an image is no method of arrays
        ("mxnet.initializer.Xavier", "Lists of arrays", False),
        # a section about arrays does not describe a store
        ("mxnet.kvstore.kvstore.KVStore.reshape", "Executors of sparse arrays", False),
    ],
)
def test_a_row_describes_the_names_that_it_mentions(path, title, is_described):
    assert (title in Differences().of(path, print)) == is_described


@pytest.mark.parametrize(
    ("text", "module", "name"),
    [
        ("graph/fuse.py:steps_of", "twofold.graph.fuse", "steps_of"),
        ("backends/twofold_numpy/blocked.py:compile_kernel", "twofold_numpy.blocked", "compile_kernel"),
        ("__init__.py:__getattr__", "twofold", "__getattr__"),
        ("symbol/inference.py", "twofold.symbol.inference", ""),
        ("imperative/window.py:Window.save", "twofold.imperative.window", "Window.save"),
        ("config.py:TABLE", "twofold.config", "TABLE"),
    ],
)
def test_code_on_a_page_is_found_in_the_listings(text, module, name):
    place = linked_sources.place_of(text)
    assert (place.module, place.name) == (module, name)
    code, lines = linked_sources.listing(place.file, place.module)
    if name:
        _, first, last = lines[name]
        assert name.rpartition(".")[2] in "\n".join(code.split("\n")[first - 1 : last])


@pytest.mark.parametrize("text", ["tests/conftest.py", "make docs", "no/such_file.py:name", "examples/fluid.py"])
def test_other_code_is_left_as_it_is(text):
    assert linked_sources.place_of(text) is None


def test_named_code_becomes_a_link():
    page = document(nodes.paragraph("", "", nodes.literal("", "graph/fuse.py:steps_of", ids=["anchor"]), nodes.literal("", "x + y")))
    linked_sources.link(application("inside/passes"), page, "inside/passes")
    (link,) = page.findall(nodes.reference)
    assert link["refuri"] == "_modules/twofold/graph/fuse.html#steps_of"
    # the listing leads back to it
    assert [node["ids"] for node in page.findall(nodes.Element) if node["ids"]] == [["anchor"]]
    assert (ROOT / "src/twofold/graph/fuse.py").exists()

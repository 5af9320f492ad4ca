"""The pages of the API reference: which names have one, and what an operator's page says."""

from __future__ import annotations

from pathlib import Path

import pytest

import twofold as mx
from twofold.opdef.registry import NAMES

from tests.house.sources import ROOT

api_pages = pytest.importorskip("api_pages")


def test_every_public_class_and_function_has_a_page(pages):
    for section in api_pages.SECTIONS:
        for namespace in section.namespaces:
            names = api_pages.public_names(namespace)
            assert names, namespace
            missing = [name for name in names if f"{namespace.name}.{name}" not in pages]
            assert not missing, (namespace.name, missing)


def test_every_operator_has_a_page_that_names_all_its_synonyms(pages):
    for operator in api_pages.operators():
        page = pages[f"op.{operator.dotted}"]
        assert all(f"mx.nd.{name}" in page for name in operator.all_names), operator.dotted


def test_public_names_of_operators_are_on_pages():
    named = {name for operator in api_pages.operators() for name in operator.all_names}
    public = [n for n in NAMES if not n.startswith("_")]
    assert set(public) <= named


def test_an_example_shows_what_the_call_prints(pages):
    assert ">>> mx.nd.relu(data)" in pages["op.relu"]
    assert "<NDArray 3x4 @cpu(0)>" in pages["op.relu"]


def test_stars_outside_of_code_are_text():
    assert api_pages.escaped("sizes d*, ``a*b`` and |x|") == r"sizes d\*, ``a*b`` and \|x\|"


def test_a_class_of_two_namespaces_has_one_description(pages):
    assert ".. autoclass:: HybridBlock" in pages["gluon.HybridBlock"]
    assert "The same class as" in pages["gluon.nn.HybridBlock"]
    assert mx.gluon.nn.HybridBlock is mx.gluon.HybridBlock


def test_the_chart_of_the_landing_page_is_up_to_date():
    landing_chart = pytest.importorskip("landing_chart")
    pytest.importorskip("matplotlib")
    assert landing_chart.main(check=True) == 0, "run python docs/landing_chart.py"
    assert Path(ROOT / "docs/measured.svg").exists()

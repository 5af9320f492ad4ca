"""`make asv-pages`: every stored figure is on a page."""

import json
from html import escape

import pytest

from asv_benchmarks.pages import RESULTS, format_amount, has_history, write_pages


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(1.5, "s", "1.5 s"), (2.5e-3, "s", "2.5 ms"), (3.25e-7, "s", "325 ns"), (583e6, "B", "583 MB")]
)
def test_an_amount_has_three_digits(value, unit, text):
    assert format_amount(value, unit) == text


def test_each_contest_has_a_page_with_every_work_and_way(tmp_path):
    *pages, index = write_pages(RESULTS, tmp_path)
    kept = sorted(RESULTS.glob("peers-*.json"))
    assert [p.stem for p in pages] == [k.stem for k in kept]
    assert pages
    for page, file in zip(pages, kept, strict=True):
        text = page.read_text(encoding="utf-8")
        for item in json.loads(file.read_text(encoding="utf-8"))["items"].values():
            assert escape(item["text"]) in text
            for way, value in item["medians"].items():
                assert f"<td>{escape(way)}</td><td>{format_amount(value, item['unit'])}</td>" in text
        assert f'href="{page.name}"' in index.read_text(encoding="utf-8")


def test_a_history_is_linked_where_asv_keeps_one(tmp_path):
    assert not has_history(tmp_path)
    machine = tmp_path / "asv" / "a machine"
    machine.mkdir(parents=True)
    (machine / "machine.json").write_text("{}")
    assert "history/index.html" in write_pages(tmp_path, tmp_path / "out")[-1].read_text(encoding="utf-8")

"""The table of layers in the documentation is that of the import contract."""

from __future__ import annotations

import pytest

from tools.layers import BEGIN, END, PAGE, file_of, layers, purpose_of, with_table


@pytest.mark.parametrize(
    ("docstring", "purpose"),
    [
        ("``mx.nd``: arrays. More.", "`mx.nd`: arrays"),
        ("Symbols, composed\nby users.\n\nMore.", "Symbols, composed by users"),
        ("One of ``a.b``.", "One of `a.b`"),
    ],
)
def test_the_first_sentence_of_a_docstring_is_taken(docstring: str, purpose: str):
    assert purpose_of(docstring) == purpose


def test_the_rest_of_the_page_is_kept():
    page = with_table(f"before\n{BEGIN}stale\n{END}after\n")
    assert page.startswith(f"before\n{BEGIN}")
    assert page.endswith(f"{END}after\n")
    assert "stale" not in page


def test_every_module_of_the_contract_exists():
    assert [name for line in layers() for name in line if not file_of(name).exists()] == []


def test_the_table_of_layers_is_fresh():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "run `make layers`"

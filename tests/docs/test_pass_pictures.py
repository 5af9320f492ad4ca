"""The pictures in docs/inside/passes.md are up to date with the passes, and the page shows each of them."""

import importlib.util
from pathlib import Path

import pytest

from twofold.config import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"


def loaded():
    spec = importlib.util.spec_from_file_location("pass_pictures", DOCS / "pass_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES = loaded().PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    drawn = (DOCS / "inside" / "passes" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == PICTURES[name](), "rewrite them: python docs/pass_pictures.py"


def test_the_page_shows_every_picture_and_no_other():
    text = (DOCS / "inside" / "passes.md").read_text(encoding="utf-8")
    files = {path.stem for path in (DOCS / "inside" / "passes").glob("*.svg")}
    assert files == set(PICTURES)
    for name in PICTURES:
        assert f"passes/{name}.svg)" in text, name

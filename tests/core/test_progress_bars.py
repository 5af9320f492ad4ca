"""`mx.progress`: the loop's items, and a bar by whichever library is there."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import twofold as mx
from twofold import progress_bars


@pytest.fixture
def drawn(monkeypatch):
    """What a stand-in for tqdm is told; rich is hidden."""
    told: list[tuple[object, ...]] = []

    class Bar:
        def __init__(self, desc: str | None, total: int | None, disable: bool | None) -> None:
            told.append((desc, total, disable))
            self.n = 0

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def update(self, count: int) -> None:
            self.n += count
            told.append((self.n, self.text))

        def close(self) -> None:
            told.append(("closed",))

    module = ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(progress_bars, "find_spec", lambda name: None if name == "rich" else object())
    monkeypatch.setattr(progress_bars, "INTERVAL", 0.0)
    return told


def test_without_a_terminal_a_loop_is_silent(capfd):
    assert list(mx.progress(range(3), "title", loss=1.0)) == [0, 1, 2]
    assert capfd.readouterr() == ("", "")


def test_a_bar_shows_steps_and_metrics(drawn):
    calls = iter((0.123456, 2, "x", "y"))
    bar = mx.progress(iter("ab"), "epoch", 2, loss=lambda: next(calls))
    for letter in bar:
        bar.show(letter=letter)
    assert drawn == [("epoch", 2, None), (1, "loss 0.1235, letter a"), (2, "loss 2, letter b"), (2, "loss x, letter b"), ("closed",)]


def test_a_loop_that_is_left_closes_its_bar(drawn):
    for _ in mx.progress([1, 2, 3]):
        break
    assert drawn == [(None, 3, None), (0, ""), ("closed",)]


def test_steps_are_counted_without_an_iterable(drawn):
    with mx.progress(title="work", total=2) as bar:
        bar.step(loss=mx.nd.array([0.5]))
    assert drawn[1] == (1, "loss 0.5")


def test_rich_draws_on_terminals(monkeypatch, capfd):
    pytest.importorskip("rich")
    monkeypatch.setattr(progress_bars, "_is_seen_by_rich", lambda: True)
    assert list(mx.progress(range(3), "epoch 1", loss=0.25)) == [0, 1, 2]
    out, err = capfd.readouterr()
    assert out == ""
    assert all(part in err for part in ("epoch 1", "3/3", "/s", "loss 0.25"))

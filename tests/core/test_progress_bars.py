"""`mx.progress`: the loop's items, and a bar by whichever library is there."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import subprocess
import sys
from operator import length_hint
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold import progress_bars

from tests.cases import later_in_ci


@pytest.fixture
def drawn(monkeypatch):
    """What a stand-in for tqdm is told; rich is hidden."""
    told: list[tuple[object, ...]] = []

    class Bar:
        def __init__(self, desc: str | None, total: int | None, disable: bool | None, **unit: object) -> None:
            told.append((desc, total, disable))
            self.n, self.disable = 0, desc == "into a file"

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def update(self, count: int) -> None:
            self.n += count
            told.append((self.n, self.text))

        @staticmethod
        def write(text: str, file: io.StringIO, end: str) -> None:
            told.append(("above", text))
            file.write(text + end)

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


def test_metrics_of_a_bar_that_nobody_sees_are_not_read(drawn):
    bar = mx.progress([1, 2], "into a file", loss=lambda: pytest.fail("was read"))
    assert list(bar) == [1, 2]
    assert not bar.is_seen
    assert drawn == [("into a file", 2, None), ("closed",)]


def test_an_error_in_a_loop_is_not_replaced_by_one_of_a_metric(drawn):
    def loss() -> float:
        raise ZeroDivisionError

    with pytest.raises(ValueError, match="the loop's"), mx.progress([1], loss=loss):
        raise ValueError("the loop's")
    assert drawn == [(None, 1, None), ("closed",)]


def test_steps_are_counted_without_an_iterable(drawn):
    with mx.progress(title="work", total=2) as bar:
        bar.step(loss=mx.nd.array([0.5]))
    assert drawn[1] == (1, "loss 0.5")


def test_rich_draws_on_terminals(monkeypatch, capfd):
    pytest.importorskip("rich")
    monkeypatch.setattr(progress_bars, "is_shown_by_rich", lambda stream: True)
    assert list(mx.progress(range(3), "epoch 1", loss=0.25)) == [0, 1, 2]
    out, err = capfd.readouterr()
    assert out == ""
    assert all(part in err for part in ("epoch 1", "3/3", "/s", "loss 0.25"))


def test_steps_may_count_several_things_and_the_total_may_grow(drawn):
    with progress_bars.Progress((), "file", 4, unit=progress_bars.BYTES) as bar:
        bar.step(3)
        bar.total = 5
        bar.step(2)
    assert [told[0] for told in drawn[1:-1]] == [3, 5, 5]
    assert bar.done == 5


def test_with_a_delay_short_work_draws_nothing(drawn):
    with progress_bars.Progress((), "work", 2, delay=60.0) as bar:
        bar.step()
    assert drawn == []
    assert bar.done == 1


def test_after_the_delay_the_bar_appears_with_what_is_done(drawn):
    with progress_bars.Progress((), "work", 2, delay=1e-9) as bar:
        bar.step()
        bar.step()
    assert [told[0] for told in drawn] == ["work", 1, 2, 2, "closed"]


def test_the_setting_turns_bars_off(drawn, monkeypatch):
    monkeypatch.setattr(mx.config.SETTINGS, "progress", False)
    assert list(mx.progress(range(3))) == [0, 1, 2]
    assert drawn == []


def test_an_epoch_shows_the_metric_of_now(drawn):
    metric = mx.metric.Accuracy()
    with progress_bars.Epoch("epoch 0", 1, metric.get_global_name_value) as bar:
        metric.update([mx.nd.array([1])], [mx.nd.array([[0, 1]])])
        bar.step()
    assert drawn[1] == (1, "accuracy 1")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_records_go_above_the_bar_and_handlers_get_their_streams_back(drawn):
    screen, logger = _Terminal(), logging.Logger("of this test")
    handler = logging.StreamHandler(screen)
    logger.addHandler(handler)
    with progress_bars.Epoch("epoch 0", 1, list, logger) as bar:
        logger.warning("Epoch[%d]", 0)
        bar.step()
    logger.warning("after")
    assert drawn[1] == ("above", "Epoch[0]\n")
    assert screen.getvalue() == "Epoch[0]\nafter\n"
    assert handler.stream is screen


def test_in_a_forked_child_records_pass_the_bar(drawn):
    screen, logger = _Terminal(), logging.Logger("of this test")
    logger.addHandler(logging.StreamHandler(screen))
    read, write = os.pipe()
    with progress_bars.Epoch("epoch 0", 1, list, logger):
        child = os.fork()
        if child == 0:
            logger.warning("from the child")
            os.write(write, f"{len(drawn)} {list(mx.progress(range(2)))} {screen.getvalue()}".encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 100) == b"1 [0, 1] from the child\n"


FIT = """
import logging
logging.basicConfig(level=logging.INFO)
import twofold as mx
data = mx.io.NDArrayIter(mx.nd.ones((6, 2)), mx.nd.zeros(6), 2)
out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
mx.mod.Module(out).fit(data, num_epoch=2)
"""
ESTIMATOR = """
import twofold as mx
from twofold.gluon.contrib.estimator import Estimator
net = mx.gluon.nn.Dense(2)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((6, 2)), mx.nd.zeros(6)), batch_size=2)
Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, context=mx.cpu()).fit(data, epochs=2)
"""
#: What a program draws with: colours, and moves of the cursor.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]+")


def _on_terminal(program: str) -> list[str]:
    """The lines that a program writes to a terminal, each drawing of a bar as one."""
    ours, theirs = os.openpty()
    command = subprocess.Popen([sys.executable, "-c", program], stdout=theirs, stderr=theirs, env={**os.environ, "COLUMNS": "120"})
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how a terminal ends on Linux
        while data := os.read(ours, 4096):
            written += data
    os.close(ours)
    assert command.wait() == 0, written.decode()
    return [line.strip() for line in CONTROL.split(written.decode()) if line.strip()]


@pytest.mark.parametrize(
    ("program", "line", "metric"),
    later_in_ci([(FIT, "INFO:root:Epoch[1] Train-accuracy=", "accuracy"), (ESTIMATOR, "[Epoch 1] ", "loss")]),
)
def test_training_on_a_terminal_draws_a_bar_for_each_epoch_between_its_lines(program, line, metric):
    pytest.importorskip("rich")
    lines = " ".join(_on_terminal(program))
    assert line in lines
    for epoch in ("epoch 0", "epoch 1"):
        assert epoch in lines
    assert "3/3" in lines
    assert metric in lines.split("3/3")[-1]


def test_training_without_a_terminal_writes_log_lines_only():
    found = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert found.stdout == ""
    lines = [re.sub("=.*", "", line) for line in found.stderr.splitlines()]
    assert lines == [f"INFO:root:Epoch[{k}] {what}" for k in (0, 1) for what in ("Train-accuracy", "Time cost")]


@pytest.mark.parametrize(("last_batch_handle", "batches"), [("pad", 3), ("discard", 2)])
def test_iterators_over_arrays_know_how_many_batches_there_are(last_batch_handle, batches):
    data = mx.io.NDArrayIter(np.zeros((5, 2)), batch_size=2, last_batch_handle=last_batch_handle)
    assert length_hint(data) == len(list(data)) == batches


@pytest.mark.parametrize(("widgets", "shown"), [(False, True), (True, False)])
def test_a_notebook_without_widgets_gets_a_bar_of_text(widgets, shown, monkeypatch, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(progress_bars, "find_spec", lambda name: object() if widgets or name != "ipywidgets" else None)
    monkeypatch.setattr(progress_bars, "is_shown_by_rich", lambda stream: False)
    assert list(mx.progress([1, 2, 3], "epoch")) == [1, 2, 3]
    assert ("epoch: 100%" in capsys.readouterr().err) == shown

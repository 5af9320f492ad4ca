"""The benchmark of what feeds training: its files, the tasks that run here, and the ratios that it prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import twofold as mx
from asv_benchmarks import feeding

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("PIL.Image")
pytest.importorskip("simplejpeg")


@pytest.mark.ci
def test_every_task_does_what_the_files_hold(tmp_path: Path) -> None:
    feeding.write_files(tmp_path, 3, 1000)
    tasks = feeding.mxnet_tasks(mx, str(tmp_path)) | feeding.decoding_tasks("simplejpeg", str(tmp_path))
    assert set(tasks) == set(feeding.TASKS)
    done = {name: tasks[name]() for name in tasks if not name.startswith("batches")}
    assert {name: done[name] for name in done if name.startswith("decoding")} == {f"decoding {name}": 3 for name in feeding.SIZES}
    assert done["images 500x375"] == feeding.BATCH  # three images, padded to a batch
    assert done["records"] == 30
    assert done["CSV"] == done["LibSVM"] == 2


def test_a_contestant_that_is_missing_is_named_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert feeding.is_there("MXNet", sys.executable, "numpy")
    assert not feeding.is_there("MXNet", "/no/such/python", "mxnet")
    assert not feeding.is_there("torch", sys.executable, "no_such_module")
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("'/no/such/python'. TWOFOLD_ORACLE names a Python with MXNet 1.9.1")
    assert "No module named 'no_such_module'. `make .venv-torch/torchvision` installs it" in second


def test_ratios_are_how_many_times_as_fast_twofold_is() -> None:
    figures = {
        "images 256x256": {"twofold": [50.0, 40.0], "MXNet": [75.0, 80.0], "torch": [100.0, 40.0]},
        "decoding 256x256": {"twofold": [40.0, 36.0]},
        "CSV": {"twofold": [10.0, 10.0]},
    }
    assert feeding.ratios(figures) == {
        "images 256x256: MXNet": 1.5,
        "images 256x256: torch": 2.0,
        "images 256x256: decoding alone (twofold)": 0.8,
    }
    assert feeding.ratios(figures, 1)["images 256x256: decoding alone (twofold)"] == 0.9

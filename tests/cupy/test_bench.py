"""`make bench-gpu`: everything that simulated GPUs support runs, in the same processes; the rest is reported as unsupported."""

import json
import stat
import sys
from pathlib import Path

import pytest

from asv_benchmarks.gpu import __main__ as command
from asv_benchmarks.gpu import plot, report
from asv_benchmarks.gpu.items import FULL, SMOKE, items, nbytes
from asv_benchmarks.gpu.table import OWN, WITH_CUDNN, WITHOUT_GRAPHS, libraries
from asv_benchmarks.gpu.targets import COPY, bandwidth, targets, verdicts
from asv_benchmarks.peers import process
from asv_benchmarks.peers.table import ROOT

from tests.cupy.conftest import SIMULATION
from tests.fakes.simulation import cache_folder

MODULE = "tests.cupy.simulated_worker"


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Make workers run on simulated GPUs if there are no others; earlier compilations are reused."""
    interpreter = Path(sys.executable)
    if SIMULATION is not None:
        interpreter = tmp_path / "python"
        cache = f"XDG_CACHE_HOME={cache_folder().parents[1]}"
        interpreter.write_text(f'#!/bin/sh\n{cache} exec {sys.executable} -m {MODULE} "$@"\n', encoding="utf-8")
        interpreter.chmod(interpreter.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(command, "libraries", lambda: libraries(interpreter))


def run(tmp_path, *arguments):
    figures, picture = tmp_path / "figures.json", tmp_path / "figures.svg"
    status = command.main(["--smoke", "--json", str(figures), "--plot", str(picture), *arguments])
    assert picture.stat().st_size > 1000
    return status, json.loads(figures.read_text())


@pytest.mark.ci
@pytest.mark.usefixtures("workers")
def test_a_group_of_items_is_measured(tmp_path, capsys):
    status, record = run(tmp_path, "--only", "overhead")
    out = capsys.readouterr().out
    assert status == 0
    assert {f"{OWN} nd", f"{OWN} nd, each issued alone", "cupy plain"} <= set(record["items"]["add"]["medians"])
    assert {v["verdict"] for v in record["verdicts"] if "host" not in v["work"]} == {"not measured"}
    assert {"name", "driver supports CUDA", "CUDA runtime", "cupy", "numpy"} <= set(record["device"])
    assert "torch" in record["libraries"] or f"{'torch':<24} skipped: " in out
    assert str(ROOT) not in json.dumps(record["libraries"])


@pytest.mark.slow  # one process for each mode whose launches are counted
@pytest.mark.usefixtures("workers")
def test_launches_are_counted(tmp_path, capsys):
    status, record = run(tmp_path, "--only", "launches")
    capsys.readouterr()
    assert (status, {v["verdict"] for v in record["verdicts"] if v["verdict"] != "not measured"}) == (0, {"met"})
    medians = record["items"]["launches of mlp"]["medians"]
    assert medians[f"{OWN} hybridized"] == 1
    assert SIMULATION is None or medians[f"{WITHOUT_GRAPHS} hybridized"] == 12, "as the simulation counts in test_horizontal_fusion"


@pytest.mark.slow  # g++ takes long for CuPy's own sources, with its headers
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("workers")
def test_every_supported_benchmark_runs(tmp_path, capsys, monkeypatch):
    """On simulated GPUs everything except CuPy's matrix products and cuDNN, whose libraries are not simulated."""
    monkeypatch.setattr(process, "PATIENCE", 1500)
    status, record = run(tmp_path)
    capsys.readouterr()
    assert status == 0
    assert {name for name, item in record["items"].items() if not any(way.startswith(OWN) for way in item["medians"])} == set()
    if SIMULATION is not None:
        left_out = {f"{name}: {way}" for name, item in record["items"].items() for way in item["left out"]}
        assert left_out == {"matmul_float32: cupy plain", "matmul_float16: cupy plain"}
        assert "nvidia-cudnn-frontend" in record["absent"][WITH_CUDNN]


def test_without_a_gpu_the_benchmark_says_so(monkeypatch, capsys):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(command, "libraries", lambda: [one for one in libraries() if one.name == OWN])
    assert command.main([]) == 1
    assert "no usable GPU" in capsys.readouterr().err


MEDIANS = {
    "copy": {"cupy copy": 1e-3, "torch eager": 2e-3, f"{OWN} nd": 1e-4},
    "gelu": {f"{OWN} nd": 1.1e-3},
    "softmax": {f"{OWN} nd": 2e-3},
    "lenet": {f"{OWN} hybridized": 100e-6, "torch eager": 250e-6},
    "add": {f"{OWN} nd": 5e-6, f"{OWN} nd, each issued alone": 7e-6},
    "launches of mlp": {f"{OWN} hybridized": 1, f"{WITHOUT_GRAPHS} hybridized": 13},
}


def test_the_copy_rate_is_that_of_the_fastest_library():
    assert bandwidth(MEDIANS, FULL) == 2 * 4 * FULL.chain / 1e-3
    assert bandwidth({"copy": {f"{OWN} nd": 1.0}}, FULL) is None


def test_targets_are_met_or_missed():
    found = {}
    for verdict in verdicts(MEDIANS, {"torch": "not here", "gelu: torch eager": "out of memory"}, FULL):
        found.setdefault(verdict.target.item, []).append((verdict.word, verdict.value))
    assert found["gelu"] == [("met", pytest.approx(1 / 1.1))]
    assert found["softmax"] == [("missed", pytest.approx(0.5))]
    assert [word for word, _ in found["lenet"]] == ["met", "missed", "not measured", "not measured"]
    assert [word for word, _ in found["add"]] == ["met", "missed"]
    assert [word for word, _ in found["launches of mlp"]] == ["missed", "met"]
    assert found["clip"] == [("not measured", None)]


def test_without_a_copy_rate_no_shares_are_reported():
    (verdict,) = [v for v in verdicts({"gelu": {f"{OWN} nd": 1.0}}, {}, FULL) if v.target.item == "gelu"]
    assert (verdict.word, verdict.reason) == ("not measured", f"{COPY}: no copy was measured")


def test_every_target_names_an_item_and_a_library():
    known, names = {item.key: item for item in items(FULL)}, {library.name for library in libraries()}
    for target in targets():
        assert target.item in known
        for way in (target.own, *target.peers):
            library = max((name for name in names if way.startswith(f"{name} ")), key=len, default=None)
            assert way == COPY or library in known[target.item].only, way


def test_memory_bound_items_report_bytes():
    moved = {item.key: nbytes(item) for item in items(FULL)}
    assert moved["black_scholes"] == 4 * 4 * FULL.chain
    assert moved["matmul_float32"] == moved["lenet"] == moved["launches of gelu"] == 0


def test_the_file_name_contains_the_device():
    assert report.file_name({"name": "NVIDIA H200 (SXM)"}) == "gpu-NVIDIA-H200-SXM.json"


def test_the_picture_shows_shares_and_ratios():
    item = {"text": "gelu", "unit": "s", "size": 1000, "medians": {"torch eager": 2.0, f"{OWN} nd": 1.0}}
    record = {"copy, bytes in a second": 16000, "items": {"gelu": item, "launches of gelu": {**item, "unit": "launches"}}}
    assert plot.panels(record) == {"gelu": {"torch eager": 0.5, f"{OWN} nd": 1.0}}
    assert plot.shares(record) == {"gelu": 0.5}


def test_the_smoke_run_has_every_item():
    assert [item.key for item in items(SMOKE)] == [item.key for item in items(FULL)]

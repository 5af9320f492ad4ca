"""`make bench-gpu` runs; what it measures is measured on a GPU alone."""

import json

import pytest

from asv_benchmarks import gpu


@pytest.mark.slow  # CuPy's own texts, with its headers, take g++ long
def test_the_benchmark_runs_on_small_arrays(gpus, tmp_path, capsys):
    figures = tmp_path / "figures.json"
    assert gpu.main(["--smoke", "--json", str(figures)]) == 0
    names = [row["name"] for row in json.loads(figures.read_text())["rows"]]
    assert names == ["chain", "softmax", "matmul", "LeNet step"]
    assert "twofold" not in capsys.readouterr().out.split("\n")[0], "our own time stands first, without a name"


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(gpu.mx, "num_gpus", lambda: 0)
    assert gpu.main([]) == 1
    assert "no GPU that can be used" in capsys.readouterr().err

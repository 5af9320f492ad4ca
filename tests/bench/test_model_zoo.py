"""The page of the model zoo's networks: its tables and their medians, also of networks that a library could not run."""

import json

from asv_benchmarks import model_zoo
from asv_benchmarks.model_zoo import NETWORKS, page, table


def row(name, batch, threads=1, **cpu):
    return {"name": name, "batch": batch, "threads": threads, "date": "2026-01-02", "load": 2.5, "failed": {}} | {
        library: {"cpu": ms, "wall": 2 * ms} | ({} if library == "twofold" else {"difference": 1e-6}) for library, ms in cpu.items()
    }


ROWS = [
    row("vgg11", 1, twofold=90.0, mxnet=60.0, onnxruntime=30.0),
    row("alexnet", 1, twofold=10.0, mxnet=20.0, onnxruntime=20.0),
    row("squeezenet1_0", 1, twofold=10.0, onnxruntime=10.0),
    row("alexnet", 8, twofold=80.0, mxnet=100.0, onnxruntime=50.0),
    row("alexnet", 1, 2, twofold=7.0, mxnet=14.0, onnxruntime=14.0),
]


def test_a_table_has_its_networks_and_the_median_ratios():
    lines = table(ROWS[:3], "cpu")[2:]
    assert [line.split(" | ")[0][2:] for line in lines] == ["alexnet", "squeezenet1_0", "vgg11", "*median*"]
    assert lines[0] == "| alexnet | 10.0 | 20.0 | 20.0 | 0.50 | 0.50 |"
    assert lines[1] == "| squeezenet1_0 | 10.0 |  | 10.0 |  | 1.00 |"
    assert lines[-1] == "| *median* | | | | 1.00 | 1.00 |"


def test_with_several_threads_wall_time_is_compared():
    parts = page(ROWS, {"Twofold": "1"}).split("## ")
    assert [part.partition("\n")[0] for part in parts[1:]] == ["One image", "8 images", "One image, 2 threads"]
    assert "| alexnet | 10.0 |" in parts[1]
    assert "2026-01-02, CPU time" in parts[1]
    assert "| alexnet | 80.0 |" in parts[2]
    assert "| alexnet | 14.0 |" in parts[3]
    assert "wall time; the load, to which these processes add 2," in parts[3]


def test_figures_of_another_number_of_threads_are_kept(tmp_path, monkeypatch):
    file = tmp_path / "figures.json"
    file.write_text(json.dumps(ROWS[:1]))
    monkeypatch.setattr(model_zoo, "measure", lambda workers, name, batch, threads, folder: row(name, batch, threads, twofold=1.0))
    for threads in (2, 2):
        rows = model_zoo.measured([], ["vgg11"], [1], threads, file)
    assert rows == json.loads(file.read_text()) == [ROWS[0], row("vgg11", 1, 2, twofold=1.0)]


def test_every_network_of_the_model_zoo_is_measured():
    import twofold as mx

    assert len(set(NETWORKS)) == 34
    assert all(callable(getattr(mx.gluon.model_zoo.vision, name)) for name in NETWORKS)

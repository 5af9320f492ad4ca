"""The page of the model zoo's networks: its tables and their medians, also of networks that a library could not run."""

from asv_benchmarks.model_zoo import NETWORKS, page, table


def row(name, batch, **cpu):
    return {"name": name, "batch": batch, "load": 2.5, "failed": {}} | {
        library: {"cpu": ms, "wall": 2 * ms} | ({} if library == "twofold" else {"difference": 1e-6}) for library, ms in cpu.items()
    }


ROWS = [
    row("vgg11", 1, twofold=90.0, mxnet=60.0, onnxruntime=30.0),
    row("alexnet", 1, twofold=10.0, mxnet=20.0, onnxruntime=20.0),
    row("squeezenet1_0", 1, twofold=10.0, onnxruntime=10.0),
    row("alexnet", 8, twofold=80.0, mxnet=100.0, onnxruntime=50.0),
]


def test_a_table_has_the_networks_of_a_batch_size_and_the_median_ratios():
    lines = table(ROWS, 1, "cpu")[2:]
    assert [line.split(" | ")[0][2:] for line in lines] == ["alexnet", "squeezenet1_0", "vgg11", "*median*"]
    assert lines[0] == "| alexnet | 10.0 | 20.0 | 20.0 | 0.50 | 0.50 |"
    assert lines[1] == "| squeezenet1_0 | 10.0 |  | 10.0 |  | 1.00 |"
    assert lines[-1] == "| *median* | | | | 1.00 | 1.00 |"


def test_with_several_threads_wall_time_is_compared():
    assert "| alexnet | 20.0 |" in page(ROWS, 2, {"Twofold": "1"})
    assert "Milliseconds of wall time" in page(ROWS, 2, {})
    assert "| alexnet | 80.0 |" in page(ROWS, 1, {})


def test_every_network_of_the_model_zoo_is_measured():
    import twofold as mx

    assert len(set(NETWORKS)) == 34
    assert all(callable(getattr(mx.gluon.model_zoo.vision, name)) for name in NETWORKS)

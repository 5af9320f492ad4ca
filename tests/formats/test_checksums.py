"""Checkpoints write a checksum beside each file of numbers, and whoever loads a file that has changed is told."""

import hashlib
import subprocess
import warnings

import numpy as np
import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.command import main
from twofold.gluon.contrib.estimator import CheckpointHandler, Estimator


@pytest.fixture
def saved(tmp_path):
    """A file of parameters that a checkpoint has written."""
    mx.model.save_checkpoint(tmp_path / "net", 1, None, {"w": nd.array([1.0, 2.0, 3.0])}, {})
    return tmp_path / "net-0001.params"


def change(path):
    """Another number in an array, which the format cannot notice."""
    content = path.read_bytes()
    at = content.index(np.float32(2.0).tobytes())
    path.write_bytes(content[:at] + np.float32(5.0).tobytes() + content[at + 4 :])


def test_the_checksum_is_that_of_sha256sum(saved):
    note = saved.with_name(".net-0001.params.sha256")
    assert note.read_text() == f"{hashlib.sha256(saved.read_bytes()).hexdigest()}  net-0001.params\n"
    subprocess.run(["sha256sum", "--check", "--strict", note.name], cwd=saved.parent, check=True, capture_output=True)


def test_verify_says_that_a_file_is_the_one_that_was_written(saved, capsys):
    assert main(["show", str(saved), "--verify"]) == 0
    assert capsys.readouterr().out == f"{saved}: the file that was written (SHA-256 {hashlib.sha256(saved.read_bytes()).hexdigest()})\n"


def test_verify_finds_a_changed_number(saved, capsys):
    change(saved)
    assert main(["show", str(saved), "--verify"]) != 0
    found = capsys.readouterr()
    assert "this is not the file that was written" in found.err
    assert found.out == ""


def test_verify_needs_a_checksum(saved, capsys):
    saved.with_name(".net-0001.params.sha256").unlink()
    assert main(["show", str(saved), "--verify"]) != 0
    assert "has no checksum" in capsys.readouterr().err


def test_verify_shows_no_contents(saved):
    with pytest.raises(SystemExit, match="2"):
        main(["show", str(saved), "--verify", "--json"])


def test_a_checkpoint_that_has_changed_is_loaded_with_a_warning(saved):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.model.load_params(saved.parent / "net", 1)
    change(saved)
    with pytest.warns(UserWarning, match="not the file that was written"):
        arrays, _ = mx.model.load_params(saved.parent / "net", 1)
    assert arrays["w"].asnumpy().tolist() == [1.0, 5.0, 3.0]


def test_a_save_that_fails_leaves_no_checksum_of_another_file(saved):
    with pytest.raises(mx.errors.MXNetError):
        mx.model.save_checkpoint(saved.parent / "net", 1, None, {"w": 5}, {})
    assert saved.exists()
    assert not saved.with_name(".net-0001.params.sha256").exists()


def test_a_module_checks_the_states_of_its_optimizer(tmp_path):
    output = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), mx.sym.var("label"))
    batches = mx.io.NDArrayIter(np.ones((4, 3), "f"), np.ones((4, 1), "f"), 2, label_name="label")

    def optimized(module):
        module.bind(batches.provide_data, batches.provide_label)
        if not module.params_initialized:
            module.init_params()
        module.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9})
        return module

    optimized(mx.mod.Module(output, label_names=["label"])).save_checkpoint(tmp_path / "net", 1, True)
    again = mx.mod.Module.load(tmp_path / "net", 1, True, label_names=["label"])
    (tmp_path / ".net-0001.states.sha256").write_text(f"{'0' * 64}  net-0001.states\n")
    with pytest.warns(UserWarning, match=r"net-0001\.states: .*not the file that was written"):
        optimized(again)


def test_a_resumed_estimator_says_if_a_file_has_changed(tmp_path):
    def fit(epochs):
        net = gluon.nn.Dense(1, in_units=2)
        net.initialize()
        estimator = Estimator(net, gluon.loss.L2Loss(), trainer=gluon.Trainer(net.collect_params(), "adam"))
        data = gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 2)), nd.ones((4, 1))), 2)
        estimator.fit(data, epochs=epochs, event_handlers=[CheckpointHandler(tmp_path, max_checkpoints=1, resume_from_checkpoint=True)])

    fit(2)
    kept = sorted(path.name for path in tmp_path.iterdir() if "epoch" in path.name)
    names = [f"model-epoch1batch3.{end}" for end in ("params", "states")]
    assert kept == [*[f".{name}.sha256" for name in names], *names]
    (tmp_path / ".model-epoch1batch3.params.sha256").write_text("nothing\n")
    with pytest.warns(UserWarning, match="not the file that was written"):
        fit(3)


def test_a_file_at_a_url_has_no_checksum(capsys):
    pytest.importorskip("fsspec")
    mx.model.save_checkpoint("memory://checksums/net", 1, None, {"w": nd.ones(2)}, {})
    assert mx.model.load_params("memory://checksums/net", 1)[0]["w"].shape == (2,)
    assert main(["show", "memory://checksums/net-0001.params", "--verify"]) != 0
    assert "has no checksum" in capsys.readouterr().err

"""`Estimator`: warnings, logs and batches of another form; results and files are those of test_programs.py."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import twofold as mx
from twofold.errors import InvalidValue, ParameterError
from twofold.gluon import loss, nn
from twofold.gluon.contrib.estimator import BatchProcessor, CheckpointHandler, EarlyStoppingHandler, Estimator

if TYPE_CHECKING:
    from pathlib import Path


def loader(batch_size: int = 4) -> mx.gluon.data.DataLoader:
    data = mx.gluon.data.ArrayDataset(mx.nd.random.uniform(shape=(8, 3)), mx.nd.arange(8) % 2)
    return mx.gluon.data.DataLoader(data, batch_size=batch_size)


def made(**options) -> Estimator:
    net = nn.Dense(2)
    net.initialize(ctx=mx.cpu())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = Estimator(net, loss.SoftmaxCrossEntropyLoss(), trainer=trainer, context=mx.cpu(), **options)
    found.logger.setLevel("ERROR")
    return found


def test_the_log_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    estimator = made()
    estimator.logger.setLevel("INFO")
    estimator.fit(loader(), epochs=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Training begin: using optimizer SGD with current learning rate 0.1000 ", "Train for 1 epochs."]
    assert lines[-1].startswith("Train finished using total 0s with 1 epochs. training accuracy: ")


@pytest.mark.filterwarnings("ignore:No trainer specified")
def test_a_network_is_initialized_where_it_is_not() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3), nn.Dense(2, in_units=2))
    net[0].initialize(mx.init.One(), ctx=mx.cpu())
    with pytest.warns(UserWarning, match="already initialized"):
        Estimator(net, loss.L2Loss(), initializer=mx.init.Zero(), context=mx.cpu())
    assert [p.data().sum().asscalar() for p in net.collect_params(".*weight").values()] == [6, 0]
    with pytest.warns(UserWarning, match="skipping initialization"):
        Estimator(net, loss.L2Loss(), initializer=mx.init.Zero(), context=mx.cpu())


def test_without_a_trainer_there_is_a_default_one() -> None:
    with pytest.warns(UserWarning, match="default SGD optimizer with learning rate 0.001"):
        estimator = Estimator(nn.Dense(2), loss.L2Loss(), context=mx.cpu())
    assert estimator.trainer.learning_rate == 0.001


def test_a_batch_processor_takes_batches_of_another_form() -> None:
    class Autoencoder(BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            return super().fit_batch(estimator, [train_batch, train_batch], batch_axis)

    net = nn.Dense(3)
    net.initialize(ctx=mx.cpu())
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    estimator = Estimator(net, loss.L2Loss(), trainer=trainer, context=mx.cpu(), batch_processor=Autoencoder())
    estimator.logger.setLevel("ERROR")
    estimator.fit(mx.gluon.data.DataLoader(mx.nd.random.uniform(shape=(8, 3)), batch_size=4), epochs=30)
    assert estimator.train_metrics[0].get()[1] < 0.02


def test_metrics_that_are_not_updated_stop_nothing(tmp_path: Path) -> None:
    estimator = made()
    other = mx.metric.Accuracy()
    handlers = [
        EarlyStoppingHandler(other, mode="max"),
        CheckpointHandler(tmp_path, monitor=other, save_best=True, mode="max"),
    ]
    with pytest.warns(RuntimeWarning, match="accuracy is not updated"):
        estimator.fit(loader(), epochs=2, event_handlers=handlers)
    assert handlers[0].current_epoch == 2
    assert not (tmp_path / "model-best.params").exists()


def test_the_automatic_mode_warns_that_larger_is_better() -> None:
    with pytest.warns(UserWarning, match="`greater` operator will be used to determine if mse has improved"):
        handler = EarlyStoppingHandler(mx.metric.MSE())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explicit = EarlyStoppingHandler(mx.metric.MSE(), mode="max")
    assert handler.monitor_op is explicit.monitor_op
    with pytest.warns() as record:
        EarlyStoppingHandler(mx.metric.MSE(), mode="best")
    assert "mode 'best' is unknown" in str(record[0].message)


def test_resuming_takes_one_kind_of_period(tmp_path: Path) -> None:
    handler = CheckpointHandler(tmp_path, batch_period=2, resume_from_checkpoint=True)
    with pytest.raises(InvalidValue, match="set batch_period to None"):
        made().fit(loader(), epochs=1, event_handlers=handler)


def test_devices_must_exist() -> None:
    with pytest.raises(InvalidValue, match=r"gpu\(77\) is not available"):
        Estimator(nn.Dense(2), loss.L2Loss(), context=mx.gpu(77))
    with pytest.raises(ParameterError, match="context must be a Context"):
        Estimator(nn.Dense(2), loss.L2Loss(), context=[mx.cpu(), "x"])


@pytest.mark.parametrize("verbose", [0, 1])
def test_checkpoints_say_what_they_save(tmp_path: Path, capsys: pytest.CaptureFixture[str], verbose: int) -> None:
    estimator = made()
    estimator.logger.setLevel("INFO")
    estimator.fit(loader(), epochs=1, event_handlers=CheckpointHandler(tmp_path, verbose=verbose))
    said = "[Epoch 0] CheckpointHandler: trained total 2 batches, saving model at" in capsys.readouterr().out
    assert said == bool(verbose)


def test_files_of_similar_names_are_no_checkpoints(tmp_path):
    handler = CheckpointHandler(tmp_path, resume_from_checkpoint=True)
    for name in (
        "model-epoch007batch1.params",
        "model-epoch\u0669batch1.params",
        "model-epoch9batch01.params",
        "model-epoch3batch20.params",
    ):
        (tmp_path / name).touch()
    assert handler._last() == (3, 20)


@pytest.mark.parametrize("unfinished", ["params", "states"])
def test_a_checkpoint_that_was_not_finished_is_passed_over(tmp_path: Path, unfinished: str) -> None:
    stopped = made()
    owner, method = (stopped.net, "save_parameters") if unfinished == "params" else (stopped.trainer, "save_states")
    write = getattr(owner, method)

    def write_the_first(file: str) -> None:
        if "epoch1" in file:
            raise KeyboardInterrupt
        write(file)

    setattr(owner, method, write_the_first)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(loader(), epochs=3, event_handlers=CheckpointHandler(tmp_path))
    handler = CheckpointHandler(tmp_path, resume_from_checkpoint=True)
    made().fit(loader(), epochs=3, event_handlers=handler)
    assert (handler.trained_epoch, handler.current_epoch) == (0, 2)
    assert {path.stem for path in tmp_path.glob("model-*.params")} == {path.stem for path in tmp_path.glob("model-*.states")}

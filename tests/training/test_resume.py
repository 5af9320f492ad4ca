"""A run that is cut, also within an epoch, and resumed from files is bitwise the uninterrupted one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, ParameterError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.random.RandomState(0).rand(22, 3).astype("float32")
LABELS = np.arange(22) % 2
STEPS, CUT, PER_EPOCH = 13, 8, 6  # 22 rows in batches of 4: the cut is within the second epoch

#: Every optimizer that updates weights in its own way, and what it is created with.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9, "wd": 0.01},
    "ccsgd": {"momentum": 0.9},
    "nag": {"momentum": 0.9},
    "signum": {"momentum": 0.9},
    "sgld": {},
    "dcasgd": {"momentum": 0.9},
    "adam": {},
    "adafactor": {},
    "adamax": {},
    "adamw": {},
    "lion": {},
    "muon": {},
    "radam": {},
    "nadam": {},
    "ftml": {},
    "ftrl": {},
    "adagrad": {},
    "adadelta": {},
    "rmsprop": {"centered": True},
    "lars": {"momentum": 0.9, "momentum_correction": True},
    "lamb": {},
    "lbsgd": {"momentum": 0.9, "batch_scale": 3, "updates_per_epoch": 3},
    "test": {},
}
SCHEDULES: dict[str, Callable[[], Any]] = {
    "factor": lambda: mx.lr_scheduler.FactorScheduler(3, 0.7, warmup_steps=2, base_lr=0.1),
    "steps": lambda: mx.lr_scheduler.MultiFactorScheduler([2, 5, 9], 0.5, base_lr=0.1),
    "poly": lambda: mx.lr_scheduler.PolyScheduler(20, base_lr=0.1),
    "cosine": lambda: mx.lr_scheduler.CosineScheduler(20, base_lr=0.1, warmup_steps=3),
}


def iterator(kind: str = "shuffled") -> Any:
    plain = mx.io.NDArrayIter(
        ROWS, LABELS, 4, shuffle=kind != "in order", last_batch_handle="roll_over" if kind == "rolled over" else "pad"
    )
    wrap = {"resized": lambda it: mx.io.ResizeIter(it, PER_EPOCH), "prefetched": mx.io.PrefetchingIter}
    return wrap[kind](plain) if kind in wrap else plain


class Run:
    """A training run: an iterator and a model, which take steps together."""

    def __init__(self, model: Any, batches: Any) -> None:
        self.model, self.batches = model, batches

    def steps(self, count: int) -> None:
        for _ in range(count):
            try:
                batch = self.batches.next()
            except StopIteration:
                self.batches.reset()
                batch = self.batches.next()
            self.model.step(batch)

    def save(self, folder: Path) -> None:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002  NDArrayIter shuffles with it
        state = {"batches": self.batches.state_dict(), "random": mx.random.get_state(), "numpy": [kind, keys.tolist(), *rest]}
        (folder / "run.json").write_text(json.dumps(state))
        self.model.save(folder)

    def load(self, folder: Path) -> None:
        state = json.loads((folder / "run.json").read_text())
        self.model.load(folder)
        self.batches.load_state_dict(state["batches"])
        mx.random.set_state(state["random"])
        np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002


class ModuleModel:
    """A `Module` with dropout and normalization."""

    has_only_matrices = on_store = False
    dtype = "float32"

    def __init__(self, optimizer: str, options: dict[str, Any], contexts: Any = None, kvstore: Any = "local") -> None:
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, no_bias=self.has_only_matrices, name="a")
        net = net if self.has_only_matrices else mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
        net = mx.sym.FullyConnected(mx.sym.Dropout(mx.sym.relu(net), p=0.4), num_hidden=2, no_bias=self.has_only_matrices, name="b")
        net = mx.sym.SoftmaxOutput(net, name="softmax")
        self.module = mx.mod.Module(net, context=contexts or mx.cpu())
        self.module.bind([mx.io.DataDesc("data", (4, 3), self.dtype)], [mx.io.DataDesc("softmax_label", (4,), self.dtype)])
        self.module.init_params(mx.init.Uniform(0.5))
        self.module.init_optimizer(kvstore, optimizer, {"learning_rate": 0.1, **options})

    def step(self, batch: Any) -> None:
        self.module.forward_backward(mx.io.DataBatch([batch.data[0].astype(self.dtype)], [batch.label[0].astype(self.dtype)]))
        self.module.update()

    def save(self, folder: Path) -> None:
        self.module.save_checkpoint(str(folder / "model"), 1, save_optimizer_states=True)

    def load(self, folder: Path) -> None:
        _, arguments, states = mx.model.load_checkpoint(str(folder / "model"), 1)
        self.module.set_params(arguments, states)
        self.module.load_optimizer_states(str(folder / "model-0001.states"))

    def weights(self) -> dict[str, bytes]:
        arguments, states = self.module.get_params()
        # files hold the averages of several devices' moving statistics, as in MXNet; no weight depends on them
        everything = arguments if len(self.module._context) > 1 else {**arguments, **states}
        return {name: x.asnumpy().tobytes() for name, x in everything.items()}


class Matrices(ModuleModel):
    """A `Module` without vectors among its weights."""

    has_only_matrices = True


class GluonModel:
    """A hybridized network with dropout and normalization, and a `Trainer`."""

    has_only_matrices = on_store = False

    def __init__(self, optimizer: str, options: dict[str, Any]) -> None:
        self.net = mx.gluon.nn.HybridSequential(prefix="net_")
        use_bias = not self.has_only_matrices
        with self.net.name_scope():
            self.net.add(mx.gluon.nn.Dense(5, in_units=3, activation="relu", use_bias=use_bias))
            if not self.has_only_matrices:
                self.net.add(mx.gluon.nn.BatchNorm(in_channels=5))
            self.net.add(mx.gluon.nn.Dropout(0.4), mx.gluon.nn.Dense(2, in_units=5, use_bias=use_bias))
        self.net.initialize(mx.init.Uniform(0.5))
        self.net.hybridize()
        rate = {"learning_rate": 0.1, **options}
        store = {"kvstore": mx.kv.create("local"), "update_on_kvstore": True} if self.on_store else {}
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), optimizer, rate, **store)

    def step(self, batch: Any) -> None:
        with mx.autograd.record():
            loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()(self.net(batch.data[0]), batch.label[0])
        loss.backward()
        self.trainer.step(4)

    def save(self, folder: Path) -> None:
        self.net.save_parameters(str(folder / "net.params"))
        self.trainer.save_states(str(folder / "trainer.states"))

    def load(self, folder: Path) -> None:
        self.net.load_parameters(str(folder / "net.params"))
        self.trainer.load_states(str(folder / "trainer.states"))

    def weights(self) -> dict[str, bytes]:
        return {name: p.data().asnumpy().tobytes() for name, p in self.net.collect_params().items()}


def weights_of_whole_run(model: Callable[[], Any], folder: Path, kind: str = "shuffled") -> dict[str, bytes]:
    """The weights at the end of a run that is saved in a folder after some steps."""
    np.random.seed(3)  # noqa: NPY002
    mx.random.seed(5)
    whole = Run(model(), iterator(kind))
    whole.steps(CUT)
    whole.save(folder)
    whole.steps(STEPS - CUT)
    return whole.model.weights()


def weights_of_resumed_run(model: Callable[[], Any], folder: Path, kind: str = "shuffled") -> dict[str, bytes]:
    """The weights at the end of a run that goes on by new objects from what was saved."""
    np.random.seed(11)  # noqa: NPY002  what the resumed run starts from must not matter
    mx.random.seed(13)
    resumed = Run(model(), iterator(kind))
    if not resumed.model.on_store:  # such parameters cannot be loaded once the store has them
        resumed.steps(3)
    resumed.load(folder)
    resumed.steps(STEPS - CUT)
    return resumed.model.weights()


def assert_resumes(model: Callable[[], Any], folder: Path, kind: str = "shuffled") -> None:
    """A run cut after some steps and resumed by new objects ends with the weights of one that was not cut."""
    expected = weights_of_whole_run(model, folder, kind)
    found = weights_of_resumed_run(model, folder, kind)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_the_table_has_every_optimizer() -> None:
    kinds = mx.optimizer.Optimizer.opt_registry.items()
    ours = {name for name, kind in kinds if kind.__module__.startswith("twofold.") and not name.startswith("_")}
    assert ours == {*OPTIMIZERS, "groupadagrad"}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_module_resumes_exactly_with_every_optimizer(name: str, tmp_path: Path) -> None:
    assert_resumes(lambda: ModuleModel(name, OPTIMIZERS[name]), tmp_path)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_trainer_resumes_exactly_with_every_optimizer(name: str, tmp_path: Path) -> None:
    assert_resumes(lambda: GluonModel(name, OPTIMIZERS[name]), tmp_path)


def test_a_module_resumes_exactly_with_an_optimizer_of_matrices(tmp_path: Path) -> None:
    assert_resumes(lambda: Matrices("groupadagrad", {}), tmp_path)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("model", [ModuleModel, GluonModel])
def test_schedules_continue_where_they_were(schedule: str, model: Any, tmp_path: Path) -> None:
    assert_resumes(lambda: model("adam", {"lr_scheduler": SCHEDULES[schedule]()}), tmp_path)


@pytest.mark.parametrize("kind", ["in order", "shuffled", "rolled over", "resized", "prefetched"])
def test_iterators_continue_within_an_epoch(kind: str, tmp_path: Path) -> None:
    assert_resumes(lambda: ModuleModel("adam", {}), tmp_path, kind)


@pytest.mark.parametrize("on_store", ["0", "1"])
@pytest.mark.parametrize("kvstore", ["local", "device"])
@pytest.mark.parametrize("name", ["adam", "adamax", "lbsgd"])
def test_a_module_on_two_devices_resumes_exactly(
    name: str, kvstore: Any, on_store: str, tmp_path: Path, gpus: list[mx.Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", on_store)
    assert_resumes(lambda: ModuleModel(name, OPTIMIZERS[name], gpus, kvstore), tmp_path)


def test_weights_of_16_bits_resume_from_their_masters(tmp_path: Path) -> None:
    class Halves(GluonModel):
        def __init__(self) -> None:
            super().__init__("adam", {"multi_precision": True})
            self.net.cast("float16")

        def step(self, batch: Any) -> None:
            super().step(mx.io.DataBatch([batch.data[0].astype("float16")], batch.label))

    assert_resumes(Halves, tmp_path)


def states_of(model: ModuleModel, folder: Path, steps: int) -> bytes:
    Run(model, iterator()).steps(steps)
    model.save(folder)
    return (folder / "model-0001.states").read_bytes()


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
@pytest.mark.parametrize("kvstore", [None, "device"])
def test_the_number_of_updates_moves_to_other_devices(
    before: int, after: int, kvstore: Any, tmp_path: Path, gpus: list[mx.Context]
) -> None:
    states_of(ModuleModel("adam", {}, gpus[:before], kvstore), tmp_path, 5)
    model = ModuleModel("adam", {}, gpus[:after], kvstore)
    model.load(tmp_path)
    Run(model, iterator()).steps(1)
    optimizer = model.module._optimizer
    assert optimizer is not None
    assert optimizer.num_update == 6
    assert {n for counts in optimizer._all_index_update_counts.values() for n in counts.values()} <= {5, 6}
    assert set(optimizer._all_index_update_counts[gpus[0].device_id].values()) >= {6}


def test_the_parameters_of_a_new_optimizer_stay(tmp_path: Path) -> None:
    states_of(ModuleModel("adam", {"learning_rate": 0.1}), tmp_path, 5)
    model = ModuleModel("adam", {"learning_rate": 0.025})
    model.load(tmp_path)
    optimizer = model.module._optimizer
    assert optimizer is not None
    assert (optimizer.lr, optimizer.num_update) == (0.025, 5)


def test_states_without_the_number_of_updates_still_load(tmp_path: Path) -> None:
    states_of(ModuleModel("adam", {}), tmp_path, 5)
    path = tmp_path / "model-0001.states"
    first = ModuleModel("adam", {})
    first.load(tmp_path)
    assert first.module._updater is not None
    path.write_bytes(first.module._updater.get_states())  # as MXNet writes it
    second = ModuleModel("adam", {})
    second.load(tmp_path)
    assert second.module._optimizer is not None
    assert second.module._optimizer.num_update == 0
    assert second.module._updater is not None
    assert second.module._updater.states.keys() == first.module._updater.states.keys()


@pytest.mark.parametrize("progress", [3, {"num_update": 3}, {"num_update": "3", "_all_index_update_counts": {}}])
def test_wrong_numbers_of_updates_are_rejected(progress: Any, tmp_path: Path) -> None:
    model = ModuleModel("adam", {})
    (tmp_path / "bad.states").write_bytes(pickle.dumps({"__progress__": progress}))
    with pytest.raises(FormatError, match="numbers of updates"):
        model.module.load_optimizer_states(tmp_path / "bad.states")


def test_a_users_optimizer_resumes_with_what_it_declares(tmp_path: Path) -> None:
    class Slowing(mx.optimizer.Optimizer):
        progress_attributes = (*mx.optimizer.Optimizer.progress_attributes, "total")

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.total = 0.0

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            self._update_count(index)
            self.total += 0.25
            weight -= self._get_lr(index) / (1 + self.total) * grad

    mx.optimizer.Optimizer.opt_registry["slowing"] = Slowing
    try:
        assert_resumes(lambda: ModuleModel("slowing", {}), tmp_path)
    finally:
        del mx.optimizer.Optimizer.opt_registry["slowing"]


def test_the_state_of_another_iterator_is_rejected() -> None:
    state = iterator().state_dict()
    with pytest.raises(ParameterError, match="another iterator"):
        mx.io.NDArrayIter(ROWS[:5], LABELS[:5], 4, shuffle=True).load_state_dict(state)
    with pytest.raises(ParameterError, match="another iterator"):
        iterator("in order").load_state_dict(state)


SCRIPT = """
import json, sys
import mxnet as mx, numpy as np
folder = sys.argv[1]
module = mx.mod.Module.load(folder + "/model", 1, load_optimizer_states=True, data_names=["data"], label_names=["softmax_label"])
module.bind([("data", (4, 3))], [("softmax_label", (4,))])
module.init_params()
module.init_optimizer(None, "adam", {"learning_rate": 0.1})
before = {k: [x.asnumpy().tolist() for x in v] for k, v in module._updater.states.items() if isinstance(k, int)}
for _ in range(2):
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros((4,))]))
    module.update()
module.save_checkpoint(folder + "/model", 2, save_optimizer_states=True)
print(json.dumps([before, module._optimizer.num_update]))
"""


@pytest.mark.oracle
def test_files_are_exchanged_with_mxnet(oracle: Callable[..., str], tmp_path: Path) -> None:
    model = ModuleModel("adam", {}, kvstore=None)
    states_of(model, tmp_path, 5)
    before, count = json.loads(oracle(SCRIPT, tmp_path).splitlines()[-1])
    assert model.module._updater is not None
    assert count == 2  # MXNet's modules count from 0
    assert before == {str(k): [x.asnumpy().tolist() for x in v] for k, v in model.module._updater.states.items()}
    (tmp_path / "model-0001.states").write_bytes((tmp_path / "model-0002.states").read_bytes())
    model.load(tmp_path)
    assert len(model.module._updater.states) == 6

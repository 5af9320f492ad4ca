"""A resumed run is bitwise the uninterrupted one: every optimizer with every schedule, precision, clipping and multiplier of decay."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import twofold as mx

from tests.training.test_resume import (
    OPTIMIZERS,
    SCHEDULES,
    GluonModel,
    ModuleModel,
    assert_resumes,
    weights_of_resumed_run,
    weights_of_whole_run,
)

#: Schedule, 16-bit weights with masters of 32 bits, bound of the gradients, multiplier of the decay.
COMBINATIONS = list(product([None, *SCHEDULES], (False, True), (None, 0.02), (1.0, 0.3)))
#: All optimizers, with what they are created with; the last one has states for matrices only.
OPTIONS = {**OPTIMIZERS, "groupadagrad": {}}
#: In each of which an optimizer is tested in any run of the tests.
QUICK = {name: COMBINATIONS[(7 * k + 3) % len(COMBINATIONS)] for k, name in enumerate(OPTIONS)}
#: In which CI tests it: precision, bound and multiplier in all 8 combinations, since 5 has no divisor in common with 8.
IN_CI = {name: COMBINATIONS[k % 5 :: 5] for k, name in enumerate(OPTIONS)}


def given_to(name: str, schedule: str | None, halves: bool, bound: float | None) -> dict[str, Any]:
    options = {**OPTIONS[name], "wd": 0.05, "multi_precision": halves}
    if name == "groupadagrad":
        del options["wd"]  # which it refuses
    if schedule is not None:
        options["lr_scheduler"] = SCHEDULES[schedule]()
    return options if bound is None else {**options, "clip_gradient": bound}


class Trained(GluonModel):
    """A network with a `Trainer`, in one precision, with a multiplier of the weights' decay."""

    def __init__(self, name: str, schedule: str | None, halves: bool, bound: float | None, decay: float) -> None:
        self.has_only_matrices = name == "groupadagrad"
        super().__init__(name, given_to(name, schedule, halves, bound))
        self.dtype = "float16" if halves else "float32"
        self.net.cast(self.dtype)
        self.net.collect_params(".*weight").setattr("wd_mult", decay)

    def step(self, batch: Any) -> None:
        super().step(mx.io.DataBatch([batch.data[0].astype(self.dtype)], batch.label))


class OnStore(Trained):
    """The same with weights that a store updates."""

    on_store = True


class Fitted(ModuleModel):
    """A `Module` in one precision, with a multiplier of the weights' decay."""

    def __init__(self, name: str, schedule: str | None, halves: bool, bound: float | None, decay: float) -> None:
        self.has_only_matrices = name == "groupadagrad"
        self.dtype = "float16" if halves else "float32"
        super().__init__(name, given_to(name, schedule, halves, bound))
        self.module._optimizer.set_wd_mult({"a_weight": decay, "b_weight": decay})


MODELS = {"trainer": Trained, "trainer on a store": OnStore, "module": Fitted}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_resumes_exactly(name: str, model: str, tmp_path: Path) -> None:
    assert_resumes(lambda: MODELS[model](name, *QUICK[name]), tmp_path)


@pytest.mark.parametrize(
    "combinations", [pytest.param(IN_CI, marks=pytest.mark.ci, id="some"), pytest.param(None, marks=pytest.mark.slow, id="all")]
)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_resumes_exactly_in_many_combinations(
    name: str, model: str, combinations: dict[str, list[Any]] | None, tmp_path: Path
) -> None:
    for number, combination in enumerate(combinations[name] if combinations else COMBINATIONS):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_resumes(lambda given=combination: MODELS[model](name, *given), folder)


@pytest.mark.ci
def test_runs_resume_exactly_in_another_process(tmp_path: Path) -> None:
    expected = {}
    for model, name in product(MODELS, OPTIONS):
        folder = tmp_path / f"{model} {name}"
        folder.mkdir()
        expected[folder.name] = texts(weights_of_whole_run(lambda m=model, n=name: MODELS[m](n, *QUICK[n]), folder))
    resumed = subprocess.run([sys.executable, "-W", "ignore", "-m", __name__, tmp_path], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(resumed.stdout)
    assert [run for run in expected if found[run] != expected[run]] == []


def texts(weights: dict[str, bytes]) -> list[str]:
    """The weights as JSON can hold them; blocks of another process have other numbers in their names."""
    return [data.hex() for data in weights.values()]


def main() -> None:
    """Go on with all runs in a folder, and print what their weights are at the end."""
    found = {}
    for model, name in product(MODELS, OPTIONS):
        folder = Path(sys.argv[1]) / f"{model} {name}"
        found[folder.name] = texts(weights_of_resumed_run(lambda m=model, n=name: MODELS[m](n, *QUICK[n]), folder))
    print(json.dumps(found))


if __name__ == "__main__":
    main()

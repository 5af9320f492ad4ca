"""A resumed run is bitwise the uninterrupted one: every optimizer with every schedule, precision, clipping and multiplier of decay."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import twofold as mx

from tests.training.test_resume import OPTIMIZERS, SCHEDULES, GluonModel, ModuleModel, assert_resumes

if TYPE_CHECKING:
    from pathlib import Path

#: Schedule, 16-bit weights with masters of 32 bits, bound of the gradients, multiplier of the decay.
COMBINATIONS = list(product([None, *SCHEDULES], (False, True), (None, 0.02), (1.0, 0.3)))
#: In each of which an optimizer is tested in any run of the tests; CI tests it in all.
QUICK = {name: COMBINATIONS[(7 * k + 3) % len(COMBINATIONS)] for k, name in enumerate(OPTIMIZERS)}


def given_to(name: str, schedule: str | None, halves: bool, bound: float | None) -> dict[str, Any]:
    options = {**OPTIMIZERS[name], "wd": 0.05, "multi_precision": halves}
    if schedule is not None:
        options["lr_scheduler"] = SCHEDULES[schedule]()
    return options if bound is None else {**options, "clip_gradient": bound}


class Trained(GluonModel):
    """A network with a `Trainer`, in one precision, with a multiplier of the weights' decay."""

    def __init__(self, name: str, schedule: str | None, halves: bool, bound: float | None, decay: float) -> None:
        super().__init__(name, given_to(name, schedule, halves, bound))
        self.dtype = "float16" if halves else "float32"
        self.net.cast(self.dtype)
        self.net.collect_params(".*weight").setattr("wd_mult", decay)

    def step(self, batch: Any) -> None:
        super().step(mx.io.DataBatch([batch.data[0].astype(self.dtype)], batch.label))


class Fitted(ModuleModel):
    """A `Module` with a multiplier of the weights' decay."""

    def __init__(self, name: str, schedule: str | None, halves: bool, bound: float | None, decay: float) -> None:
        super().__init__(name, given_to(name, schedule, halves, bound))
        self.module._optimizer.set_wd_mult({"a_weight": decay, "b_weight": decay})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_trainer_resumes_exactly(name: str, tmp_path: Path) -> None:
    assert_resumes(lambda: Trained(name, *QUICK[name]), tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("model", [Trained, Fitted])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_resumes_exactly_in_all_combinations(name: str, model: Any, tmp_path: Path) -> None:
    for number, combination in enumerate(COMBINATIONS):
        if model is Fitted and combination[1]:  # 16-bit weights are the trainer's
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_resumes(lambda given=combination: model(name, *given), folder)

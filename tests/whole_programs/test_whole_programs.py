"""Random programs of 10 to 40 statements give what MXNet gives, however operations are executed. `compare` compares thousands."""

import json
import warnings

import pytest

from twofold.config import SETTINGS

from .compare import KEPT, differs, first_difference
from tests.cases import later_in_ci

MODES = {
    "defaults": {},
    "waiting": {"defer_elements": 1},
    "at once": {"engine": "naive"},
    "machine code": {"defer_elements": 1, "jit": True, "jit_eager": True},
}
ANSWERS = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("mode", later_in_ci(MODES))
def test_programs_give_what_mxnet_gives(mode, monkeypatch, machine_code):
    for name, value in machine_code.items() if mode == "machine code" else ():
        monkeypatch.setenv(name, value)
    for setting, value in MODES[mode].items():
        monkeypatch.setattr(SETTINGS, setting, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [first_difference(seed, answers) for seed, answers in enumerate(ANSWERS) if answers is not None]
    assert len(found) > 100
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ("float32 (3) 0 1.5 2.5", "float32 (3) 0 1.6 2.5"),
        ("float32 (3) 0 1.5 2.5", "float64 (3) 0 1.5 2.5"),
        ("float32 (3) 0 1.5 2.5", "float32 (1,3) 0 1.5 2.5"),
        ("float32 (3) 0 1.5 2.5", "error MXNetError"),
        ("error ValueError", "error MXNetError TypeError"),
        ("value bool True", "value bool False"),
    ],
)
def test_other_outcomes_are_differences(want, got):
    assert differs(want, got)
    assert not differs(want, want)

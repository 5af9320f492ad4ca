"""Every operator, on every sample, in every way: the tests generated from the operator table."""

import pytest

import twofold.ndarray  # noqa: F401  (registers the operators)
from twofold.config import SETTINGS
from twofold.op.registry import OPS
from twofold.op.samples import samples_of
from twofold.testing.op_conformance import CHECKS

CASES = [(op, k, sample) for op in OPS.values() for k, sample in enumerate(samples_of(op))]


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("op", "sample"), [pytest.param(op, s, id=f"{op.title}-{k}") for op, k, s in CASES])
def test_operator(op, sample, check):
    CHECKS[check](op, sample)


def test_every_operator_has_a_sample():
    assert [op.title for op in OPS.values() if not op.primitive and not op.samples] == []

"""Every check on every sample of every operator: the tests generated from the operator table."""

import pytest

import twofold.ndarray  # noqa: F401  (registers the operators)
import twofold_array_api
import twofold_fake
from twofold.config import SETTINGS
from twofold.errors import DTypeError
from twofold.opdef.registry import OPS
from twofold.opdef.samples import samples_of
from twofold.testing.op_conformance import CHECKS, check_backend

from tests.cases import each, module_of, spread_in_ci

#: Operators whose shapes depend on values are no nodes of typed graphs: their programs are in `programs/dynamic_shapes.py`.
CASES = [(op, k, sample) for op in OPS.values() if not op.is_eager for k, sample in enumerate(samples_of(op))]

NAMED = [pytest.param(op, s, id=f"{op.title}-{k}") for op, k, s in CASES]
#: Checks that take most of the time: `make test` runs them on half the samples.
LONG = ("batch", "modes", "recorded gradient")


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)


@pytest.mark.parametrize("check", [name for name in CHECKS if name not in LONG])
@each("op, sample", NAMED, by=module_of)
def test_operator(op, sample, check):
    CHECKS[check](op, sample)


@pytest.mark.parametrize("check", LONG)
@each("op, sample", spread_in_ci(NAMED), by=module_of)
def test_operator_at_length(op, sample, check):
    CHECKS[check](op, sample)


@pytest.fixture(scope="module")
def backends():
    return {"array_api_strict": twofold_array_api.Backend(), "fake GPU": twofold_fake.Backend()}


@pytest.mark.parametrize("name", ["array_api_strict", "fake GPU"])
@each("op, sample", spread_in_ci(NAMED), by=module_of)
def test_operator_on_another_backend(op, sample, name, backends):
    try:
        check_backend(op, sample, backends[name], 2e-5)
    except DTypeError as error:
        if "no such dtype: given float16" not in str(error):
            raise
        pytest.skip("the array API has no 16-bit floats")


def test_every_operator_has_a_sample():
    own = [op for op in OPS.values() if op.rule.__module__.startswith("twofold.")]  # not what another test of the process declared
    # what only rules can call is tested by its cases (`tests/backend/test_conformance.py`) and the samples of operators whose rules call it
    assert [op.title for op in own if (op.names or not op.primitive) and not op.samples] == []

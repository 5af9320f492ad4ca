"""Every adapter in the repository keeps the backend protocol: the shipped conformance suite on NumPy, the array API and the fake."""

from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest

from twofold.backend.kernel import Call
from twofold.backend.protocol import Backend
from twofold.dtype import FLOATS, INTEGERS
from twofold.opdef import primitives
from twofold.testing import backend_conformance as conformance
from twofold.testing.backend_cases import REAL, cases
from twofold_array_api import ArrayApiBackend
from twofold_fake import FakeBackend
from twofold_numpy import NumpyBackend
from twofold_numpy.namespace import NumpyNamespace

from tests.cases import each, spread_in_ci

STANDARD = ("bool", *INTEGERS, *FLOATS[2:])  # the array-API standard's dtypes: no 16-bit floats
ADAPTERS: dict[str, tuple[Backend, tuple[str, ...]]] = {
    "numpy": (NumpyBackend(), REAL),
    "fake": (FakeBackend(poison=True), REAL),
    "fake, late": (FakeBackend("late", poison=True), REAL),
    "fake, eager": (FakeBackend("eager"), REAL),
    "array_api_strict": (ArrayApiBackend("array_api_strict"), STANDARD),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@each("name", spread_in_ci(conformance.names()))
def test_primitive_gives_what_numpy_gives(adapter, name):
    backend, dtypes = ADAPTERS[adapter]
    conformance.check_primitive(backend, name, dtypes)


@pytest.mark.parametrize("adapter", ADAPTERS)
@each("behaviour", conformance.BEHAVIOURS, ids=lambda f: f.__name__)
def test_adapter_keeps_the_protocol(adapter, behaviour):
    backend, dtypes = ADAPTERS[adapter]
    behaviour(backend, dtypes)


class AliasingBackend(NumpyBackend):
    """A broken adapter: copies and arrays from the host share memory."""

    def from_host(self, array, device):
        return array

    def copy(self, array, device):
        return array


class WideningBackend(NumpyBackend):
    """A broken adapter: single precision becomes double in every call of a program."""

    def call(self, op, params, inputs, output, *others):
        inner = super().call(op, params, inputs, output, *others)
        return Call("{wide}(0)", {"wide": lambda _: np.zeros(output.shape)}) if output.dtype == "float32" else inner


class NegatingNamespace(NumpyNamespace):
    """A namespace with one wrong function."""

    negative = staticmethod(np.positive)


class NegatingBackend(NumpyBackend):
    """Its namespace is wrong, but its calls and kernels are right."""

    @property
    def xp(self):
        return NegatingNamespace()


@pytest.mark.parametrize("behaviour", [conformance.from_host_makes_a_snapshot, conformance.copies_have_memory_of_their_own])
def test_shared_memory_is_found(behaviour):
    with pytest.raises(AssertionError):
        behaviour(AliasingBackend())


def test_a_wrong_dtype_is_found_and_named():
    with pytest.raises(AssertionError, match=r"call of square\(float32\[2, 4\]\): the result is float64\[2, 4\], should"):
        conformance.check_primitive(WideningBackend(), "square", ("float32",))


def test_a_wrong_value_is_found_and_named():
    with pytest.raises(AssertionError, match=r"xp.negative\(int64\[2, 4\]\)"):
        conformance.check_primitive(NegatingBackend(), "negative", ("int64",))


@each("name", [name for name in conformance.names() if not primitives()[name].view])
def test_results_of_primitives_are_new_arrays_or_operands_themselves(name):
    # what an interpreted operation gives is not copied again, unless it is an operand
    backend = ADAPTERS["numpy"][0]
    for case in cases(name):
        operands = [backend.from_host(a, conformance.device_of(backend)) if isinstance(a, np.ndarray) else a for a in case.operands]
        found = backend.quietly(partial(getattr(backend.xp, name), *operands, **case.params))
        for result in found if isinstance(found, (tuple, list)) else (found,):
            shared = [a for a in operands if isinstance(a, np.ndarray) and np.may_share_memory(a, result)]
            assert all(a is result for a in shared)


def test_every_primitive_has_cases():
    assert [name for name in conformance.names() if not cases(name)] == []


def test_the_protocol_stays_narrow():
    assert len([name for name in vars(Backend) if not name.startswith("_")]) <= 30


def test_an_adapters_capabilities_do_not_change_under_a_program():
    with pytest.raises(FrozenInstanceError):
        NumpyBackend().target.few_kernels = True

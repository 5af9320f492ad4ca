"""A namespace with only the required members has every primitive, by the defaults; a member that is missing is named."""

import pytest

from twofold.backend.namespace import PortableNamespace
from twofold.testing import backend_conformance as conformance
from twofold_numpy import NumpyBackend

REQUIRED = ("slice", "slice_update", "full", "concat", "reshape", "permute_dims", "contiguous", "matmul", "sum", "astype", "dtype_of")
NUMPY = NumpyBackend().xp


class BareNamespace(PortableNamespace):
    """The required members, those of NumPy's adapter; everything else is a default."""

    def on_host(self, function, *operands):
        return function(*operands)


for _name in REQUIRED:
    setattr(BareNamespace, _name, staticmethod(getattr(NUMPY, _name)))


class BareBackend(NumpyBackend):
    """The protocol as NumPy's adapter keeps it, with a namespace of defaults."""

    @property
    def xp(self):
        return BareNamespace()


@pytest.mark.parametrize("name", conformance.names())
def test_primitive_has_a_default(name):
    conformance.check_primitive(BareBackend(), name)


class LackingNamespace(PortableNamespace):
    """A namespace without its required members."""

    def on_host(self, function, *operands):
        return function(*operands)


def test_a_missing_primitive_is_named_as_the_adapters_gap():
    with pytest.raises(AttributeError, match="LackingNamespace lacks the primitive matmul"):
        LackingNamespace().matmul  # noqa: B018


def test_a_name_that_is_no_primitive_is_refused_to_rules():
    with pytest.raises(AttributeError, match="it is neither a primitive nor listed"):
        LackingNamespace().matrix_divide  # noqa: B018

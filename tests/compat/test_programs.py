"""Every program that uses MXNet as libraries do gives the results of the real one (values.json, written by make_values.py)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from twofold.compat import mxnet_alias

from tests.against_mxnet import Program, each_program, mxnets_results
from tests.alias import undone_at_the_end
from tests.compat.programs import all_programs
from tests.oracle_programs import difference, plain

EXPECTED = mxnets_results(__file__)


@pytest.fixture(scope="module", autouse=True)
def alias() -> Iterator[None]:
    with undone_at_the_end():
        mxnet_alias.install()
        yield


@each_program(all_programs())
def test_program_gives_what_mxnet_gives(name: str, program: Program) -> None:
    mx = import_module("mxnet")
    with mx.name.NameManager():
        assert difference(plain(program(mx)), EXPECTED[name], 1e-6) is None


def test_every_stored_value_has_its_program() -> None:
    assert list(EXPECTED) == list(all_programs())

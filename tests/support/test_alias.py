"""Modules of the alias ``mxnet``, as programs look into them."""

from __future__ import annotations

from importlib import import_module

import pytest

from twofold.compat import mxnet_alias

from tests.alias import undone_at_the_end


@pytest.mark.parametrize("module", ["ndarray.contrib", "symbol.contrib"])
def test_the_dictionary_of_a_module_has_names_that_nobody_has_used(module: str) -> None:
    with undone_at_the_end():
        mxnet_alias.install()
        names = import_module(f"mxnet.{module}").__dict__
    assert "box_decode" in names
    assert "no_such_operator" not in names


def test_what_is_put_into_the_dictionary_of_a_module_is_a_name_of_it() -> None:
    with undone_at_the_end():
        mxnet_alias.install()
        module = import_module("mxnet.gluon.utils")
        module.__dict__["added_by_a_test"] = 3
        assert module.added_by_a_test == 3
        del module.added_by_a_test
        assert "added_by_a_test" not in vars(module)

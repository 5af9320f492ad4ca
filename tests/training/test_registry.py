"""Registries of classes by name."""

from __future__ import annotations

import pytest

from twofold import registry
from twofold.errors import DTypeError, ParameterError


class Thing:
    def __init__(self, *args: object, **kwargs: object) -> None:
        self.given = (args, kwargs)


class Other(Thing):
    pass


register = registry.get_register_func(Thing, "thing")
create = registry.get_create_func(Thing, "thing")
register(Other)
registry.get_alias_func(Thing, "thing")("second", "Third")(Other)


@pytest.mark.parametrize("name", ["other", "OTHER", "second", "third"])
def test_names_and_aliases_are_found_in_any_case(name):
    assert type(create(name)) is Other


@pytest.mark.parametrize(
    "config",
    ['["other", {"x": 1}]', '{"thing": "other", "x": 1}', {"thing": "other", "x": 1}],
)
def test_a_configuration_gives_name_and_parameters(config):
    assert create(config).given == ((), {"x": 1})


def test_arguments_go_to_the_constructor():
    assert create("other", 1, y=2).given == ((1,), {"y": 2})
    assert create(thing="other", y=2).given == ((), {"y": 2})


def test_an_instance_is_returned():
    thing = Other()
    assert create(thing) is thing


@pytest.mark.parametrize("wrong", [("nope",), (Other(), 1), (), ('["other"]',), ("[1, 2]",)])
def test_an_unknown_class_name_raises(wrong):
    with pytest.raises(ParameterError):
        create(*wrong)


@pytest.mark.parametrize("wrong", [None, 3])
def test_an_invalid_class_name_raises(wrong):
    with pytest.raises(DTypeError, match="thing must be of string type"):
        create(wrong)


def test_a_class_of_another_kind_is_rejected():
    with pytest.raises(DTypeError, match="not a subclass of Thing"):
        register(int)


def test_reusing_a_name_warns():
    class Taker(Thing):
        pass

    register(Taker)
    with pytest.warns(UserWarning, match="replaces .* as 'taker'"):
        register(type("Taker", (Thing,), {}))


def test_the_registry_is_given_as_a_copy():
    registry.get_registry(Thing).clear()
    assert registry.get_registry(Thing)["second"] is Other

"""The inventory of the documentation has names as users write them, beside those of the places where names are defined."""

from __future__ import annotations

import pytest

names_of_users = pytest.importorskip("names_of_users")

#: What pages describe.
DESCRIBED = dict.fromkeys(
    (
        "mx.nd.Convolution",
        "twofold.explain",
        "twofold.initializer.random_draws.Xavier",
        "twofold.module.BaseModule.fit",
        "twofold.module.Module",
        "twofold.ndarray.array",
        "twofold.numpy.fft.fft",
        "twofold.numpy.linspace",
    )
)


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("mxnet.nd.array", "twofold.ndarray.array"),
        ("twofold.nd.array", "twofold.ndarray.array"),
        ("twofold.np.linspace", "twofold.numpy.linspace"),
        ("mx.np.fft.fft", "twofold.numpy.fft.fft"),
        ("twofold.mod.Module", "twofold.module.Module"),
        ("mxnet.mod.Module.fit", "twofold.module.BaseModule.fit"),
        ("twofold.init.Xavier", "twofold.initializer.random_draws.Xavier"),
        ("twofold.nd.Convolution", "mx.nd.Convolution"),
        ("mx.explain", "twofold.explain"),
    ],
)
def test_a_name_that_users_write_is_that_of_its_description(name, described):
    assert names_of_users.further_names(DESCRIBED)[name] == described


def test_names_of_pages_stay_what_they_are():
    assert not DESCRIBED.keys() & names_of_users.further_names(DESCRIBED).keys()


def test_an_inherited_method_leads_to_the_class_that_describes_it():
    assert names_of_users.further_names(DESCRIBED)["twofold.mod.BucketingModule.fit"] == "twofold.module.BaseModule.fit"

"""Settings: the environment's values are checked where they are read, and changes reach what is compiled already."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd, sym
from twofold.config import SETTINGS, TABLE, Settings
from twofold.errors import ParameterError
from twofold.program.compile import Program
from twofold.program.profiling import PROGRAM


@pytest.mark.parametrize(
    ("name", "given", "todo"),
    [
        ("engine", "zzz", "use naive or window"),
        ("defer_elements", "abc", "use an integer of 0 or more"),
        ("window_bytes", "-1", "use an integer of 0 or more"),
        ("gpu_memory_reserve", "100", "use an integer from 0 to 99"),
        ("verify", "perhaps", "use 1 or 0"),
    ],
)
def test_an_invalid_setting_is_rejected_by_name(monkeypatch, name, given, todo):
    monkeypatch.setenv(f"TWOFOLD_{name.upper()}", given)
    with pytest.raises(ParameterError, match=f"TWOFOLD_{name.upper()}: invalid value: given '{given}'; {todo}"):
        Settings()


def test_settings_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("TWOFOLD_ENGINE", "naive")
    monkeypatch.setenv("TWOFOLD_WINDOW_OPERATIONS", "7")
    monkeypatch.setenv("TWOFOLD_VERIFY", "off")
    found = Settings()
    assert (found.engine, found.window_operations, found.verify) == ("naive", 7, False)


def test_mxnets_variable_is_the_fallback_for_an_unset_setting(monkeypatch):
    monkeypatch.setenv("MXNET_GPU_MEM_POOL_RESERVE", "12")
    assert Settings().gpu_memory_reserve == 12
    monkeypatch.setenv("TWOFOLD_GPU_MEMORY_RESERVE", "30")
    assert Settings().gpu_memory_reserve == 30
    monkeypatch.delenv("TWOFOLD_GPU_MEMORY_RESERVE")
    monkeypatch.setenv("MXNET_GPU_MEM_POOL_RESERVE", "much")
    with pytest.raises(ParameterError, match="MXNET_GPU_MEM_POOL_RESERVE: invalid value"):
        Settings()


def test_every_default_has_its_settings_type():
    for setting in TABLE:
        assert setting.parse(str(setting.default)) == setting.default


# changes while running


@pytest.fixture
def compiled(monkeypatch):
    """The titles of the programs compiled from now on."""
    titles = []
    make = Program.__init__

    def init(self, *args, title=PROGRAM, **options):
        titles.append(title.name)
        make(self, *args, title=title, **options)

    monkeypatch.setattr(Program, "__init__", init)
    return titles


def chained(x, w):
    return nd.Convolution(
        nd.relu(nd.Convolution(x, w, no_bias=True, kernel=(3, 3), num_filter=4)), w, no_bias=True, kernel=(3, 3), num_filter=4
    )


def convolved(x, w):
    chained(x, w).asnumpy()


def trained(x, w):
    w.attach_grad()
    with autograd.record():
        y = chained(x, w).sum()
    y.backward()
    w.grad.asnumpy()


def compiled_symbol():
    x, w = sym.var("x"), sym.var("w")
    f = mx.compile(sym.Convolution(x, w, no_bias=True, kernel=(3, 3), num_filter=4))
    return lambda x, w: f(x=x, w=w).asnumpy()


@pytest.mark.parametrize("elements", [1, 1 << 40])
@pytest.mark.parametrize("run", [lambda: convolved, lambda: trained, compiled_symbol], ids=["unrecorded", "recorded", "compiled"])
def test_a_changed_setting_reaches_structures_that_are_compiled_already(monkeypatch, compiled, run, elements):
    monkeypatch.setattr(SETTINGS, "defer_elements", elements)
    x, w, step = nd.ones((2, 4, 12, 12)), nd.ones((4, 4, 3, 3)), run()
    for _ in range(4):
        step(x, w)
    first = list(compiled)
    assert first
    step(x, w)
    assert compiled == first
    monkeypatch.setattr(SETTINGS, "channels_last", not SETTINGS.channels_last)
    for _ in range(4):
        step(x, w)
    assert sorted(compiled) == sorted(first * 2)


def test_a_setting_that_is_not_compiled_in_leaves_the_programs(monkeypatch, compiled):
    x, w = nd.ones((2, 4, 12, 12)), nd.ones((4, 4, 3, 3))
    for _ in range(4):
        trained(x, w)
    before = list(compiled)
    monkeypatch.setattr(SETTINGS, "window_operations", 7)
    monkeypatch.setattr(SETTINGS, "channels_last", SETTINGS.channels_last)
    trained(x, w)
    assert compiled == before


def test_settings_change_while_a_tape_is_open(monkeypatch):
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = x * x
        monkeypatch.setattr(SETTINGS, "defer_elements", 1)
        z = (y * y).exp()
        monkeypatch.setattr(SETTINGS, "defer_elements", 1 << 40)
        total = (z * x).sum()
    total.backward()
    values = x.asnumpy()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(values**4) * (1 + 4 * values**4), rtol=1e-5)

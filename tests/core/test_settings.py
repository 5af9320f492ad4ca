"""Settings: the environment's values are checked where they are read."""

import pytest

from twofold.config import TABLE, Settings
from twofold.errors import ParameterError


@pytest.mark.parametrize(
    ("name", "given", "todo"),
    [
        ("engine", "zzz", "use naive or window"),
        ("defer_elements", "abc", "use an integer of 0 or more"),
        ("window_bytes", "-1", "use an integer of 0 or more"),
        ("gpu_memory_reserve", "100", "use an integer from 0 to 99"),
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

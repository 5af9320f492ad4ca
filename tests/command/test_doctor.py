"""``twofold doctor``: the report lists what is installed, and every variable that is read."""

import importlib
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from twofold.backend import loader
from twofold.backend.protocol import Target
from twofold.command import advice, doctor, main
from twofold.command.advice import advices
from twofold.command.doctor import VARIABLES, capabilities
from twofold.config import SETTINGS, TABLE
from twofold.errors import DeviceError

from tests.devices import forget_backends

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(capsys):
    assert main(["doctor"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("title", ["Python and NumPy", "Adapters", "GPU", "Settings", "Optional packages"])
def test_page_has_the_section(page, title):
    assert title in page.splitlines()


def test_page_names_the_blas(page):
    assert re.search(r"BLAS of NumPy +\S+", page)


def test_page_says_how_many_threads_there_are(page):
    assert re.search(r"threads +[1-9]\d* for large kernels and matrix products, on [1-9]\d* core", page)


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)
def test_page_names_the_setting(page, setting):
    assert f"TWOFOLD_{setting.name.upper()}" in page


def test_every_variable_that_the_code_reads_is_listed():
    text = "".join(path.read_text(encoding="utf-8") for folder in ("src", "backends") for path in (ROOT / folder).rglob("*.py"))
    read = set(re.findall(r'environ(?:\.get\(|\[)"((?:TWOFOLD|MXNET)_[A-Z_]+)"', text))
    assert read - set(VARIABLES) - {f"TWOFOLD_{setting.name.upper()}" for setting in TABLE} == set()


def test_unknown_variable_is_pointed_out(monkeypatch, capsys):
    monkeypatch.setenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", "0")
    main(["doctor"])
    assert re.search(r"MXNET_CUDNN_AUTOTUNE_DEFAULT +set, but has no effect", capsys.readouterr().out)


@pytest.fixture
def machine(monkeypatch, tmp_path, capsys):
    """A machine with or without a driver and CuPy, and with a scripted GPU adapter; returns the report's section about GPUs."""
    monkeypatch.delenv("TWOFOLD_BACKEND_GPU", raising=False)
    monkeypatch.delenv("TWOFOLD_FAKE_GPUS", raising=False)

    def page(adapter, *, driver="", cupy="14.2.0"):
        version = tmp_path / "version"
        if driver:
            version.write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}\nGCC version: gcc\n")
        monkeypatch.setattr(doctor, "DRIVER", version)
        monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
        monkeypatch.setattr(doctor, "_installed", lambda package: cupy if package == "cupy-cuda12x" else None)
        entries = [e for e in loader.entry_points(group=loader.GROUP) if e.name != "cupy"]
        given = [*entries, SimpleNamespace(name="cupy", load=lambda: adapter)]
        monkeypatch.setattr(loader, "entry_points", lambda group: given)
        monkeypatch.setattr(doctor, "entry_points", lambda group: given)
        forget_backends()
        assert main(["doctor"]) == 0, "the CPU is of use all the same"
        return capsys.readouterr().out.split("\nGPU\n", 1)[1].split("\n\n")[0]

    yield page
    monkeypatch.undo()
    forget_backends()


def raising(error):
    def adapter():
        raise error

    return adapter


def refusing(status):
    """An adapter for which CUDA fails, with CuPy's error."""
    error = RuntimeError("cudaError")
    error.status = status
    return raising(importlib.import_module("twofold_cupy.failures").unavailable(error))


def test_without_cupy_the_page_says_what_to_install_where_there_is_a_driver(machine):
    missing = raising(ImportError("No module named 'cupy'"))
    page = machine(missing, driver="570.1", cupy=None)
    assert re.search(r"NVIDIA driver +found: NVRM version: .* 570\.1", page)
    assert re.search(r"CuPy +not installed; pip install 'twofold\[cuda12\]' to use the GPU \(cuda13", page)
    assert re.search(r"mx\.gpu\(0\) +not usable: .*No module named 'cupy'", page)


def test_without_cupy_and_driver_nothing_needs_installing(machine):
    page = machine(raising(ImportError("No module named 'cupy'")), cupy=None)
    assert "not found: no NVIDIA GPU is visible on this machine" in page
    assert re.search(r"CuPy +not installed$", page, re.MULTILINE)


OLD = (
    "there is no NVIDIA driver, or it is older than CuPy's CUDA; use mx.cpu(), or install a newer driver, or CuPy for an older CUDA: "
    "pip install 'twofold[cuda12]'"
)


@pytest.mark.parametrize(
    ("status", "driver", "says"),
    [
        (35, "", OLD),
        (
            35,
            "450.80",
            OLD,
        ),
        (100, "570.1", "no GPU is visible; use mx.cpu(), or check nvidia-smi and CUDA_VISIBLE_DEVICES"),
        (34, "", "the CUDA driver is a stub; use mx.cpu(), or run on a machine with an NVIDIA GPU"),
        (46, "570.1", "all GPUs are busy, or not available to this process; use mx.cpu(), or check the compute mode in nvidia-smi"),
    ],
)
def test_cuda_failures_are_explained_with_what_to_do(machine, status, driver, says):
    pytest.importorskip("cupy")
    page = machine(refusing(status), driver=driver)
    assert ("found: NVRM" in page) == bool(driver)
    assert re.search(r"CuPy +cupy-cuda12x 14\.2\.0", page)
    assert says in page


def test_no_visible_device_is_pointed_out(machine, monkeypatch):
    pytest.importorskip("cupy")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "none: CUDA_VISIBLE_DEVICES is empty" in machine(refusing(100), driver="570.1")


def test_an_adapters_capabilities_are_one_line():
    target = Target("cupy", "gpu", row_reductions=True, epilogues=frozenset({"bias"}), keeps_scratch=False)
    assert capabilities(target) == "serves gpu: cupy (row reductions; epilogues bias)"
    assert capabilities(Target("plain", "cpu", keeps_scratch=False)) == "serves cpu: plain"


def test_devices_are_listed_with_their_memory(machine):
    memory = {0: (3 << 30, 4 << 30), 1: (1 << 29, 4 << 30)}

    def memory_info(device):
        if device.device_id not in memory:
            raise DeviceError("gpu: the memory is full", "CUDA status 2", "look at nvidia-smi")
        return memory[device.device_id]

    found = [("cublas", "not found: matrix products need it")]
    target = Target("cupy", "gpu", libraries=lambda: found)
    served = SimpleNamespace(target=target, device_count=lambda: 3, memory_info=memory_info)
    page = machine(lambda: served, driver="570.1")
    assert re.search(r"cublas +not found: matrix products need it", page)
    assert re.search(r"mx\.gpu\(2\) +not usable: .*the memory is full", page)
    assert re.search(r"mx\.gpu\(0\) +served by cupy; 3\.0 of 4\.0 GiB free", page)
    assert re.search(r"mx\.gpu\(1\) +served by cupy; 0\.5 of 4\.0 GiB free", page)


def test_without_a_program_the_command_line_asks_for_one(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "PROGRAM" in capsys.readouterr().err


def test_it_begins_with_what_works_and_what_would_be_faster(monkeypatch, capsys):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(SETTINGS, "threads", 1)
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    main(["doctor"])
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert lines[0] == "ok     mx.cpu(0) works"
    assert "slow   every operation runs at once, and nothing is fused: unset TWOFOLD_ENGINE and MXNET_ENGINE_TYPE" in lines
    assert "slow   OpenBLAS uses the kernels of another processor (Haswell): unset OPENBLAS_CORETYPE" in lines
    assert "slow   large kernels and matrix products use one of 4 cores: unset TWOFOLD_THREADS" in lines


def test_a_device_that_does_not_work_is_broken(monkeypatch):
    def failing(device):
        raise DeviceError("no device")

    monkeypatch.setattr(advice, "backend_for", failing)
    found = [a for a in advices(has_driver=True) if a.level == "broken"]
    assert [a.found for a in found] == ["mx.cpu(0): no device", "mx.gpu(0): no device"]

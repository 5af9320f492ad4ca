"""Pytest plugin: suites with gpu(0) as the default context, ``pytest -p tests.on_gpu tests/ndarray …``.

The GPUs are simulated or, with TWOFOLD_TEST_GPU=device, real. Fixtures that provide fake GPUs provide these instead. Each test
has one of the simulation's schedules, drawn from its name. Tests that apply to the CPU only are listed in `tests.gpu_exceptions`.
``--every N`` runs one test in N, selected by name, and ``--share K`` another N-th of them for each K. ``python -m tests.on_gpu`` prints
the suites that are run this way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

import pytest

import twofold as mx
from twofold.backend.loader import backend_for

from tests import devices
from tests.cases import BEFORE, CHOSEN, is_chosen, names_of
from tests.fakes import simulation
from tests.gpu_exceptions import EXCEPTIONS, REAL_EXCEPTIONS, is_exception

REAL = os.environ.get("TWOFOLD_TEST_GPU") == "device"
#: The suites that are run this way.
SUITES = tuple(f"tests/{name}" for name in ("ndarray", "numpy", "ops", "symbol", "module", "gluon", "training", "user_code", "sparse"))
#: The number of simulated GPUs: the most that any fixture provides as fakes.
COUNT = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--every``."""
    parser.addoption("--every", type=int, default=1, help="run one test of so many, spread by their names: of all suites")
    parser.addoption("--share", type=int, default=0, help="of the parts that --every makes, the number of the one to run, from 0")


def pytest_configure(config: pytest.Config) -> None:
    """Set up GPUs before anything of the suites is imported."""
    os.environ["TWOFOLD_BACKEND_GPU"] = "cupy"
    os.environ.pop("TWOFOLD_FAKE_GPUS", None)
    if not REAL:
        if why := simulation.missing():
            pytest.exit(f"CuPy cannot be simulated: {why}", 1)
        simulation.install().devices(COUNT)
    devices.instead = offered
    BEFORE.append(draw_schedule)
    # what takes the CPU where a program names no device, whatever the default context is
    for kind in (mx.mod.Module, mx.mod.BucketingModule):
        kind.__init__.__defaults__ = tuple(mx.gpu(0) if d == mx.cpu() else d for d in kind.__init__.__defaults__)
    mx.model.FeedForward.__init__.__defaults__ = (mx.gpu(0), *mx.model.FeedForward.__init__.__defaults__[1:])


@contextmanager
def offered(count: int, schedule: str = "late") -> Iterator[list[mx.Context]]:
    """Replaces `tests.devices.fake_gpus`: the same number of these GPUs."""
    if mx.num_gpus() < count:
        pytest.skip(f"needs {count} GPUs")
    if not REAL:
        simulation.install().schedule("eager" if schedule == "eager" else "late")
    yield [mx.gpu(k) for k in range(count)]
    mx.nd.waitall()


def hash_of(nodeid: str) -> int:
    """A test's number: a uniform, stable hash of its name."""
    return crc32(nodeid.encode())


def draw_schedule(name: str) -> None:
    """Give the simulation the schedule of a test, or of a case of one."""
    if not REAL:
        number = hash_of(name)
        simulation.install().schedule(simulation.SCHEDULES[number % 3], number)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests for the CPU only and those outside the sample; a sample of all suites finds exceptions that name no test."""
    every, share = config.getoption("every"), config.getoption("share")
    names = {i: names_of(i) for i in items}
    every_name = [name for of in names.values() for name in of]
    stale = [start for start in EXCEPTIONS + REAL_EXCEPTIONS if every > 1 and not any(n.startswith(start) for n in every_name)]
    if stale:
        raise pytest.UsageError(f"tests/gpu_exceptions.py: no test's name begins with {', '.join(stale)}")
    CHOSEN.append(lambda name: hash_of(name) % every == share % every and not is_exception(name, REAL))
    kept = {i for i in items if any(map(is_chosen, names[i]))}
    config.hook.pytest_deselected(items=[i for i in items if i not in kept])
    items[:] = [i for i in items if i in kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Run a test with gpu(0) as the default context."""
    draw_schedule(item.nodeid)
    with mx.gpu(0):
        found = yield
    assert backend_for(mx.gpu(0)).target.name == "cupy", f"{item.nodeid} has left other GPUs behind"
    return found


if __name__ == "__main__":
    print(*SUITES)

"""An adapter is listed wherever it must be: packaged, found, checked and tested."""

import tomllib

import pytest

from .sources import ROOT
from tests.backend.test_conformance import ADAPTERS

PACKAGES = sorted(path.parent.name for path in (ROOT / "backends").glob("*/__init__.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOLS = PROJECT["tool"]
CONTRACTS = {contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]}
# CuPy runs its suite on a GPU or a simulated one, in tests/cupy
WITHOUT_HARDWARE = [name for name in PACKAGES if name != "twofold_cupy"]
LISTS = {
    "entry points": [place.partition(":")[0] for place in PROJECT["project"]["entry-points"]["twofold.backends"].values()],
    "wheel": [path.removeprefix("backends/") for path in TOOLS["hatch"]["build"]["targets"]["wheel"]["packages"]],
    "ruff's known-first-party": TOOLS["ruff"]["lint"]["isort"]["known-first-party"],
    "import-linter's root_packages": TOOLS["importlinter"]["root_packages"],
    "contract core": CONTRACTS["core"]["forbidden_modules"],
    "contract adapters": CONTRACTS["adapters"]["source_modules"],
    "contract strangers": CONTRACTS["strangers"]["modules"],
}


@pytest.mark.parametrize("place", LISTS)
def test_pyproject_lists_every_adapter(place):
    assert set(PACKAGES) <= set(LISTS[place]), f"add the adapter to {place} in pyproject.toml"


@pytest.mark.parametrize("package", WITHOUT_HARDWARE)
def test_the_conformance_suite_runs_on_every_adapter(package):
    tested = {type(backend).__module__.partition(".")[0] for backend, _ in ADAPTERS.values()}
    assert package in tested, "add the adapter to ADAPTERS in tests/backend/test_conformance.py"

"""The import contracts of pyproject.toml, on a small tree made for them: kept by good imports, broken by bad ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.house.sources import ROOT
from tools.contracts import is_checkable, is_there, narrowed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
PACKAGES = [*(f"src/twofold{part}" for part in ("", "/opdef", "/backend", "/ndarray")), "backends/twofold_numpy", "backends/twofold_fake"]
GOOD = {
    "src/twofold/backend/protocol.py": "from ..errors import DeviceError",
    "src/twofold/errors.py": "import numpy",
    "src/twofold/opdef/spec.py": "from ..errors import ShapeError",
    "src/twofold/ndarray/array.py": "from ..opdef import spec\nfrom ..backend import protocol\nimport numpy",
    "backends/twofold_numpy/adapter.py": "import numpy\nfrom twofold.backend.protocol import Backend\nfrom twofold.errors import A",
}
# What breaks each contract, by its id.
BAD = {
    "layers": {"src/twofold/backend/loader.py": "def f():\n    from ..opdef import spec"},
    "pure": {"src/twofold/opdef/spec.py": "import numpy"},
    "apart": {"src/twofold/opdef/spec.py": "from ..backend import loader"},
    "root": {"src/twofold/opdef/spec.py": "import twofold"},
    "core": {"src/twofold/backend/loader.py": "import twofold_numpy"},
    "adapters": {"backends/twofold_numpy/adapter.py": "from twofold.opdef import spec"},
    "strangers": {"backends/twofold_numpy/adapter.py": "import twofold_fake"},
}


def verdicts(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """KEPT or BROKEN for each contract by its id, on a tree of these files."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools/contracts.py", folder / "tools")
    for path, text in ({f"{package}/__init__.py": "" for package in PACKAGES} | dict(files)).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    wide = {**os.environ, "COLUMNS": "200"}  # else a long name may be broken over two lines
    command = [sys.executable, "tools/contracts.py"]
    output = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False).stdout
    found = dict(re.findall(r"^(.+?) (KEPT|BROKEN)", output, re.MULTILINE))
    return {contract["id"]: found[contract["name"]] for contract in CONTRACTS}


def test_good_imports_keep_every_contract(tmp_path: Path):
    assert verdicts(tmp_path, GOOD) == {contract["id"]: "KEPT" for contract in CONTRACTS}


def test_a_bad_import_is_known_for_every_contract():
    assert set(BAD) == {contract["id"] for contract in CONTRACTS}


@pytest.mark.parametrize("contract", BAD)
def test_a_bad_import_breaks_its_contract(tmp_path: Path, contract: str):
    assert verdicts(tmp_path, BAD[contract])[contract] == "BROKEN"


def test_a_package_that_has_no_layer_breaks_the_layers(tmp_path: Path):
    assert verdicts(tmp_path, {"src/twofold/stray/__init__.py": ""})["layers"] == "BROKEN"


def test_a_pattern_and_a_stranger_are_always_there():
    assert is_there("twofold.**")
    assert is_there("numpy")
    assert not is_there("twofold.no_such_module")


def test_a_contract_with_an_empty_list_is_left_out():
    assert not is_checkable(narrowed({"source_modules": ["twofold.no_such_module"], "forbidden_modules": ["numpy"]}))
    assert not is_checkable({"modules": ["twofold_numpy"]})

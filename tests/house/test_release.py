"""The contents of a release: one version everywhere, and a wheel with the packages and nothing else."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.house.sources import ROOT, budgets, text_files, tracked_paths

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def newest_version(changelog: str) -> str:
    """The version of the topmost section of a changelog."""
    match = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert match, "the changelog has no section with a version: write one, `## 1.2.3 (date)`"
    return match.group(1)


def missing_modules(entry_points: str, names: set[str]) -> set[str]:
    """The modules that the entry points of a wheel name and its files do not hold."""
    ini = configparser.ConfigParser(delimiters="=")
    ini.read_string(entry_points)
    modules = {value.partition(":")[0] for section in ini.sections() for value in ini[section].values()}
    return {module for module in modules if not names & {f"{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py")}}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / "src/twofold/__init__.py").exists():
        pytest.skip("src/twofold has no __init__.py yet")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    build = subprocess.run(command, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_newest_section_of_a_changelog_is_found():
    assert newest_version("# Changes\n\n## 1.2.0 (unreleased)\n\n## 1.1.0\n") == "1.2.0"


def test_a_changelog_without_a_section_is_refused():
    with pytest.raises(AssertionError, match="no section with a version"):
        newest_version("# Changes\n")


def test_an_entry_point_without_its_module_is_found():
    text = "[console_scripts]\nrun = a.command:main\n\n[a.backends]\nnumpy = a_numpy:Backend\n"
    assert missing_modules(text, {"a/command/__init__.py"}) == {"a_numpy"}


def test_the_changelog_begins_with_the_version_of_the_project():
    changelog = next(source.text for source in text_files() if source.path == "CHANGELOG.md")
    assert newest_version(changelog) == PROJECT["project"]["version"]


@pytest.mark.slow
def test_the_wheel_is_small(wheel: Path):
    assert wheel.stat().st_size < budgets()["caps"]["wheel_bytes"]


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_nothing_else(names: set[str]):
    packages = {path.rpartition("/")[2] for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops <= packages
    assert {"twofold/__init__.py", "twofold/py.typed"} <= names


@pytest.mark.slow
def test_the_wheel_holds_the_data_beside_the_modules(names: set[str]):
    tracked = {path.partition("/")[2] for path in tracked_paths() if path.startswith(("src/", "backends/"))}
    assert {path for path in tracked if path.endswith((".json", ".toml"))} <= names


@pytest.mark.slow
def test_the_wheel_holds_every_module_that_an_entry_point_names(wheel: Path, names: set[str]):
    listing = next(name for name in names if name.endswith(".dist-info/entry_points.txt"))
    with zipfile.ZipFile(wheel) as archive:
        assert not missing_modules(archive.read(listing).decode(), names)

"""The libraries' own environment: packages by name from the index that pip is configured for, and unmodified sources beside it."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tomllib
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
#: What is installed where, and what is left out for which reason.
TABLE = Path(__file__).with_name("libraries.toml")
FOLDER = ROOT / ".venv-libraries"
SIDES = ("twofold", "mxnet")


def python() -> Path:
    """The environment's interpreter."""
    return FOLDER / "bin" / "python"


def oracle() -> Path:
    """The command that runs MXNet 1.9.1."""
    return Path(os.environ.get("TWOFOLD_ORACLE", ROOT.parent / "shared" / "tools" / "oracle"))


@cache
def table() -> dict[str, Any]:
    """The table of libraries, read."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Library:
    """A row of the table.

    Attributes
    ----------
    name, version, package
        The distribution's, and the package that it has.
    folder
        The folder of the package inside the source distribution.
    zoo
        The module of `inside` that lists its networks; empty if there is none.
    tests
        What pytest runs, below the unpacked sources.
    extensions
        Files of Cython that its modules import.
    ignored
        Modules and tests that are left out, with the reasons.
    mended
        Changes of the sources, with what a Python or a package of today has broken without Twofold.
    excepted
        Tests and networks that may fail, with the reasons.
    """

    name: str
    version: str
    package: str
    folder: str
    zoo: str
    tests: tuple[str, ...]
    extensions: tuple[str, ...]
    own_packages: tuple[str, ...]
    ignored: dict[str, str]
    excepted: dict[str, str]
    mended: tuple[dict[str, str], ...]

    @property
    def title(self) -> str:
        """The name and version."""
        return f"{self.name}-{self.version}"

    @property
    def unpacked(self) -> Path:
        """Where the source distribution is."""
        return FOLDER / "sources" / self.title

    @property
    def source(self) -> Path:
        """The folder that is put on the module path."""
        return self.unpacked / self.folder

    def extras(self, side: str) -> list[Path]:
        """What else is on the module path: packages that only this library needs, stand-ins and, for MXNet, all packages."""
        return [FOLDER / "own" / self.title, FOLDER / "stand_ins", *([FOLDER / "mxnet"] if side == "mxnet" else [])]


def libraries() -> list[Library]:
    """All rows."""
    return [
        Library(
            name=row["name"],
            version=row["version"],
            package=row["package"],
            folder=row.get("folder", ""),
            zoo=row.get("zoo", ""),
            tests=tuple(row.get("tests", ())),
            extensions=tuple(row.get("extensions", ())),
            own_packages=tuple(row.get("own_packages", ())),
            ignored=row.get("ignored", {}),
            excepted=row.get("excepted", {}),
            mended=tuple(row.get("mended", ())),
        )
        for row in table()["library"]
    ]


def run(*words: str | Path) -> None:
    """Run a command; its error output is shown if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}")


def pip(side: str) -> list[str | Path]:
    """The command that installs packages for a side; MXNet's own environment stays as it is."""
    return [python() if side == "twofold" else oracle(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def has_oracle() -> bool:
    """Whether MXNet is there to be compared with."""
    return oracle().exists()


def install() -> None:
    """Make the environment, once: after a change of the table, remove the folder ``.venv-libraries`` first."""
    done = FOLDER / "ready"
    if done.exists() and done.read_bytes() == TABLE.read_bytes():
        return
    if not python().exists():
        venv.create(FOLDER, with_pip=True)
    packages = table()["packages"]
    run(*pip("twofold"), "--editable", f"{ROOT}[jit,image]", *packages["twofold"])
    if has_oracle():
        run(*pip("mxnet"), "--upgrade", "--target", FOLDER / "mxnet", *packages["mxnet"])
    for name, text in table()["stand_ins"].items():
        path = FOLDER / "stand_ins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for library in libraries():
        unpack(library)
        for side in SIDES if has_oracle() else SIDES[:1]:
            compile_extensions(library, side)
        if library.own_packages:
            run(*pip("twofold"), "--upgrade", "--no-deps", "--target", FOLDER / "own" / library.title, *library.own_packages)
    done.write_bytes(TABLE.read_bytes())


def index() -> str:
    """The package index that pip is configured for, or else pip's own."""
    program = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    commands = (["-m", "pip", "config", "get", "global.index-url"], ["-c", program])
    found = (subprocess.run([python(), *words], capture_output=True, text=True, check=False).stdout.strip() for words in commands)
    return os.environ.get("PIP_INDEX_URL") or next(text for text in found if text)


def unpack(library: Library) -> None:
    """Fetch the source distribution and unpack it. `pip download` would run its `setup.py`, which needs what is long gone."""
    if library.unpacked.exists():
        return
    page = f"{index().rstrip('/')}/{library.name}/"
    with urlopen(page) as answer:
        links = re.findall(r'href="([^"#]+)', answer.read().decode())
    file = f"{library.name}-{library.version}.tar.gz"
    link = next(link for link in links if link.endswith(file))
    with urlopen(urljoin(page, link)) as answer, tarfile.open(fileobj=answer, mode="r|gz") as archive:
        archive.extractall(FOLDER / "sources", filter="data")
    for change in library.mended:
        path = library.unpacked / change["file"]
        text = path.read_text(encoding="utf-8")
        assert change["old"] in text, f"{library.title}: {change['file']} has no {change['old']!r}"
        path.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")


def compile_extensions(library: Library, side: str) -> None:
    """Compile files of Cython in place."""
    program = ["-c", "import sys; from Cython.Build.Cythonize import main; main(sys.argv[1:])", "-i"]
    for name in library.extensions:
        if side == "twofold":
            run(python(), *program, library.source / name)
        else:
            run("env", f"PYTHONPATH={FOLDER / 'mxnet'}", oracle(), *program, library.source / name)

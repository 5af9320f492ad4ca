"""``twofold doctor --names``: the names of MXNet that sources mention and Twofold lacks."""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..compat import mxnet_alias
from ..errors import MissingFileError, MXNetError, printable
from ..suggestions import WHAT_RUNS, attribute_here
from .mentions import FUNCTIONS, Source, read


class Missing(NamedTuple):
    """A name that Twofold lacks: where it is mentioned, what is missing and what to do, and whether a ``try`` catches it."""

    file: Path
    line: int
    path: str
    text: str
    is_guarded: bool


def report(place: str) -> int:
    """Print the missing names that sources mention, one per line, and how many there are.

    Parameters
    ----------
    place
        A folder, a file, or the name of an installed package.

    Returns
    -------
    int
        1 if a name is missing that no ``try`` guards, else 0.
    """
    sources: dict[Path, Source] = {}
    for file in sources_in(place):
        try:
            sources[file] = read(file.read_bytes())
        except (SyntaxError, ValueError) as error:  # `ValueError` for null bytes
            print(printable(f"{file}:{getattr(error, 'lineno', None) or 1}: not read: {error}"))
    found = missing_in(sources)
    for file, line, _, text, is_guarded in found:
        print(printable(f"{file}:{line}: {text}{' (in a try)' if is_guarded else ''}"))
    names = {mention.path for source in sources.values() for mention in source.mentions if not mention.path.startswith(".")}
    missing = {m.path for m in found}
    print(f"{len(sources)} files mention {len(names)} names of MXNet; {len(missing)} names and attributes are missing in Twofold")
    return int(any(not m.is_guarded for m in found))


def sources_in(place: str) -> list[Path]:
    """The Python files in a folder, a file, or an installed package, which is not imported.

    Raises
    ------
    MissingFileError
        If there is none of these.
    """
    folder = Path(place)
    if not folder.exists():
        # only a package without a dot is found without importing another
        found = find_spec(place.replace("-", "_")) if place.replace("-", "_").isidentifier() else None
        if found is None or found.origin is None:
            raise MissingFileError(f"{place}: no such file, folder or installed package", None, "pass one of these")
        folder = Path(found.origin).parent if found.submodule_search_locations else Path(found.origin)
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]


def missing_in(sources: dict[Path, Source]) -> list[Missing]:
    """What sources that belong together mention and Twofold lacks, by file and line."""
    mxnet_alias.install()
    # names that the sources themselves give to modules of MXNet are there when they run
    assigned = {path for source in sources.values() for path in source.assigned}
    own = _own_attributes(sources.values())
    found: list[Missing] = []
    for file, source in sources.items():
        # once for each line, however often it mentions the name
        for line, path, is_guarded in sorted(set(source.mentions)):
            if path.startswith("."):
                text = None if path[1:] in own else missing_attribute(path[1:])
            else:
                text = None if path in assigned else missing_path(path)
            if text is not None:
                found.append(Missing(file, line, path, text, is_guarded))
    return found


def _own_attributes(sources: Iterable[Source]) -> set[str]:
    """The attributes that the sources' classes define, but for private state of the classes of MXNet that they are derived from."""
    classes = [found for source in sources for found in source.classes]
    # bases are known by their last names only, as other files may import them from anywhere
    ancestors: dict[str, set[str]] = {found.name: set() for found in classes}
    for found in classes:
        ancestors[found.name] |= found.bases | {name for path in found.of_mxnet for name in _lineage(path)}
    grows = True
    while grows:
        grows = False
        for names in ancestors.values():
            more = set().union(*(ancestors.get(name, ()) for name in names)) - names
            names |= more
            grows |= bool(more)
    return {name for found in classes for name in found.attributes if not _kinds_with(name) & ancestors[found.name]}


def _lineage(path: str) -> list[str]:
    """The names of a class of MXNet and its bases; none if Twofold lacks it."""
    found = _found(path)
    return [kind.__name__ for kind in found.__mro__] if isinstance(found, type) else []


def _kinds_with(name: str) -> set[str]:
    """The last names of the classes of MXNet that have a private attribute which Twofold's lack."""
    return {kind.rpartition(".")[2] for kind, names in _table().items() if name in names}


@cache
def missing_path(path: str) -> str | None:
    """What is missing of a dotted path of MXNet, and what to do; None if all of it is there."""
    # what is in one of the two may be meant for that one only
    if path.partition(".")[0] == FUNCTIONS:
        inner = path.partition(".")[2]
        absent = [_absent(f"mxnet.{module}.{inner}") for module in ("ndarray", "symbol")]
        return absent[0] if all(absent) else None
    return _absent(path)


def _absent(path: str) -> str | None:
    found = _found(path)
    return str(found) if isinstance(found, MXNetError) else None


def _found(path: str) -> object:
    """What a dotted path of MXNet names, or the error that says what is missing."""
    # through the alias, so that each name is found as the program will find it
    root, *names = path.split(".")
    found: object = import_module(root)
    for name in names:
        try:
            found = getattr(found, name)
        except MXNetError as error:
            return error
        except AttributeError:
            return MXNetError(f"{path}: Twofold does not have it", None, attribute_here(found, name) or WHAT_RUNS)
    return found


@cache
def _table() -> dict[str, dict[str, str]]:
    """The private attributes of MXNet's objects that Twofold's lack, by class, with what to use instead."""
    return tomllib.loads(Path(mxnet_alias.__file__).with_name("missing_attributes.toml").read_text(encoding="utf-8"))


def missing_attribute(name: str) -> str | None:
    """Which class of MXNet has a private attribute that Twofold's class lacks, and what to do; None if there is no such class."""
    # several classes may lack it: which one is meant cannot be read from the source
    rows = [(kind, names[name]) for kind, names in _table().items() if name in names]
    if not rows:
        return None
    kinds, todo = " or ".join(kind for kind, _ in rows), next((todo for _, todo in rows if todo), WHAT_RUNS)
    return f"{name}: private state of {kinds} in MXNet, which Twofold does not have; {todo}"

"""Models in several files, beside an index ``model.safetensors.index.json`` that names the file of each array."""

from __future__ import annotations

import os
from collections.abc import Collection

from ..errors import FormatError, MissingFileError
from .files import Name, read_file
from .json_text import parse_json

INDEX = ".index.json"


def shards_of(path: Name, suffix: str, names: Collection[str] | None = None) -> dict[str, list[str]]:
    """The files of a model, each with the names of its arrays.

    Parameters
    ----------
    path
        The index, or a local folder that holds an index or a single file.
    suffix
        The suffix of the files, such as ``".safetensors"``.
    names
        The arrays that are wanted; None for all. Of the others, files are not listed.

    Raises
    ------
    FormatError
        If the index is damaged, or names files of other folders.
    MissingFileError
        If the folder holds neither.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        name = _in_folder(name, suffix)
        if not name.endswith(INDEX):
            return {name: []}
    index = parse_json(read_file(name), "index")
    table = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(table, dict) or not table:
        raise FormatError(
            "index: no object 'weight_map' from arrays to files", type(index).__name__, "pass the index of a model", path=name
        )
    # a URL's folder ends at a slash as well
    folder = name[: max(name.rfind("/"), name.rfind(os.sep)) + 1]
    found: dict[str, list[str]] = {}
    for array, file in table.items():
        # an index from elsewhere must not read files that are none of the model's
        if not isinstance(file, str) or not file.endswith(suffix) or "/" in file or "\\" in file or "\0" in file:
            raise FormatError(f"index: array {array!r} is in no {suffix} file beside it", repr(file)[:80], path=name)
        if names is None or array in names:
            found.setdefault(folder + file, []).append(array)
    return found


def _in_folder(folder: str, suffix: str) -> str:
    files = sorted(os.listdir(folder))
    for ending in (suffix + INDEX, suffix):
        matching = [file for file in files if file.endswith(ending)]
        if len(matching) == 1:
            return os.path.join(folder, matching[0])
        if matching:
            raise FormatError(f"{folder}: several files *{ending}", ", ".join(matching[:5]), "name one of them")
    raise MissingFileError(f"{folder}: no file *{suffix}", None, "pass the folder of a model, or one of its files")

"""The SHA-1 checksums of the files of published image datasets, and the warning about a file with another checksum."""

import json
from hashlib import sha1
from pathlib import Path

from ....config import SETTINGS
from ....errors import FormatError
from ....origin import warn

#: Checksums that MXNet 1.9.1 expects (`_train_data` and its siblings of its datasets), by dataset and name of file.
SUMS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))

#: Path, name and checksum of the files that a warning has named.
_named: set[tuple[str, str, str]] = set()


def check_published(title: str, source: str, name: str, content: bytes, sums: dict[str, str]) -> None:
    """Warn once per file that is not the published file of its name: results trained on it compare with no published figure.

    MXNet would download it again. Test files, subsets and reconstructions are read too.

    Parameters
    ----------
    title
        The dataset, for messages.
    source, name
        The file of the content, and the dataset's name for it. Names without a known checksum are not checked.
    content
        The content of the file.
    sums
        Checksums by name.

    Raises
    ------
    FormatError
        If the checksum is another one and the setting ``strict`` is on (``TWOFOLD_STRICT=1``).
    """
    wanted = sums.get(name)
    found = sha1(content, usedforsecurity=False).hexdigest() if wanted else None
    if found == wanted:
        return
    todo = "download it again, unless you made it"
    error = FormatError(f"{title}: {name} is not the published file", f"SHA-1 {found}, not {wanted}", todo).at_path(source)
    if SETTINGS.strict:
        raise error
    if (source, name, str(found)) not in _named:
        _named.add((source, name, str(found)))
        warn(f"{error} (it is read all the same; TWOFOLD_STRICT=1 makes this an error)")

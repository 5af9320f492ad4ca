"""The files by which processes of a cluster tell ``twofold launch`` that they have finished, and where the last checkpoint is."""

import os
from pathlib import Path

#: The environment variable with the folder's name.
FOLDER = "TWOFOLD_RUN_FOLDER"
#: The file that a worker writes when it has finished, and the file that holds the name of the last checkpoint.
FINISHED, LAST_CHECKPOINT = "finished", "last-checkpoint"
#: The file in which a process that has finished without a store writes its name.
WITHOUT_STORE = "without-store"


def notes_folder() -> Path | None:
    """The folder; None where no launcher would read it: outside a cluster, and on other machines than the launcher's."""
    name = os.environ.get(FOLDER)
    return Path(name) if name and os.path.isdir(name) else None


def last_checkpoint(folder: Path | None) -> str:
    """The name of the last checkpoint; empty before the first."""
    note = None if folder is None else folder / LAST_CHECKPOINT
    return note.read_text(encoding="utf-8").strip() if note is not None and note.is_file() else ""

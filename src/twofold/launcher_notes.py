"""What ``twofold launch`` and the processes that it starts tell each other, by environment variables and by files in a folder of notes."""

import os
from collections.abc import Mapping
from pathlib import Path

from .errors import ParameterError

#: The environment variable with the folder's name.
FOLDER = "TWOFOLD_RUN_FOLDER"
#: The file that a worker writes when it has finished, and the file that holds the name of the last checkpoint.
FINISHED, LAST_CHECKPOINT = "finished", "last-checkpoint"
#: The file in which a process that has finished without a store writes its name.
WITHOUT_STORE = "without-store"


def notes_folder() -> Path | None:
    """The folder; None if no launcher would read it: outside a cluster, and on machines other than the launcher's."""
    name = os.environ.get(FOLDER)
    return Path(name) if name and os.path.isdir(name) else None


def last_checkpoint(folder: Path | None) -> str:
    """The name of the last checkpoint; empty before the first."""
    note = None if folder is None else folder / LAST_CHECKPOINT
    return note.read_text(encoding="utf-8").strip() if note is not None and note.is_file() else ""


#: The variable in which a spare that has taken the place of a worker keeps that worker's number.
PLACE = "TWOFOLD_PLACE"
#: Variables that hold a process's number: `PLACE`, and those of Open MPI, MPICH and Slurm.
RANKS = (PLACE, "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


def launched() -> tuple[int, int]:
    """The number of this process and the number of workers that ``twofold launch`` has started; (0, 1) outside it.

    Raises
    ------
    ParameterError
        If an environment variable is no number.
    """
    if "TWOFOLD_WORKERS" not in os.environ:
        return 0, 1
    rank = next((name for name in RANKS if name in os.environ), PLACE)
    return number_in(os.environ, rank), number_in(os.environ, "TWOFOLD_WORKERS")


def number_in(environment: Mapping[str, str], name: str, default: int = 0) -> int:
    """An environment variable that holds a number of processes, or another integer of 0 or more.

    Parameters
    ----------
    environment
        The variables.
    name
        Its name.
    default
        The number if it is not set.

    Raises
    ------
    ParameterError
        If it is no such number.
    """
    text = environment.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.strip().isdecimal():
        todo = "set it to an integer of 0 or more, or unset it; twofold launch -n WORKERS SCRIPT sets those of a cluster"
        raise ParameterError(f"the environment variable {name} is no number", repr(text), todo)
    return int(text)

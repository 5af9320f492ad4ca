"""What ``twofold launch`` and the processes that it starts tell each other, by environment variables and by files in a folder of notes."""

import os
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
    rank = next((name for name in RANKS if name in os.environ), None)
    numbers = os.environ[rank] if rank else "0", os.environ["TWOFOLD_WORKERS"]
    if not all(number.strip().isdecimal() for number in numbers):
        given = f"TWOFOLD_WORKERS, {rank}"
        raise ParameterError("a variable of the launcher is no number", given, "use an integer of 0 or more")
    return int(numbers[0]), int(numbers[1])

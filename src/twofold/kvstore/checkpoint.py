"""Checkpoints of a whole cluster: each worker writes its share, and the checkpoint counts once all shares are written.

A checkpoint is an index, ``step-0000120.json``, and the files that it lists. The index is written last, so a checkpoint is whole or does
not exist, whichever process dies in between.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import numpy as np

from ..checkpoint import note_checkpoint
from ..dtype import ITEMSIZE
from ..errors import ClusterError, FormatError, MissingFileError, ParameterError
from ..formats.files import folder_entries, folder_exists, join_path, make_folder, read_file, remove_file, write_file
from ..formats.json_text import parse_json
from ..formats.records import Buffer
from ..imperative.generator import numpy_state
from ..ndarray.array import NDArray
from ..ndarray.saving import file_chunks, load_frombuffer
from ..random import get_state, set_state

VERSION = 2
#: The first version whose files all have a checksum.
CHECKED = 2
#: How often a checkpoint is written until all workers have the same states of the optimizer.
ATTEMPTS = 3
INDEX = re.compile(r"step-(\d{7,})\.json")
#: The index of a checkpoint, its other files, and the temporary files that a killed process has left of them.
FILES = re.compile(r"step-(\d{7,})(?:\.json|-\d+-of-\d+\..*)|\.step-(\d{7,})(?:\.json|-\d+-of-\d+)\..*\.tmp")
CHECKSUM = re.compile(rb'\{"checksum": (\d{1,10}), ')

Folder = str | PathLike[str]


class CheckpointStore(Protocol):
    """The part of a store that checkpoints use."""

    @property
    def rank(self) -> int:
        """The number of this worker."""
        ...

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        ...

    def _barrier(self) -> None: ...

    def _live_workers(self) -> list[int]: ...


@dataclass(frozen=True)
class ClusterCheckpoint:
    """The contents of a checkpoint.

    Attributes
    ----------
    step
        The checkpoint's number.
    arrays
        All arrays by name.
    own
        The value of ``own`` that this worker passed; None if the checkpoint was written by another number of workers.
    all_own
        The values of ``own`` of all workers that wrote the checkpoint.
    """

    step: int
    arrays: dict[str, NDArray]
    own: Any
    all_own: list[Any]
    _files: "_Files"
    _states: list[int] | None

    def load_states(self, load_states: Callable[[str], object]) -> None:
        """Load the optimizer's states, after the weights have been set.

        Parameters
        ----------
        load_states
            Reads them from a file: ``trainer.load_states`` or ``module.load_optimizer_states``.

        Raises
        ------
        MissingFileError
            If a file is missing.
        FormatError
            If the checkpoint has no states, or a file is damaged.
        """
        if self._states is None:
            raise FormatError("a checkpoint without states of an optimizer", None, "do not load them", path=self._files.index_name)
        states = bytearray()
        for k, checksum in enumerate(self._states):
            name = self._files.share(k, len(self._states), "states")
            states += _read_checked(name, checksum)
        with _states_file() as name:
            write_file(name, [states])
            load_states(name)


def save_checkpoint(
    folder: Folder,
    step: int,
    store: CheckpointStore,
    arrays: Mapping[str, NDArray],
    save_states: Callable[[str], object] | None = None,
    own: object = None,
    keep: int = 2,
) -> str:
    """Write a checkpoint of all workers. All of them call this with the same step, and each byte is written by one of them.

    Under ``twofold launch --ft`` the workers that are left also write the share of a dead worker.

    Parameters
    ----------
    folder
        A folder that all workers share, or a URL. It is created.
    step
        Number of the checkpoint; higher ones are newer.
    store
        The store of the training.
    arrays
        The weights and auxiliary states by name, the same names on all workers. Each worker writes some of them.
    save_states
        Writes the optimizer's states to a file: ``trainer.save_states`` or ``module.save_optimizer_states``. Each worker writes a part.
    own
        Anything else that this worker needs, such as the state of its iterator, as a value that JSON represents. The random streams of
        ``mx.random`` and ``numpy.random`` are saved as well.
    keep
        How many checkpoints stay in the folder; older ones are removed once this one is whole.

    Returns
    -------
    str
        The name of its index.

    Raises
    ------
    FileAccessError
        If a file cannot be written. The checkpoint then does not exist, even if that step had been written before; older ones are kept.
    ClusterError
        If the states of the optimizer differ between workers.
    ParameterError
        If ``step`` is negative or ``keep`` is below 1, or JSON cannot represent ``own``.
    """
    if step < 0 or keep < 1:
        raise ParameterError("save_checkpoint: no such step, or nothing to keep", f"step={step}, keep={keep}", "pass step >= 0, keep >= 1")
    try:
        json.dumps(own)  # before the others wait for this worker
    except (TypeError, ValueError) as error:
        raise ParameterError("save_checkpoint: JSON cannot represent `own`", str(error), "pass numbers, strings, lists and dicts") from None
    files, states = _Files(folder, step), [0, 0]
    make_folder(folder)
    # A step that is written again: its index must not count while some shares are new and others old. All workers remove it, each before
    # the first barrier, so no worker writes while it is there.
    remove_file(files.index_name)
    # Both loops run once, unless a process dies. If a server dies, some workers may have its states and others those of its heir, so the
    # states are written again. If a worker dies, the workers that are left divide the shares among themselves again.
    for _ in range(ATTEMPTS):
        wrote, live = list[int](), store._live_workers()  # a barrier: the states must include sums that are still on their way
        while live != wrote:
            wrote = live
            states = _write_part(files, live.index(store.rank), len(live), arrays, save_states, own)
            live = store._live_workers()  # a barrier: all these workers have written their files
        if store.rank == live[0]:
            _commit(files, len(live), keep, save_states is not None)
        store._barrier()  # no worker goes on before the checkpoint is valid, so a later death cannot undo it
        if files.step in _steps(folder) and _json(files.index_name, INDEX_FIELDS).get("states") == states:
            return files.index_name
    given = f"{states[0]} bytes with checksum {states[1]} on worker {store.rank}"
    raise ClusterError("save_checkpoint: the states of the optimizer differ between workers", given, "give all the same updates")


def _write_part(
    files: "_Files", rank: int, workers: int, arrays: Mapping[str, NDArray], save_states: Callable[[str], object] | None, own: object
) -> list[int]:
    """Write the files of one worker. Returns size and checksum of the optimizer's states."""
    mine = _shares(arrays, workers)[rank]
    summed = _Summed(file_chunks("", {name: arrays[name] for name in mine}))
    if mine:
        write_file(files.share(rank, workers, "params"), summed)
    states = b"" if save_states is None else _states(save_states)
    low, high = (len(states) * k // workers for k in (rank, rank + 1))
    if save_states is not None:
        write_file(files.share(rank, workers, "states"), [states[low:high]])
    whole = [len(states), crc32(states)]
    # the checksum of all states shows whether the workers agree, and that of the part whether its file is complete
    about = {"arrays": mine, "params": summed.checksum, "states": whole, "part": crc32(states[low:high]), "own": own}
    write_file(files.share(rank, workers, "json"), [checked_json(about | {"random": get_state(), "numpy": _numpy_state()})])
    return whole


def load_checkpoint(folder: Folder, store: CheckpointStore | None = None, step: int | None = None) -> ClusterCheckpoint:
    """Read a checkpoint. The number of workers may differ from the number that wrote it.

    With the same number the run continues bitwise: weights, the optimizer's states and counts of updates, iterators, and random streams,
    which this function sets. With another number, weights, states and counts continue; the order of the data, random numbers and the
    rounding of sums are those of the new number.

    Parameters
    ----------
    folder
        See `save_checkpoint`.
    store
        The store of the training; a single worker if None.
    step
        Which checkpoint; the newest if None.

    Raises
    ------
    MissingFileError
        If there is no checkpoint.
    FormatError
        If it is damaged.
    """
    rank, workers = (0, 1) if store is None else (store.rank, store.num_workers)
    files = _Files(folder, _newest(folder) if step is None else step)
    index = _json(files.index_name, INDEX_FIELDS)
    if not 1 <= index["version"] <= VERSION:
        given = f"{index['version']}"
        raise FormatError("a checkpoint of another version", given, "read it with that version of twofold", path=files.index_name)
    writers: int = index["workers"]
    is_checked = index["version"] >= CHECKED
    fields = SHARE_FIELDS | ({"params": _is_count} if is_checked else {})
    parts = [_json(files.share(k, writers, "json"), fields, is_checked) for k in range(writers)]
    arrays: dict[str, NDArray] = {}
    for k, part in enumerate(parts):
        if part["arrays"]:
            arrays |= _arrays_of(files.share(k, writers, "params"), part["arrays"], part["params"] if is_checked else None)
    # random streams belong to a worker of a certain rank: with another number of workers there is none to continue
    if writers == workers:
        try:
            numpys = numpy_state(parts[rank]["numpy"])
            set_state(parts[rank]["random"])
        except ValueError as error:
            raise FormatError(f"not the state of random streams: {error}", path=files.share(rank, writers, "json")) from error
        np.random.set_state(numpys)  # noqa: NPY002 - what iterators shuffle by
    every = [part["own"] for part in parts]
    states = [part["part"] for part in parts] if index["has_states"] else None
    return ClusterCheckpoint(files.step, arrays, every[rank] if writers == workers else None, every, files, states)


class _Files(NamedTuple):
    """The names of a checkpoint's files."""

    folder: Folder
    step: int

    @property
    def index_name(self) -> str:
        return join_path(self.folder, f"step-{self.step:07}.json")

    def share(self, rank: int, workers: int, kind: str) -> str:
        """The file of a kind that one of the workers writes: its ``params``, its part of the ``states``, or its ``json``."""
        return join_path(self.folder, f"step-{self.step:07}-{rank}-of-{workers}.{kind}")


def _shares(arrays: Mapping[str, NDArray], workers: int) -> list[list[str]]:
    """The names of the arrays that each worker writes, about equally many bytes: the largest first, to the worker with the fewest."""
    shares, sizes = [[] for _ in range(workers)], [0] * workers
    nbytes = {name: a.size * ITEMSIZE[a._dtype] for name, a in arrays.items()}
    # names decide between arrays of one size: all workers must compute the same shares
    for name in sorted(arrays, key=lambda name: (-nbytes[name], name)):
        least = sizes.index(min(sizes))
        shares[least].append(name)
        sizes[least] += nbytes[name]
    return shares


def _states(save_states: Callable[[str], object]) -> bytes:
    with _states_file() as name:
        save_states(name)
        return read_file(name)


@contextmanager
def _states_file() -> Iterator[str]:
    """The name of a temporary file for the states of an optimizer, which stores write and read by name."""
    import tempfile  # here, as it takes long to load, and few programs write checkpoints of clusters

    with tempfile.TemporaryDirectory() as local:
        yield str(Path(local) / "states")


def _numpy_state() -> list[object]:
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return [kind, np.asarray(keys).tolist(), *rest]


def _commit(files: _Files, workers: int, keep: int, has_states: bool) -> None:
    """Write the index if all workers have written the same states, and remove older checkpoints."""
    said = [_json(files.share(k, workers, "json"), SHARE_FIELDS, True)["states"] for k in range(workers)]
    # without an index the files do not count; `save_checkpoint` writes them once more
    if any(s != said[0] for s in said):
        return
    about = {"version": VERSION, "workers": workers, "has_states": has_states, "states": said[0]}
    write_file(files.index_name, [checked_json(about)])
    # before older ones are removed: the launcher must never be left with the name of a checkpoint that is gone
    note_checkpoint(files.index_name)
    names = folder_entries(files.folder)
    steps = _steps_in(names)
    oldest = steps[max(0, steps.index(files.step) + 1 - keep)]
    # Files of checkpoints that were never finished go, too. The index of a checkpoint goes first: without it the rest does not count.
    for name in sorted(names, key=lambda name: INDEX.fullmatch(name) is None):
        match = FILES.fullmatch(name)
        if match and int(match[1] or match[2]) < oldest:
            remove_file(join_path(files.folder, name))


def _steps(folder: Folder) -> list[int]:
    return _steps_in(folder_entries(folder) if folder_exists(folder) else [])


def _steps_in(names: list[str]) -> list[int]:
    return sorted(int(match[1]) for match in map(INDEX.fullmatch, names) if match)


def _newest(folder: Folder) -> int:
    steps = _steps(folder)
    if not steps:
        raise MissingFileError(f"there is no whole checkpoint in {folder}", todo="write one with mx.kv.save_checkpoint")
    return steps[-1]


class _Summed:
    """Pieces of a file, and their checksum once they have been written."""

    def __init__(self, chunks: Iterable[Buffer]) -> None:
        self._chunks, self.checksum = chunks, 0

    def __iter__(self) -> Iterator[Buffer]:
        for chunk in self._chunks:
            self.checksum = crc32(chunk, self.checksum)
            yield chunk


def _read_checked(name: str, checksum: int | None) -> bytes:
    """The content of a file; a store of objects may return an old or a cut one without an error."""
    content = read_file(name)
    if checksum is not None and crc32(content) != checksum:
        raise FormatError("the file is damaged", None, "use an older checkpoint", path=name)
    return content


def _arrays_of(name: str, names: list[str], checksum: int | None) -> dict[str, NDArray]:
    try:
        found = load_frombuffer(_read_checked(name, checksum))
    except FormatError as error:
        raise error.at_path(name) from None
    if not isinstance(found, dict) or sorted(found) != sorted(names):
        raise FormatError("not the arrays of the index", None, "use an older checkpoint", path=name)
    return found


def checked_json(about: Mapping[str, object]) -> bytes:
    """A value as JSON whose first field is the checksum of all that follows it."""
    rest = json.dumps(about).encode()[1:]
    return b'{"checksum": %d, ' % crc32(rest) + rest


def _json(name: str, fields: Mapping[str, Callable[[Any], bool]], is_checked: bool | None = None) -> dict[str, Any]:
    """The content of a JSON file with the given fields; for each, whether a value is one that `save_checkpoint` writes.

    Whether the file must have a checksum, the version that it names itself decides if that is not given.
    """
    content = read_file(name)
    try:
        found = parse_json(content, "a file of a checkpoint")
    except FormatError as error:
        raise error.at_path(name) from None
    if not isinstance(found, dict) or not fields.keys() <= found.keys():
        raise FormatError("not a file of a checkpoint", None, "use an older checkpoint", path=name)
    wrong = next((key for key, fits in fields.items() if not fits(found[key])), None)
    if wrong is not None:
        raise FormatError(f"not a file of a checkpoint: {wrong}", f"{found[wrong]!r:.80}", "use an older checkpoint", path=name)
    head = CHECKSUM.match(content)
    if head is None and (CHECKED <= found["version"] <= VERSION if is_checked is None else is_checked):
        raise FormatError("the file is damaged: it has no checksum", None, "use an older checkpoint", path=name)
    if head is not None and crc32(content[head.end() :]) != int(head[1]):
        raise FormatError("the file is damaged", None, "use an older checkpoint", path=name)
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_anything(value: object) -> bool:
    return True


INDEX_FIELDS: dict[str, Callable[[Any], bool]] = {
    "version": _is_count,
    "workers": lambda value: _is_count(value) and value > 0,
    "has_states": lambda value: isinstance(value, bool),
}
#: The states of random streams are checked as they are read.
SHARE_FIELDS: dict[str, Callable[[Any], bool]] = {
    "arrays": _are_names,
    "states": _are_counts,
    "part": _is_count,
    **dict.fromkeys(("own", "random", "numpy"), _is_anything),
}

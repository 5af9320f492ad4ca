"""How much memory it takes to iterate over a large file of records: of the process, beside the batches.

    python asv_benchmarks/record_memory.py [gigabytes]

It writes a file of records of 100 kB, each a small JPEG and zeros behind it, which decoders pass over, so that what is timed and measured
is the reading. Then each way of reading runs in a process of its own. Memory is the most that the process had (`VmHWM`), less what it
had after the imports, and less the batches that the iterator holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import twofold as mx

RECORD, SIDE, BATCH = 100_000, 64, 32
BATCH_BYTES = BATCH * 3 * SIDE * SIDE * 4


def write_records(folder: Path, count: int) -> None:
    """Write ``a.rec`` and ``a.idx``."""
    image = mx.recordio.pack_img((0, 1.0, 0, 0), np.full((SIDE, SIDE, 3), 9, "uint8"))
    content = image + bytes(RECORD - len(image))
    file = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    for key in range(count):
        file.write_idx(key, content)
    file.close()


def in_sequence(folder: Path) -> Iterator[object]:
    """The records one after another."""
    file = mx.recordio.MXRecordIO(str(folder / "a.rec"), "r")
    yield from iter(file.read, None)


def at_random(folder: Path) -> Iterator[object]:
    """The records by a random order of their keys."""
    file = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "r")
    for key in np.random.default_rng(0).permutation(file.keys).tolist():
        yield file.read_idx(key)


def image_batches(folder: Path) -> Iterator[object]:
    """`ImageRecordIter`, shuffled, without an index: the headers of all records are read."""
    options = {"path_imgrec": str(folder / "a.rec"), "data_shape": (3, SIDE, SIDE), "batch_size": BATCH, "preprocess_threads": 2}
    yield from mx.io.ImageRecordIter(shuffle=True, prefetch_buffer=2, **options)


def loader(folder: Path) -> Iterator[object]:
    """`DataLoader` over `ImageRecordDataset`, without processes."""
    yield from mx.gluon.data.DataLoader(mx.gluon.data.vision.ImageRecordDataset(str(folder / "a.rec")), BATCH, shuffle=True)


#: Ways of reading, and how many batches each holds at most.
WAYS: dict[str, tuple[Callable[[Path], Iterator[object]], int]] = {
    "in sequence": (in_sequence, 0),
    "at random": (at_random, 0),
    "ImageRecordIter": (image_batches, 5),
    "DataLoader": (loader, 2),
}


def most_bytes() -> int:
    """The most memory that this process has had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def measure(name: str, folder: Path) -> dict[str, float]:
    """Read all of a file in one way."""
    way, held = WAYS[name]
    before, start = most_bytes(), time.perf_counter()
    count = sum(1 for _ in way(folder))
    return {"count": count, "seconds": time.perf_counter() - start, "megabytes": (most_bytes() - before - held * BATCH_BYTES) / 1e6}


def main() -> None:
    """Write the file, and run each way in a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gigabytes", type=float, nargs="?", default=2.0)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_records(Path(folder), int(given.gigabytes * 1e9 / RECORD))
        print(f"a file of {os.path.getsize(Path(folder, 'a.rec')) / 1e9:.2f} GB")
        for name in WAYS:
            command = [sys.executable, __file__, "--way", name, "--folder", folder]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"{name:16} {found['megabytes']:7.1f} MB beside the batches, {found['count']} steps in {found['seconds']:.0f} s")


if __name__ == "__main__":
    main()

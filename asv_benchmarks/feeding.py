"""Times what feeds training, by Twofold, the real MXNet and torch: ``make bench-data``.

Images of two sizes from a file of records, decoded, resized, cropped, mirrored and normalized by two threads or processes; decoding alone
by the same decoder and as many threads; batches of arrays in memory; records read at random; and text files. A script makes the files.
Each library runs in a process of its own, and they take turns, so that other programs disturb all of them: ratios say more than times.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from .workers import ORACLE, ROOT, Worker, answer_commands

if TYPE_CHECKING:
    from collections.abc import Callable

#: An interpreter with torch and torchvision.
TORCH = Path(os.environ.get("TWOFOLD_TORCH", ROOT / ".venv-torch" / "bin" / "python"))
#: Contestants: library and decoder of JPEGs.
CONTESTANTS = {
    "twofold": ("twofold", "simplejpeg"),
    "twofold, Pillow": ("twofold", "pillow"),
    "MXNet": ("mxnet", ""),
    "torch": ("torch", ""),
}
#: What makes the others' interpreters.
INSTALLED = {
    "MXNet": "TWOFOLD_ORACLE names a Python with MXNet 1.9.1",
    "torch": "`make .venv-torch/torchvision` installs it, and prints why if it cannot; or TWOFOLD_TORCH names a Python with torchvision",
}
SIZES = {"500x375": (500, 375), "256x256": (256, 256)}
BATCH, SIDE, SHORT, WORKERS = 50, 224, 256, 2
MEAN, DEVIATION = (124.0, 117.0, 104.0), (58.0, 57.0, 57.0)


PROCESSES = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


# the files


def write_files(folder: Path, images: int, text_bytes: int) -> None:
    """The files that all libraries read: JPEGs of noise that was blurred, which compress to 2.9 bits per pixel; records; text."""
    from PIL import Image

    import twofold as mx

    rng = np.random.default_rng(0)
    for name, size in SIZES.items():
        file = mx.recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w")
        for k in range(images):
            coarse = rng.integers(0, 256, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
            smooth = np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)).astype(int)
            noisy = np.clip(smooth + rng.integers(-8, 9, smooth.shape), 0, 255).astype(np.uint8)
            stream = io.BytesIO()
            Image.fromarray(noisy).save(stream, "JPEG", quality=90)
            file.write_idx(k, mx.recordio.pack(mx.recordio.IRHeader(0, float(k % 10), k, 0), stream.getvalue()))
        file.close()
    file = mx.recordio.MXIndexedRecordIO(str(folder / "small.idx"), str(folder / "small.rec"), "w")
    for k in range(10 * images):
        file.write_idx(k, rng.bytes(4000))
    file.close()
    with open(folder / "a.csv", "w") as csv, open(folder / "a.svm", "w") as svm:
        while csv.tell() < text_bytes:
            csv.writelines(",".join(f"{x:.6g}" for x in row) + "\n" for row in rng.normal(size=(500, 100)))
        while svm.tell() < text_bytes:
            columns = np.sort(rng.integers(0, 10_000, (500, 30)), axis=1)
            for label, row, values in zip(rng.integers(0, 2, 500), columns, rng.normal(size=(500, 30))):  # noqa: B905  (runs in Python 3.8)
                svm.write(f"{label} " + " ".join(f"{c}:{v:.6g}" for c, v in zip(row, values)) + "\n")  # noqa: B905


# the workers; MXNet's runs in Python 3.8


def _records(path: str) -> list[bytes]:
    """The images of a file of records, read without a library."""
    content, at, found = Path(path).read_bytes(), 0, []
    while at < len(content):
        size = struct.unpack_from("<I", content, at + 4)[0] & (2**29 - 1)
        found.append(content[at + 8 + 24 : at + 8 + size])
        at += 8 + (size + 3) // 4 * 4
    return found


def mxnet_tasks(mx: Any, folder: str) -> dict[str, Callable[[], int]]:
    """What Twofold and MXNet do, by name: functions that return how many things they have done."""

    def images(name: str) -> Callable[[], int]:
        batches = mx.io.ImageRecordIter(
            path_imgrec=f"{folder}/{name}.rec",
            data_shape=(3, SIDE, SIDE),
            batch_size=BATCH,
            resize=SHORT,
            rand_crop=True,
            rand_mirror=True,
            preprocess_threads=WORKERS,
            verbose=False,
            **{f"mean_{c}": m for c, m in zip("rgb", MEAN)},  # noqa: B905
            **{f"std_{c}": d for c, d in zip("rgb", DEVIATION)},  # noqa: B905
        )

        def run() -> int:
            batches.reset()
            done = 0
            for batch in batches:
                batch.data[0].wait_to_read()
                done += BATCH
            return done

        return run

    def loader(workers: int) -> Callable[[], int]:
        draw = np.random.RandomState(0)
        arrays = draw.rand(20_000, 28, 28).astype("float32"), np.arange(20_000).astype("float32")
        batches = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(*arrays), batch_size=64, num_workers=workers)
        return lambda: sum(1 for _ in batches)

    def random_reads() -> int:
        file = mx.recordio.MXIndexedRecordIO(f"{folder}/small.idx", f"{folder}/small.rec", "r")
        keys = list(file.keys)
        random.Random(0).shuffle(keys)
        return sum(file.read_idx(key) is not None for key in keys)

    def text(make: Callable[[], Any]) -> Callable[[], int]:
        return lambda: sum(len(batch.data) for batch in make())

    found = {f"images {name}": images(name) for name in SIZES}
    found.update({f"batches, {n} workers": loader(n) for n in (0, WORKERS)})
    found["records"] = random_reads
    found["CSV"] = text(lambda: mx.io.CSVIter(data_csv=f"{folder}/a.csv", data_shape=(100,), batch_size=256))
    found["LibSVM"] = text(lambda: mx.io.LibSVMIter(data_libsvm=f"{folder}/a.svm", data_shape=(10_000,), batch_size=256))
    return found


def decoding_tasks(decoder: str, folder: str) -> dict[str, Callable[[], int]]:
    """Decoding alone, by as many threads."""
    from concurrent.futures import ThreadPoolExecutor

    from PIL import Image

    if decoder == "simplejpeg":
        from simplejpeg import decode_jpeg
    images = {name: _records(f"{folder}/{name}.rec") for name in SIZES}

    def decode(data: bytes) -> None:  # and drop the pixels, so that their memory is used again
        if decoder == "simplejpeg":
            decode_jpeg(data)
        else:
            Image.open(io.BytesIO(data)).load()

    def run(name: str) -> int:
        with ThreadPoolExecutor(WORKERS) as pool:
            return sum(1 for _ in pool.map(decode, images[name]))

    return {f"decoding {name}": lambda name=name: run(name) for name in SIZES}


def torch_tasks(folder: str) -> dict[str, Callable[[], int]]:
    """The same with torch's loader and torchvision's transforms of Pillow's images."""
    import torch
    from PIL import Image
    from torchvision import transforms

    torch.set_num_threads(1)

    class Images(torch.utils.data.Dataset):
        def __init__(self, name: str) -> None:
            self.images = _records(f"{folder}/{name}.rec")
            steps = [transforms.Resize(SHORT), transforms.RandomCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
            mean, deviation = ([x / 255 for x in given] for given in (MEAN, DEVIATION))
            self.change = transforms.Compose([*steps, transforms.Normalize(mean, deviation)])

        def __len__(self) -> int:
            return len(self.images)

        def __getitem__(self, k: int) -> Any:
            return self.change(Image.open(io.BytesIO(self.images[k])).convert("RGB")), k % 10

    def images(name: str) -> Callable[[], int]:
        batches = torch.utils.data.DataLoader(Images(name), batch_size=BATCH, num_workers=WORKERS, persistent_workers=True)
        return lambda: sum(len(data) for data, _ in batches)

    def loader(workers: int) -> Callable[[], int]:
        data = torch.utils.data.TensorDataset(torch.rand(20_000, 28, 28), torch.arange(20_000).float())
        batches = torch.utils.data.DataLoader(data, batch_size=64, num_workers=workers, persistent_workers=workers > 0)
        return lambda: sum(1 for _ in batches)

    found = {f"images {name}": images(name) for name in SIZES}
    found.update({f"batches, {n} workers": loader(n) for n in (0, WORKERS)})
    return found


def _cpu_seconds() -> float:
    """CPU time of this process and its workers, also of those that still run (Linux tells it in hundredths of a second)."""
    total = sum(time.process_time() if who == resource.RUSAGE_SELF else sum(resource.getrusage(who)[:2]) for who in PROCESSES)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if fields[1] == str(os.getpid()):
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def work(contestant: str, folder: str) -> None:
    """Answer commands: each line names a task, which is run once; the answer is how many things took how long."""
    library, decoder = CONTESTANTS[contestant]
    tasks: dict[str, Callable[[], int]] = {}

    def answer(line: str) -> list[float] | None:
        if not tasks:
            tasks.update(torch_tasks(folder) if library == "torch" else mxnet_tasks(__import__(library), folder))
            tasks.update(decoding_tasks(decoder, folder) if decoder else {})
        if line not in tasks:
            return None
        wall, cpu = time.perf_counter(), _cpu_seconds()
        done = tasks[line]()
        return [done, time.perf_counter() - wall, _cpu_seconds() - cpu]

    answer_commands(answer)


# the parent


def worker_of(contestant: str, folder: Path) -> Worker:
    """A contestant's process."""
    library, decoder = CONTESTANTS[contestant]
    interpreter = {"mxnet": ORACLE, "torch": TORCH}.get(library, sys.executable)
    variables = {"TWOFOLD_JPEG_DECODER": decoder} if decoder else {}
    return Worker(interpreter, "asv_benchmarks.feeding", contestant, "--folder", str(folder.resolve()), variables=variables)


def is_there(name: str, interpreter: str | Path, modules: str) -> bool:
    """Whether an interpreter imports a contestant's modules; if it does not, say why it is left out, and what to do."""
    try:
        tried = subprocess.run([interpreter, "-c", f"import {modules}"], capture_output=True, text=True, check=False)
        reason = tried.stderr.strip().rpartition("\n")[2] if tried.returncode else ""
    except OSError as error:
        reason = str(error)
    if reason:
        print(f"{name} is left out: {reason}. {INSTALLED[name]}")
    return not reason


TASKS = (
    *(f"{what} {name}" for name in SIZES for what in ("images", "decoding")),
    *(f"batches, {n} workers" for n in (0, WORKERS)),
    "records",
    "CSV",
    "LibSVM",
)


def measured(workers: dict[str, Worker], task: str, rounds: int) -> dict[str, list[float]]:
    """Median wall and CPU microseconds for one of what a task does, of each contestant that has it. The first run is not measured."""
    times: dict[str, list[list[float]]] = {name: [] for name in workers}
    for _ in range(rounds + 1):
        for name, worker in workers.items():
            answer = worker.ask(task)
            if isinstance(answer, str):
                print(f"{name}: {answer}")
            elif answer is not None:
                done, wall, cpu = answer
                times[name].append([1e6 * wall / done, 1e6 * cpu / done])
    return {name: [median(x) for x in zip(*found[1:], strict=True)] for name, found in times.items() if len(found) > 1}


def ratios(figures: dict[str, dict[str, list[float]]], kind: int = 0) -> dict[str, float]:
    """How many times as fast Twofold is: as MXNet and torch at each task, and as decoding alone."""
    found = {}
    for task, row in figures.items():
        for other in ("MXNet", "torch"):
            if {"twofold", other} <= row.keys():
                found[f"{task}: {other}"] = row[other][kind] / row["twofold"][kind]
        alone = figures.get(task.replace("images", "decoding"), {})
        if task.startswith("images"):
            found.update({f"{task}: decoding alone ({name})": alone[name][kind] / row[name][kind] for name in alone if name in row})
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark, or a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", choices=CONTESTANTS)
    parser.add_argument("--folder", help="where the files are, or are to be written; a temporary one without")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--text-bytes", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a task's name")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    given = parser.parse_args(arguments)
    if given.worker:
        work(given.worker, given.folder)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        if not (folder / "a.svm").exists():
            write_files(folder, given.images, given.text_bytes)
        there = {"mxnet": is_there("MXNet", ORACLE, "mxnet"), "torch": is_there("torch", TORCH, "torch, torchvision")}
        workers = {name: worker_of(name, folder) for name, (library, _) in CONTESTANTS.items() if there.get(library, True)}
        figures: dict[str, dict[str, list[float]]] = {}
        for task in TASKS:
            if given.only in task:
                figures[task] = measured(workers, task, given.rounds)
                cells = [f"{name} {wall:.1f} ({cpu:.1f})" for name, (wall, cpu) in figures[task].items()]
                print(f"{task}, µs each (of CPU time): {', '.join(cells)}; load {os.getloadavg()[0]:.1f}", flush=True)
        for name, ratio in ratios(figures).items():
            print(f"{name}: {ratio:.2f} ({ratios(figures, 1)[name]:.2f} by CPU time)")
        if given.json:
            given.json.write_text(json.dumps(figures, indent=1) + "\n")
        for worker in workers.values():
            worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

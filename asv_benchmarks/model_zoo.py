"""Times the forward pass of the model zoo's networks, by Twofold, the real MXNet and ONNX Runtime: ``make bench-model-zoo``.

Each library runs in a process of its own, with the same parameters and images, on one thread (``--threads`` sets another number). They
take turns, run by run, so that other programs disturb all of them. CPU time is compared, since wall time on a shared machine says little;
with more than one thread wall time is. Outputs have to agree. The page that is written names date, machine and load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from .workers import ORACLE, ROOT, Worker, answer_commands, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = ROOT / "docs" / "inside" / "model-zoo.md"
NETWORKS = (
    *("alexnet", "densenet121", "densenet161", "densenet169", "densenet201", "inception_v3"),
    *(f"mobilenet{m}" for m in ("0_25", "0_5", "0_75", "1_0")),
    *(f"mobilenet_v2_{m}" for m in ("0_25", "0_5", "0_75", "1_0")),
    *(f"resnet{n}_v{v}" for v in (1, 2) for n in (18, 34, 50, 101, 152)),
    *("squeezenet1_0", "squeezenet1_1"),
    *(f"vgg{n}{bn}" for n in (11, 13, 16, 19) for bn in ("", "_bn")),
)
LIBRARIES = ("twofold", "mxnet", "onnxruntime")
#: Runs that are not measured: the second one compiles kernels. Seconds that the others may take in one library, and their number at least
#: and at most.
WARM_UP, SECONDS, LEAST, MOST = 2, 2.0, 3, 10
#: Seconds between two runs: threads of a library that has run still wait for work on their cores, some for 0.2 s.
PAUSE = 0.3
#: Largest difference of two libraries' outputs, relative to the largest output.
TOLERANCE = 1e-3


def side(name: str) -> int:
    """The size of a network's images."""
    return 299 if name.startswith("inception") else 224


# the workers; MXNet's runs in Python 3.9


def _gluon(mx: Any, name: str, folder: str, images: np.ndarray, writes: bool) -> Callable[[], np.ndarray]:
    """The forward pass in Twofold or MXNet; Twofold makes the parameters, and writes the network for the others."""
    net, given = getattr(mx.gluon.model_zoo.vision, name)(), mx.nd.array(images)
    if writes and not Path(f"{folder}/net.params").exists():
        mx.random.seed(0)
        net.initialize(mx.init.MSRAPrelu())
        net.hybridize()
        net(given).wait_to_read()
        net.save_parameters(f"{folder}/net.params")
        net.export(f"{folder}/net")
    else:
        net.load_parameters(f"{folder}/net.params")
    if writes:
        files = f"{folder}/net-symbol.json", f"{folder}/net-0000.params"
        mx.onnx.export_model(*files, [images.shape], np.float32, f"{folder}/net-{len(images)}.onnx")
    net.hybridize(static_alloc=True, static_shape=True)
    return lambda: net(given).asnumpy()


def _onnx(folder: str, images: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(f"{folder}/net-{len(images)}.onnx", options, providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: images}
    return lambda: np.asarray(session.run(None, given)[0])


def work(library: str, threads: int) -> None:
    """Answer commands: a line ``name folder`` prepares a network, an empty one runs it."""
    run: Callable[[], np.ndarray] | None = None

    def answer(line: str) -> list[float] | None:
        nonlocal run
        if not line:
            assert run is not None
            return seconds(run)
        name, folder = line.split()
        images, run = np.load(f"{folder}/images.npy"), None
        if library == "onnxruntime":
            run = _onnx(folder, images, threads)
        else:
            run = _gluon(__import__(library), name, folder, images, library == "twofold")
        out = [run() for _ in range(WARM_UP)][-1]
        np.save(f"{folder}/{library}.npy", out)
        return None

    answer_commands(answer)


# the parent


def measure(workers: dict[str, Worker], name: str, batch: int, threads: int, folder: str) -> dict[str, Any]:
    """The median wall and CPU milliseconds of each library, and the differences of outputs from Twofold's."""
    draw = np.random.RandomState(0)
    np.save(f"{folder}/images.npy", draw.standard_normal((batch, 3, side(name), side(name))).astype("float32"))
    times: dict[str, list[list[float]]] = {}
    failed: dict[str, str] = {}
    for library, worker in workers.items():
        problem = worker.ask(f"{name} {folder}")
        if problem is None:
            times[library] = [worker.ask("")]
        else:
            failed[library] = problem
    longest = max((cpu for ((_, cpu),) in times.values()), default=SECONDS)
    for _ in range(min(MOST, max(LEAST, int(SECONDS / longest))) - 1):
        for library, found in times.items():
            time.sleep(PAUSE)
            found.append(workers[library].ask(""))
    outs = {library: np.load(f"{folder}/{library}.npy") for library in times}
    row: dict[str, Any] = {"name": name, "batch": batch, "threads": threads, "date": time.strftime("%Y-%m-%d")}
    row |= {"load": os.getloadavg()[0], "failed": failed}
    for library, found in times.items():
        row[library] = {"wall": 1e3 * median(w for w, _ in found), "cpu": 1e3 * median(c for _, c in found)}
        if library != "twofold" and "twofold" in outs:
            row[library]["difference"] = float(abs(outs[library] - outs["twofold"]).max() / abs(outs["twofold"]).max())
    return row


def table(rows: list[dict[str, Any]], kind: str) -> list[str]:
    """The table of rows with one batch size and number of threads, in Markdown: of CPU or wall times."""
    lines = ["| network | Twofold | MXNet | ONNX Runtime | Twofold / MXNet | Twofold / ONNX Runtime |", "|---|---|---|---|---|---|"]
    ratios: dict[str, list[float]] = {library: [] for library in LIBRARIES[1:]}
    for row in sorted(rows, key=lambda row: NETWORKS.index(row["name"])):
        cells = [f"{row[library][kind]:.1f}" if library in row else "" for library in LIBRARIES]
        for library in LIBRARIES[1:]:
            if library in row and "twofold" in row:
                ratios[library].append(row["twofold"][kind] / row[library][kind])
                cells.append(f"{ratios[library][-1]:.2f}")
            else:
                cells.append("")
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    medians = [f"{median(found):.2f}" if found else "" for found in ratios.values()]
    return [*lines, f"| *median* | | | | {' | '.join(medians)} |"]


def page(rows: list[dict[str, Any]], versions: dict[str, str]) -> str:
    """The page of the documentation."""
    agree = [row[library]["difference"] for row in rows for library in LIBRARIES[1:] if "difference" in row.get(library, {})]
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    how = (
        "Milliseconds of the forward pass of `gluon.model_zoo.vision`, hybridized with static allocation, float32, images of 224x224 "
        "(Inception: 299x299). All libraries had the same parameters, images and numbers of threads: CPU time is that of one thread, wall "
        f"time that of several. `make bench-model-zoo` wrote this page, on {os.cpu_count()} cores ({platform.machine()}). Medians of "
        f"{LEAST} to {MOST} runs, in which the libraries took turns, {PAUSE:g} seconds apart. {used}; "
        "OpenBLAS with the kernels that it selects. "
        f"Outputs differ from Twofold's by at most {max(agree, default=0):.0e} of the largest one. "
        "[Convolutions](convolutions.md) describes the algorithms."
    )
    text = ["# Networks of the model zoo\n", textwrap.fill(how, 140), ""]
    for threads, batch in sorted({(row["threads"], row["batch"]) for row in rows}):
        own = [row for row in rows if (row["threads"], row["batch"]) == (threads, batch)]
        text += _section(own, threads, batch)
    return "\n".join(text)


def _section(rows: list[dict[str, Any]], threads: int, batch: int) -> list[str]:
    """The part of the page with one batch size and number of threads."""
    title, kind = "One image" if batch == 1 else f"{batch} images", "cpu" if threads == 1 else "wall"
    if threads > 1:
        title += f", {threads} threads"
    loads, dates = [row["load"] for row in rows], sorted({row["date"] for row in rows})
    when = (
        f"Measured on {' and '.join(dates)}, {'CPU' if kind == 'cpu' else 'wall'} time; the load, to which these processes add {threads}, "
        f"was {min(loads):.1f} to {max(loads):.1f}."
    )
    missing = len(NETWORKS) - len(rows)
    rest = [f"{missing} larger networks were not measured with so many images.\n"] if missing else []
    return [f"## {title}\n", "\n".join(table(rows, kind)), "", textwrap.fill(when, 140), "", *rest]


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for title, name in (("Twofold", "twofold"), ("NumPy", "numpy"), ("llvmlite", "llvmlite"), ("ONNX Runtime", "onnxruntime")):
        try:
            found[title] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"MXNet": "1.9.1"}


def measured(libraries: list[str], names: list[str], batches: list[int], threads: int, file: Path | None) -> list[dict[str, Any]]:
    """Measure networks. The figures are written to a file as they come, beside those of other networks and numbers of threads there."""
    known = {_key(row): row for row in json.loads(file.read_text())} if file is not None and file.exists() else {}
    for name in names:
        workers = {library: Worker.of_library(library, threads, "asv_benchmarks.model_zoo") for library in libraries}
        with tempfile.TemporaryDirectory() as folder:
            for batch in batches:
                row = measure(workers, name, batch, threads, folder)
                known[_key(row)] = row
                cells = [f"{library} {row[library]['wall']:.1f} ({row[library]['cpu']:.1f})" for library in libraries if library in row]
                times = f"{', '.join(cells)} ms (of CPU time)"
                print(f"{name} x{batch}, threads {threads}: {times}, load {row['load']:.1f}", *row["failed"].values(), flush=True)
                if file is not None:
                    file.write_text(json.dumps(list(known.values()), indent=1) + "\n")
        for worker in workers.values():
            worker.close()
    return list(known.values())


def _key(row: dict[str, Any]) -> tuple[int, int, str]:
    return row["threads"], row["batch"], row["name"]


def main() -> int:
    """Run the benchmark, or a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, default=1, help="of each library")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--read", type=Path, help="take the figures from a file instead of measuring")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.threads)
        return 0
    libraries = [library for library in LIBRARIES if library != "mxnet" or ORACLE.exists()]
    if given.read:
        rows = json.loads(given.read.read_text())
    else:
        rows = measured(libraries, given.only.split(","), [int(n) for n in given.batches.split(",")], given.threads, given.json)
    if given.write:
        PAGE.write_text(page(rows, _versions()))
    wrong = [row["name"] for row in rows if any(row[lib].get("difference", 0) > TOLERANCE for lib in libraries if lib in row)]
    if wrong:
        print(f"outputs differ: {', '.join(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

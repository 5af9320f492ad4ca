"""Times sparse storage, boxes, 8-bit layers and recurrent networks by Twofold, the real MXNet and SciPy: ``make bench-mxnet``.

Each library runs in a process of its own, on the same numbers, with one thread. The libraries take turns, run by run, so that other
programs disturb all of them, and CPU time is compared. Results have to agree. ``--write`` writes the page, which names date and load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from . import language_model as lstm
from .workers import ORACLE, ROOT, Worker, answer_commands, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    Task = Callable[[], Any]

PAGE = ROOT / "docs" / "inside" / "beside-mxnet.md"
LIBRARIES = ("twofold", "mxnet", "scipy")
#: Seconds that the runs of a task may take in one library, and their number at least and at most.
SECONDS, LEAST, MOST = 3.0, 5, 60
#: Largest difference of two libraries' results, relative to the largest number.
TOLERANCE = 1e-4
FEATURES, COLUMNS, TABLE = 100_000, 16, 1_000_000


# sparse storage; `mx` is Twofold, MXNet, or None for SciPy and NumPy


def csr(rows: int, per_row: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of a csr matrix (rows, FEATURES) with as many elements in each row."""
    draw = np.random.RandomState(0)
    step = FEATURES // per_row
    columns = draw.randint(0, step, (rows, per_row)) + step * np.arange(per_row)
    return draw.rand(rows * per_row).astype("float32"), columns.ravel(), np.arange(rows + 1) * per_row


def product(mx: Any, rows: int, transposed: bool) -> Task:
    """A csr matrix or its transpose times a dense one of 16 columns."""
    parts, size = csr(rows), rows if transposed else FEATURES
    dense = np.random.RandomState(1).rand(size, COLUMNS).astype("float32")
    if mx is None:
        from scipy.sparse import csr_matrix

        matrix = csr_matrix(parts, shape=(rows, FEATURES))
        return lambda: (matrix.T if transposed else matrix) @ dense
    ours, array = mx.nd.sparse.csr_matrix(parts, shape=(rows, FEATURES)), mx.nd.array(dense)

    def run() -> Any:
        found = mx.nd.sparse.dot(ours, array, transpose_a=transposed)
        found.wait_to_read()
        return found

    return run


def lazy_update(mx: Any, name: str) -> Task:
    """A step of an optimizer on 1,000 rows of a table (1,000,000, 16)."""
    draw = np.random.RandomState(2)
    rows = np.sort(draw.permutation(TABLE)[:1000])
    values = draw.rand(1000, COLUMNS).astype("float32")
    if mx is None:
        return _numpys_update(name, rows, values)
    options = {"momentum": 0.9} if name == "sgd" else {}
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.01, lazy_update=True, **options))
    gradient, weight = mx.nd.sparse.row_sparse_array((values, rows), shape=(TABLE, COLUMNS)), mx.nd.ones((TABLE, COLUMNS))

    def run() -> Any:
        update(0, gradient, weight)
        weight.wait_to_read()
        return weight[: rows[9]]

    return run


def _numpys_update(name: str, rows: np.ndarray, g: np.ndarray) -> Task:
    weight = np.ones((TABLE, COLUMNS), "float32")
    mean, var = np.zeros_like(weight), np.zeros_like(weight)
    count = [0]

    def adam() -> Any:
        count[0] += 1
        rate = np.float32(0.01 * np.sqrt(1 - 0.999 ** count[0]) / (1 - 0.9 ** count[0]))
        m = mean[rows] = np.float32(0.9) * mean[rows] + np.float32(0.1) * g
        v = var[rows] = np.float32(0.999) * var[rows] + np.float32(0.001) * g * g
        weight[rows] -= rate * m / (np.sqrt(v) + np.float32(1e-8))
        return weight[: rows[9]]

    def sgd() -> Any:
        m = mean[rows] = np.float32(0.9) * mean[rows] - np.float32(0.01) * g
        weight[rows] += m
        return weight[: rows[9]]

    return adam if name == "adam" else sgd


def factorization_machine(mx: Any, again: bool) -> Task:
    """A step of a factorization machine: 256 samples of 2 to 5 of 60,000 features, 8 factors; ``again``: each batch seen before."""
    features, batch, factors = 60_000, 256, 8
    x, y = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("label")
    w = mx.sym.Variable("w", shape=(features, 1), stype="row_sparse", init=mx.init.Normal(0.01))
    v = mx.sym.Variable("v", shape=(features, factors), stype="row_sparse", init=mx.init.Normal(0.1))
    score = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero()))
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    symbol = mx.sym.LogisticRegressionOutput(score + 0.5 * (pairs - squares), y, name="out")
    module = mx.mod.Module(symbol, data_names=["data"], label_names=["label"])
    module.bind([("data", (batch, features))], [("label", (batch, 1))])
    module.init_params()
    module.init_optimizer(mx.kv.create("local"), "adam", {"learning_rate": 0.02})
    draw, batches = np.random.RandomState(0), []
    for _ in range(4 if again else 2 * MOST):
        pointers = np.concatenate([[0], np.cumsum(draw.randint(2, 6, batch))])
        parts = np.ones(pointers[-1], "float32"), draw.randint(0, features, pointers[-1]), pointers
        data = mx.nd.sparse.csr_matrix(parts, shape=(batch, features))
        batches.append(mx.io.DataBatch([data], [mx.nd.array(draw.randint(0, 2, (batch, 1)))], pad=0))
    turn = iter(range(10**9))

    def run() -> None:
        given = batches[next(turn) % len(batches)]
        module.prepare(given, lambda b: {"w": b.data[0].indices, "v": b.data[0].indices})
        module.forward_backward(given)
        module.update()
        mx.nd.waitall()

    return run


# boxes, 8-bit layers, recurrent networks


def suppression(mx: Any, size: int, spread: int) -> Task:
    """Non-maximum suppression of 10,000 boxes of about ``size`` pixels in a square of ``spread``."""
    draw = np.random.RandomState(0)
    corner = draw.rand(10_000, 2) * spread
    extent = size * (0.5 + draw.rand(10_000, 2))
    score = (draw.permutation(10_000)[:, None] + 1) / 10_000
    boxes = mx.nd.array(np.concatenate([draw.randint(0, 20, (10_000, 1)), score, corner, corner + extent], 1))

    def run() -> Any:
        found = mx.nd.contrib.box_nms(boxes, overlap_thresh=0.5)
        found.wait_to_read()
        return found

    return run


def fully_connected(mx: Any, batch: int, dtype: str) -> Task:
    """A layer from 1024 to 1024 units, on int8 numbers with int32 sums or on float32 numbers."""
    draw = np.random.RandomState(0)
    arrays = [mx.nd.array(draw.randint(-127, 128, s), dtype=dtype) for s in ((batch, 1024), (1024, 1024))]
    ranges = [mx.nd.array([x]) for x in (-1, 1, -2, 2)]
    units = {"num_hidden": 1024, "no_bias": True}

    def int8() -> Any:
        found = mx.nd.contrib.quantized_fully_connected(*arrays, None, *ranges, None, None, **units)[0]
        found.wait_to_read()
        return found

    def float32() -> Any:
        found = mx.nd.FullyConnected(*arrays, **units)
        found.wait_to_read()
        return found

    return int8 if dtype == "int8" else float32


def language_model(mx: Any, way: str) -> Task:
    """An epoch of a two-layer LSTM of 100 units on 600 sentences in three buckets, batches of 32; its result is the number of words."""
    words, hidden, draw = 500, 100, np.random.RandomState(0)
    sentences = [draw.randint(1, words, n).tolist() for n in draw.randint(5, 17, 600)]
    batches = mx.rnn.BucketSentenceIter(sentences, 32, buckets=[8, 12, 16], invalid_label=0)
    model = lstm.language_model(mx, way, batches, words, hidden)
    return partial(lstm.train, mx, model, batches)


#: Tasks by name: the function that prepares one, its arguments, and the libraries that have it.
BOTH = LIBRARIES[:2]
TASKS: dict[str, tuple[Callable[..., Task], tuple[Any, ...], tuple[str, ...]]] = {
    "csr (4,096 x 100,000), 100 elements a row, by 16 columns": (product, (4096, False), LIBRARIES),
    "its transpose: row-sparse (SciPy: dense)": (product, (4096, True), LIBRARIES),
    "csr (64 x 100,000) by 16 columns": (product, (64, False), LIBRARIES),
    "its transpose": (product, (64, True), LIBRARIES),
    "lazy SGD with momentum: 1,000 of 1,000,000 rows of 16": (lazy_update, ("sgd",), LIBRARIES),
    "lazy Adam": (lazy_update, ("adam",), LIBRARIES),
    "factorization machine, a step, a new batch": (factorization_machine, (False,), BOTH),
    "factorization machine, a step, a batch seen before": (factorization_machine, (True,), BOTH),
    "box_nms, 10,000 boxes, many overlap": (suppression, (64, 640), BOTH),
    "box_nms, 10,000 boxes, few overlap": (suppression, (32, 2000), BOTH),
    **{
        f"fully connected 1024 to 1024, {dtype}, batch {batch}": (fully_connected, (batch, dtype), BOTH)
        for batch in (1, 32, 256)
        for dtype in ("int8", "float32")
    },
    "LSTM in buckets, an epoch, cells": (language_model, ("cells",), BOTH),
    "LSTM in buckets, an epoch, fused": (language_model, ("fused",), BOTH),
}
#: Tasks of which the result is a number of words.
WORDS = [name for name in TASKS if name.startswith("LSTM")]


def result(found: Any) -> Any:
    """A task's result for comparison: a number, or the sums along two axes."""
    if found is None or isinstance(found, int):
        return found
    array = np.asarray(found.asnumpy() if hasattr(found, "asnumpy") else found, "float64")
    return [array.sum(axis=0).ravel()[:100].tolist(), array.reshape(len(array), -1).sum(axis=1)[:100].tolist()]


def work(library: str) -> None:
    """Answer commands: a task's name prepares it and answers its result after three runs, an empty line runs it."""
    run: Task | None = None
    mx = None if library == "scipy" else __import__(library)

    def answer(line: str) -> Any:
        nonlocal run
        if not line:
            assert run is not None
            return seconds(run)
        run = None
        function, given, _ = TASKS[line]
        run = function(mx, *given)
        return result([run() for _ in range(3)][-1])

    answer_commands(answer)


# the parent


def measure(workers: dict[str, Worker], name: str) -> dict[str, Any]:
    """The median wall and CPU milliseconds of each library, and the largest difference of results from Twofold's."""
    row: dict[str, Any] = {"name": name, "failed": {}}
    results: dict[str, Any] = {}
    for library in TASKS[name][2]:
        answer = workers[library].ask(name) if library in workers else None
        if isinstance(answer, str):
            row["failed"][library] = answer
        elif library in workers:
            results[library] = answer
    times: dict[str, list[list[float]]] = {library: [workers[library].ask("")] for library in results}
    longest = max(cpu for ((_, cpu),) in times.values())
    for _ in range(min(MOST, max(LEAST, int(SECONDS / longest)))):
        for library, found in times.items():
            found.append(workers[library].ask(""))
    row["load"] = os.getloadavg()[0]
    for library, found in times.items():
        row[library] = {"wall": 1e3 * median(w for w, _ in found), "cpu": 1e3 * median(c for _, c in found)}
        if isinstance(results[library], int):
            row[library]["words"] = results[library]
        elif results[library] is not None and library != "twofold" and "twofold" in results:
            row[library]["difference"] = difference(results[library], results["twofold"])
    return row


def difference(found: list[list[float]], expected: list[list[float]]) -> float:
    """The largest difference of two results, relative to the largest number."""
    return max(float(np.max(np.abs(np.subtract(a, b))) / max(np.max(np.abs(b)), 1e-30)) for a, b in zip(found, expected))  # noqa: B905


def figure(row: dict[str, Any], library: str) -> str:
    """A library's time in a table; of a language model its speed."""
    found = row.get(library)
    if found is None:
        return ""
    speed = f", {found['words'] / found['cpu']:.0f} thousand words/s" if "words" in found else ""
    return f"{found['cpu']:.3g}{speed}"


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The table, in Markdown."""
    lines = ["| task | Twofold | MXNet | SciPy or NumPy | Twofold / MXNet | Twofold / SciPy |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [figure(row, library) for library in LIBRARIES]
        cells += [f"{row['twofold']['cpu'] / row[k]['cpu']:.2f}" if k in row and "twofold" in row else "" for k in LIBRARIES[1:]]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return lines


def page(rows: list[dict[str, Any]]) -> str:
    """The page of the documentation."""
    loads = [row["load"] for row in rows]
    how = (
        f"Milliseconds of CPU time, float32 unless said otherwise, one thread each. `make bench-mxnet` wrote this page on "
        f"{time.strftime('%Y-%m-%d')}, on {os.cpu_count()} cores ({platform.machine()}) that other programs used too: the load was "
        f"{min(loads):.1f} to {max(loads):.1f}. Medians of {LEAST + 1} to {MOST + 1} runs, in which the libraries took turns on the same "
        "numbers; their results agree. Twofold multiplies csr matrices by SciPy. NumPy's updates are fancy indexing. "
        "[Sparse data](../how-to/train-on-sparse-data.md) describes the factorization machine."
    )
    eight_bits = (
        "8-bit layers use the processor's 8-bit instructions, in Twofold those of x86 (VNNI) by machine code of its own; on other "
        "processors, and without llvmlite, their products are computed by float32 routines on converted numbers, in at least the time of "
        "a float32 layer."
    )
    wrapped = "\n\n".join(textwrap.fill(part, 140, break_on_hyphens=False, break_long_words=False) for part in (how, eight_bits))
    failed = [f"* {row['name']}: {library}: `{why}`" for row in rows for library, why in row["failed"].items()]
    text = ["# Sparse data, boxes, 8-bit layers, recurrent networks\n", wrapped, "", *table(rows), ""]
    return "\n".join(text + (["What failed:", "", *failed, ""] if failed else []))


def main() -> int:
    """Run the benchmark, or a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="measure the tasks whose names contain one of these words, separated by semicolons")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    if given.worker:
        work(given.worker)
        return 0
    names = [name for name in TASKS if any(word in name for word in given.only.split(";"))]
    rows = []
    workers = {k: Worker.of_library(k, given.threads, "asv_benchmarks.beside_mxnet") for k in LIBRARIES if k != "mxnet" or ORACLE.exists()}
    for name in names:
        rows.append(measure(workers, name))
        print(
            f"{name}: {', '.join(f'{k} {figure(rows[-1], k)}' for k in workers if k in rows[-1])}", *rows[-1]["failed"].items(), flush=True
        )
    for worker in workers.values():
        worker.close()
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    if given.write:
        PAGE.write_text(page(rows))
    wrong = [row["name"] for row in rows if any(row[k].get("difference", 0) > TOLERANCE for k in workers if k in row)]
    if wrong:
        print(f"results differ: {', '.join(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

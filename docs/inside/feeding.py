"""Draws `feeding.svg`: what the threads of an iterator over image records do while a network trains, from the profiler's trace.

``python docs/inside/feeding.py`` runs it and rewrites the picture. The times are this machine's, so no two pictures are alike.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import twofold as mx

WIDTH, ROW, LEFT, THREADS = 760, 26, 120, 2
COLORS = {
    "read record": "#888888",
    "decode": "#4878a8",
    "resize and normalize": "#60a060",
    "wait for images": "#d0d0d0",
    "training": "#d08030",
}


class Step(NamedTuple):
    """What ran in which row of the picture, and when, in microseconds."""

    row: int
    name: str
    start: float
    end: float


def write_records(path: str, count: int) -> None:
    """A file of JPEGs of 500x375."""
    rng = np.random.default_rng(0)
    file = mx.recordio.MXIndexedRecordIO(path.replace(".rec", ".idx"), path, "w")
    for k in range(count):
        coarse = mx.nd.array(rng.integers(0, 256, (47, 63, 3)), dtype="uint8")
        pixels = mx.image.imresize(coarse, 500, 375).asnumpy()
        file.write_idx(k, mx.recordio.pack_img(mx.recordio.IRHeader(0, float(k % 2), k, 0), pixels, quality=90))
    file.close()


def steps(folder: str, batches: int = 6, batch_size: int = 8) -> list[Step]:
    """One epoch, as the profiler saw it: the training loop in row 0, then a row for each thread of the iterator."""
    write_records(f"{folder}/a.rec", batches * batch_size)
    images = mx.io.ImageRecordIter(
        path_imgrec=f"{folder}/a.rec",
        data_shape=(3, 224, 224),
        batch_size=batch_size,
        resize=256,
        rand_crop=True,
        rand_mirror=True,
        preprocess_threads=THREADS,
        prefetch_buffer=2,
    )
    weight = mx.nd.random.normal(shape=(64, 3 * 224 * 224)) * 1e-3

    def epoch() -> None:
        images.reset()
        for batch in images:
            with mx.profiler.scope("training"):
                mx.nd.FullyConnected(batch.data[0], weight, num_hidden=64, no_bias=True).wait_to_read()

    epoch()  # compiles and warms up
    mx.profiler.set_config(filename=f"{folder}/trace.json", profile_all=True)
    mx.profiler.set_state("run")
    epoch()
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    return shown(json.loads(Path(f"{folder}/trace.json").read_text(encoding="utf-8"))["traceEvents"])


def shown(events: list[dict[str, Any]]) -> list[Step]:
    """The events that the picture shows."""
    data = [e for e in events if e.get("cat") == "data"]
    rows = {tid: k for k, tid in enumerate(dict.fromkeys(e["tid"] for e in data if e["name"] != "wait for images"), 1)}
    begin = min(e["ts"] for e in data)
    found = [Step(rows.get(e["tid"], 0), e["name"], e["ts"] - begin, e["ts"] - begin + e["dur"]) for e in data]
    training = [e for e in events if e.get("cat") == "scope" and e["name"].startswith("training")]
    found += [Step(0, "training", e["ts"] - begin, e["ts"] - begin + e["dur"]) for e in training]
    return sorted(found, key=lambda step: (step.row, step.start))


def picture(found: list[Step]) -> str:
    """The steps as SVG: a row for each thread."""
    last = max(step.end for step in found)
    scale, rows = (WIDTH - LEFT - 10) / last, max(step.row for step in found) + 1
    height = ROW * (rows + 2)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">']
    for row in range(rows):
        title = "training loop" if row == 0 else f"thread {row}"
        lines.append(f'<text x="4" y="{ROW * row + 18}" fill="currentColor">{title}</text>')
    for step in found:
        x, width = LEFT + scale * step.start, max(scale * (step.end - step.start), 0.3)
        place = f'x="{x:.1f}" y="{ROW * step.row + 4}" width="{width:.1f}" height="{ROW - 8}"'
        lines.append(f'<rect {place} fill="{COLORS[step.name]}"><title>{step.name}: {(step.end - step.start) / 1e3:.2f} ms</title></rect>')
    for k, (name, color) in enumerate(COLORS.items()):
        x = LEFT + 128 * k
        lines.append(f'<rect x="{x}" y="{height - ROW - 2}" width="10" height="10" fill="{color}"/>')
        lines.append(f'<text x="{x + 14}" y="{height - ROW + 7}" fill="currentColor" font-size="10">{name}</text>')
    lines.append(f'<text x="{WIDTH - 10}" y="{height - 4}" text-anchor="end" fill="currentColor">{last / 1e3:.0f} ms</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Rewrite the picture."""
    with tempfile.TemporaryDirectory() as folder:
        Path(__file__).with_name("feeding.svg").write_text(picture(steps(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()

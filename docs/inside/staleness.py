"""Draws `staleness.svg`: the same six workers with four bounds of staleness, simulated in virtual time on the servers' own code.

``python docs/inside/staleness.py`` rewrites the picture; a test compares it with what the code gives.
"""

import math
import random
from pathlib import Path

from twofold.kvstore.transports.simulated import SimulatedNetwork, SimulatedRun, simulate

WORKERS, STEPS = 6, 14
NETWORK = SimulatedNetwork(latency=0.5e-3, bandwidth=1e8)
PANELS = {
    0: "staleness 0: bulk synchronous",
    1: "staleness 1",
    3: "staleness 3",
    math.inf: "staleness ∞: asynchronous",
}
WIDTH, LEFT, ROW, TITLE = 760, 24, 13, 24
COMPUTING, WAITING = "#4878a8", "#f0c8a0"


def durations() -> list[list[float]]:
    """Seconds that each step of each worker takes: 10 ms, now and then 30 ms."""
    rng = random.Random(5)
    return [[(0.03 if rng.random() < 0.1 else 0.01) * rng.uniform(0.9, 1.1) for _ in range(STEPS)] for _ in range(WORKERS)]


def runs() -> dict[float, SimulatedRun]:
    """The run for each bound."""
    seconds = durations()
    return {s: simulate(WORKERS, STEPS, s, lambda w, k: seconds[w][k], network=NETWORK) for s in PANELS}


def picture(found: dict[float, SimulatedRun]) -> str:
    """The runs as SVG: a panel for each bound, in it a row for each worker."""
    panel = TITLE + ROW * WORKERS + 8
    scale = (WIDTH - LEFT - 10) / max(run.duration for run in found.values())
    size = f'width="{WIDTH}" height="{panel * len(found) + 8}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">']
    for place, (staleness, run) in enumerate(found.items()):
        top = panel * place
        busy = f"workers compute {100 * run.efficiency:.0f} % of their time"
        figures = f"{1e3 * run.duration:.0f} ms, {busy}, at most {run.largest_lead} steps ahead"
        lines.append(f'<text x="{LEFT}" y="{top + 17}"><tspan font-weight="bold">{PANELS[staleness]}</tspan>: {figures}</text>')
        lines += [f'<text x="4" y="{top + TITLE + ROW * w + 10}" font-size="10">{w}</text>' for w in range(WORKERS)]
        for span in run.spans:
            y = top + TITLE + ROW * span.worker
            for begin, end, color in ((span.start, span.computed, COMPUTING), (span.computed, span.end, WAITING)):
                x, width = LEFT + begin * scale, (end - begin) * scale
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 2}" fill="{color}" stroke="white"/>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_name("staleness.svg").write_text(picture(runs()), encoding="utf-8")

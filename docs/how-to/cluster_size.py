"""Draws `cluster-size.svg` and writes the tables of `cluster-size.md`: what to expect of clusters of 4 to 4,096 workers.

``python docs/how-to/cluster_size.py`` rewrites both; a test compares them with what the code gives. ``--simulate`` also plays the servers'
own code in virtual time, for minutes, and keeps the result in `cluster-size.json`, where `asv_benchmarks/cluster_model.py` keeps what it
has measured.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from twofold.kvstore.cluster_forecast import WAYS, ClusterCosts, Forecast, Stragglers, TrainingJob, forecast, forecasts, recommended
from twofold.kvstore.cost_model import NETWORKS, TrainingStep, network
from twofold.kvstore.job_failures import Failures
from twofold.kvstore.messages import HEADER_SIZE
from twofold.kvstore.transports.simulated import SimulatedNetwork, simulate

HERE = Path(__file__).parent
PAGE, FIGURES, PICTURE = (HERE / f"cluster-size{suffix}" for suffix in (".md", ".json", ".svg"))
#: ResNet-50 on a GPU of its time.
JOB = TrainingJob(TrainingStep(102_200_000, 0.18))
GIGABIT = network("a=40us,B=117MB/s")
#: The clusters of the page.
CLUSTERS = {
    "1 Gbit/s, a worker a machine": ClusterCosts(GIGABIT),
    "10GbE, a worker a machine": ClusterCosts(NETWORKS["10GbE"]),
    "10GbE, 8 workers a machine": ClusterCosts(NETWORKS["10GbE"], 8),
    "IB100, 8 workers a machine": ClusterCosts(NETWORKS["IB100"], 8),
}
DRAWN = ("10GbE, a worker a machine", "IB100, 8 workers a machine")
NUMBERS = (8, 64, 512, 4096)
RANGE = [2**k for k in range(2, 13)]
#: Workers and servers of the simulation, and the seconds that each of its steps computes.
SIMULATED = ((4, 1), (16, 4), (64, 8), (64, 64), (512, 16), (512, 64), (4096, 4))
#: A way pays if its steps are shorter than those of all others by this share.
PAYS = 0.02
COLORS = dict(zip(WAYS, ("#4878a8", "#d08030", "#60a060", "#a04890", "#888888", "#c04040", "#807040"), strict=True))


# --------------------------------------------------------------------------------------------------------------- tables


def choices() -> str:
    """What to choose, for each cluster and number of workers."""
    lines = ["| cluster | workers | choose | a step, ms | sums hidden | failures in 30 days | a checkpoint every | goodput | with `--ft` |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for name, costs in CLUSTERS.items():
        for workers in NUMBERS:
            f = recommended(forecasts(JOB, workers, costs))
            way = f"{f.way}, {f.servers} servers" if f.servers else f.way
            figures = f"{f.step * 1e3:,.0f} | {f.hidden:.0%} | {f.failures:.1f} | {f.interval / 60:.1f} min"
            lines.append(f"| {name} | {workers:,} | {way} | {figures} | {f.goodput:.0%} | {f.tolerant_goodput:.0%} |")
    return "\n".join(lines)


def where_it_pays() -> str:
    """The numbers of workers at which a way's steps are the shortest."""
    names = ("per machine", "servers", "asynchronous", "two-bit")
    lines = [f"| cluster | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for cluster, costs in CLUSTERS.items():
        found = {n: {f.way: f.step for f in forecasts(JOB, n, costs)} for n in RANGE}
        paying = [[n for n, steps in found.items() if way in steps and _is_shortest(way, steps)] for way in names]
        lines.append(f"| {cluster} | {' | '.join(_numbers(numbers) for numbers in paying)} |")
    return "\n".join(lines)


def _is_shortest(way: str, steps: dict[str, float]) -> bool:
    """Whether a way's step is shorter than those of the others; of ways that wait, those of the others that wait."""
    others = [step for name, step in steps.items() if name != way and (WAYS[name].waits or not WAYS[way].waits)]
    return steps[way] < (1 - PAYS) * min(others)


def _numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return "never"
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def ratios(figures: dict[str, Any]) -> dict[tuple[str, int, int], list[float]]:
    """What was measured over the forecast in each run, by way, number of workers and bytes of a message."""
    found: dict[tuple[str, int, int], list[float]] = {}
    for run in figures["memory"]:
        for cell in run["cells"]:
            found.setdefault((cell["way"], cell["workers"], cell["bytes"]), []).append(cell["measured"] / cell["predicted"])
    return found


def measured(figures: dict[str, Any]) -> str:
    """What was measured on one machine, beside the forecast made from two workers."""
    found = ratios(figures)
    sizes = sorted({size for _, _, size in found})
    lines = [f"| measured / forecast | {' | '.join(_bytes(size) for size in sizes)} |", "|---|" + "---:|" * len(sizes)]
    for way, workers in dict.fromkeys((way, workers) for way, workers, _ in found):
        lines.append(f"| {_name(way, workers)} | {' | '.join(_spread(found[way, workers, size]) for size in sizes)} |")
    return "\n".join(lines)


def steps(figures: dict[str, Any]) -> str:
    """Whole training steps on one machine, beside the forecast made from messages of two workers."""
    lines = ["| | measured, ms | forecast, ms | measured / forecast |", "|---|---:|---:|---:|"]
    for (way, workers), cells in step_cells(figures).items():
        shown = [" | ".join(f"{median(cell[key] for cell in cells):.1f}" for key in ("measured", "predicted")), _spread(_over(cells))]
        lines.append(f"| {_name(way, workers)} | {' | '.join(shown)} |")
    return "\n".join(lines)


def step_cells(figures: dict[str, Any]) -> dict[tuple[str, int], list[dict[str, float]]]:
    """What was measured of whole steps in each run, and the forecasts, by way and number of workers."""
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for run in figures["memory"]:
        for cell in run.get("steps", ()):  # runs before there were steps have none
            found.setdefault((cell["way"], cell["workers"]), []).append(cell)
    return found


def _over(cells: Sequence[dict[str, float]]) -> list[float]:
    return [cell["measured"] / cell["predicted"] for cell in cells]


def _spread(found: Sequence[float]) -> str:
    return f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"


def _name(way: str, workers: int) -> str:
    return f"{workers} workers, by {'a server' if way == 'server' else 'MPI'}"


def _bytes(size: int) -> str:
    return f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB"


def simulated(figures: dict[str, Any]) -> str:
    """Steps of the simulated transport beside the forecast."""
    lines = [
        "| workers, servers | synchronous, ms | simulated / forecast | asynchronous, ms | simulated / forecast | stale by | forecast |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    bare = bare_costs()
    for cell in figures["simulated"]:
        workers, servers = cell["workers"], cell["servers"]
        waiting, free = (forecast(JOB, way, workers, bare, servers) for way in ("servers", "asynchronous"))
        steps = cell["synchronous"], cell["asynchronous"]
        ratios = [step / f.step for step, f in zip(steps, (waiting, free), strict=True)]
        times = " | ".join(f"{step * 1e3:,.0f} | {ratio:.2f}" for step, ratio in zip(steps, ratios, strict=True))
        lines.append(f"| {workers:,}, {servers} | {times} | {cell['staleness']:,.0f} | {free.staleness:,.0f} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "choices": lambda figures: choices(),
    "where it pays": lambda figures: where_it_pays(),
    "measured": measured,
    "steps": steps,
    "simulated": simulated,
}


def with_tables(page: str, figures: dict[str, Any]) -> str:
    """The page with its tables as the code gives them: each stands between two comments with its name."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{table(figures)}\n{end}{rest.partition(end)[2]}"
    return page


# ----------------------------------------------------------------------------------------------------------- simulation


def bare_costs() -> ClusterCosts:
    """The simulated network: links, and nothing that takes time besides."""
    return ClusterCosts(NETWORKS["10GbE"], server_message=0, server_byte=0, stragglers=Stragglers(0, 1), failures=Failures(0))


def play(workers: int, servers: int) -> dict[str, float]:
    """Steps of the job on the servers' own code in virtual time. A simulated key takes as long as its part of the gradients would."""
    keys, steps, over = (2 if workers > 512 else 8) * servers, 4, NETWORKS["10GbE"]
    scaled = SimulatedNetwork(over.latency, over.bandwidth * (8 * workers + HEADER_SIZE) / (JOB.step.nbytes / keys))
    found: dict[str, float] = {"workers": workers, "servers": servers}
    for name, staleness in (("synchronous", 0.0), ("asynchronous", math.inf)):
        run = simulate(workers, steps, staleness, lambda w, k: JOB.step.computing, servers=servers, keys=keys, network=scaled)
        # the first step is left out: all workers begin it at once
        first, last = (max(span.end for span in run.spans if span.step == k) for k in (0, steps - 1))
        found[name] = round((last - first) / (steps - 1), 6)
    ends = sorted((span.end, span.worker) for span in run.spans)
    places = {pair: k for k, pair in enumerate(ends)}
    middle = [(s, next(p.end for p in run.spans if (p.worker, p.step) == (s.worker, 0))) for s in run.spans if s.step == 1][:64]
    found["staleness"] = round(sum(places[s.end, s.worker] - places[before, s.worker] - 1 for s, before in middle) / len(middle), 1)
    return found


# -------------------------------------------------------------------------------------------------------------- picture

WIDTH, HEIGHT, LEFT, TOP, PANEL = 760, 300, 44, 30, 330


def picture() -> str:
    """Goodput over the number of workers as SVG: a panel for each of two clusters, a line for each way to sum."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT + 40}" font-family="sans-serif" font-size="11">']
    for place, name in enumerate(DRAWN):
        lines += _panel(LEFT + place * (PANEL + 46), name, CLUSTERS[name])
    for k, way in enumerate(WAYS):
        x, y = LEFT + 178 * (k % 4), HEIGHT + 14 + 16 * (k // 4)
        lines.append(f'<path d="M{x} {y - 4}h18" stroke="{COLORS[way]}" stroke-width="2"/><text x="{x + 23}" y="{y}">{way}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _panel(left: int, title: str, costs: ClusterCosts) -> list[str]:
    bottom = HEIGHT - 26

    def at(workers: int, goodput: float) -> tuple[float, float]:
        return left + (math.log2(workers) - 2) / 10 * (PANEL - 30), bottom - goodput * (bottom - TOP)

    lines = [f'<text x="{left}" y="16" font-weight="bold">{title}: goodput</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = at(4, share)[1]
        lines.append(f'<path d="M{left} {y:.1f}H{left + PANEL - 30}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    lines += [f'<text x="{at(n, 0)[0]:.1f}" y="{bottom + 16}" text-anchor="middle">{n:,}</text>' for n in (4, *NUMBERS)]
    found: dict[str, list[Forecast]] = {}
    for workers in RANGE:
        for one in forecasts(JOB, workers, costs):
            found.setdefault(one.way, []).append(one)
    for way, ones in found.items():
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(one.workers, one.goodput) for one in ones))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[way]}" stroke-width="2"/>')
    return lines


def main(words: Sequence[str]) -> None:
    """Rewrite the picture and the tables."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    if "--simulate" in words:
        figures["simulated"] = [play(*numbers) for numbers in SIMULATED]
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

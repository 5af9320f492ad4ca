"""The demo's report: a self-contained HTML page."""

from collections.abc import Sequence
from html import escape

import numpy as np

from ..device import CPU
from ..executor import Executor
from ..formats.files import join_path, make_folder, write_file
from ..profiler.explanation import explain
from ..visualization import plot_memory
from ..visualization.drawing import size_text
from ..visualization.html import memory_plan, profile
from ..visualization.network import NetworkGraph
from .figures import FIGURES, confusion_figure, curves_figure, misread_figure, page, table
from .folding_sample import ELEMENTS, FORMULA, OPERATIONS, saving
from .four_ways import Outcome, Task, network

#: The number of losses that are compared. Later ones differ more: rounding errors grow as training goes on.
COMPARED = 20
#: The numbers of steps before its trace, until programs and kernels are compiled, and in it.
WARM, PROFILED = 5, 3


def write_report(folder: str, task: Task, outcomes: Sequence[Outcome], faults: Sequence[str]) -> str:
    """Write ``report.html`` to a folder, which is created if necessary.

    Parameters
    ----------
    folder
        The folder.
    task, outcomes
        The task, and the outcome of each way. The figures show the last one.
    faults
        Differences between the ways.

    Returns
    -------
    str
        The path of the page.
    """
    last = outcomes[-1]
    read = last.scores.argmax(axis=1)
    true = task.data.held_out_labels.astype(int)
    sections = {
        "Four ways, one result": _verdict(faults) + _timings(task, outcomes),
        "Loss": curves_figure({o.way: o.losses for o in outcomes}),
        "Which digit is read as which": _confusion(true, read),
        "Misread": misread_figure(task.data.held_out_images, true, read),
        "The network": f'<div class="wide">{_network(task)}</div>',
        "Its memory": _memory_plan(task),
        "What folding saves": _folding(),
        "What runs when": _profile(task),
    }
    body = "".join(f"<h2>{title}</h2>\n{content}\n" for title, content in sections.items())
    intro = f"<h1>Digits in four ways</h1><p>{escape(_describe(task))}</p>"
    make_folder(folder)
    path = join_path(folder, "report.html")
    write_file(path, [page("Twofold: digits in four ways", intro + body, FIGURES).encode()])
    return path


def _describe(task: Task) -> str:
    data = task.data
    return (
        f"{data.source}: {len(data.labels)} images to train on, {len(data.held_out_labels)} held out. A perceptron "
        f"{'-'.join(map(str, task.sizes))}, {task.epochs} epochs of batches of {task.batch_size}, learning rate {task.learning_rate}."
    )


def _verdict(faults: Sequence[str]) -> str:
    if not faults:
        return "<p>The first losses and the accuracies agree.</p>"
    return "".join(f'<p class="failed">{escape(fault)}</p>' for fault in faults)


def _timings(task: Task, outcomes: Sequence[Outcome]) -> str:
    first = np.array(outcomes[0].losses[:COMPARED])
    rows = []
    for o in outcomes:
        apart = np.max(np.abs(np.array(o.losses[:COMPARED]) / first - 1), initial=0)
        last = np.mean(o.losses[-task.steps_per_epoch :])
        rows.append((o.way, f"{o.accuracy:.4f}", f"{o.losses[0]:.6f}", f"{apart:.1e}" if apart else "0", f"{last:.6f}"))
        rows[-1] += (f"{o.seconds:.1f} s", f"{1e3 * o.seconds / len(o.losses):.2f} ms")
    what = f"<p>Difference: the largest of the first {COMPARED} losses from those of the first way, relative to them.</p>"
    return table(("way", "accuracy", "first loss", "difference", "last epoch's loss", "training", "per step"), rows) + what


def _confusion(true: np.ndarray, read: np.ndarray) -> str:
    counts = np.zeros((10, 10), int)
    # `counts[true, read] += 1` would count each pair once
    np.add.at(counts, (true, read), 1)
    return f"<p>Rows: what it is. Columns: what it is read as.</p>{confusion_figure(counts)}"


def _network(task: Task) -> str:
    return NetworkGraph(network(task), {"data": (task.batch_size, task.sizes[0])}).drawn()


def _memory_plan(task: Task) -> str:
    executor = network(task).simple_bind(CPU, data=(task.batch_size, task.sizes[0]))
    plans = "".join(f"<h3>{escape(what)}</h3>{memory_plan(plan)}" for what, plan in executor.memory_plan().items())
    return f'<div class="wide">{plot_memory(executor)}</div><details><summary>as tables</summary>{plans}</details>'


def _folding() -> str:
    found = saving()
    rows = [
        ("NumPy", str(OPERATIONS), size_text(found.plain.temporaries), f"{1e3 * found.plain.seconds:.1f} ms"),
        ("Twofold", str(len(found.steps)), size_text(found.fused.temporaries), f"{1e3 * found.fused.seconds:.1f} ms"),
    ]
    same = "The results are the same to the bit." if found.is_equal else "The results differ in the last bits."
    intro = (
        f"<p><code>{escape(FORMULA)}</code> on {ELEMENTS:,} numbers, measured in this run. Twofold lets the operations wait until the "
        f"result is read, and computes them in one pass over memory: <code>{escape('; '.join(found.steps))}</code>. {same}</p>"
    )
    what = f"<p>Temporary memory: the most that was in use beside the operand and the result, of {size_text(8 * ELEMENTS)} each.</p>"
    return intro + table(("by", "passes over memory", "temporary memory", "fastest run"), rows) + what


def _profile(task: Task) -> str:
    executor = network(task).simple_bind(CPU, data=(task.batch_size, task.sizes[0]))
    with explain():  # programs that are watched are compiled apart from others
        _train(executor, WARM)
    with explain() as report:
        _train(executor, PROFILED)
    intro = f"<p>{PROFILED} steps, forward and backward, after some in which the programs were compiled.</p>"
    return f'{intro}<div class="wide timeline">{profile(report.profile())}</div>'


def _train(executor: Executor, steps: int) -> None:
    for _ in range(steps):
        executor.forward(is_train=True)
        executor.backward()

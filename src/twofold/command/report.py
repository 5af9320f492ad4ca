"""The demo's report: a self-contained HTML page."""

from collections.abc import Sequence
from html import escape

import numpy as np

from ..device import CPU
from ..formats.files import join_path, make_folder, write_file
from ..visualization import plot_memory, plot_network
from .figures import confusion_figure, curves_figure, misread_figure, page
from .four_ways import Outcome, Task, network


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
        "The network": f"<pre>{escape(plot_network(network(task), shape={'data': (task.batch_size, task.sizes[0])}).source)}</pre>",
        "Its memory": _memory_plan(task),
    }
    body = "".join(f"<h2>{title}</h2>\n{content}\n" for title, content in sections.items())
    intro = f"<h1>Digits in four ways</h1><p>{escape(_describe(task))}</p>"
    make_folder(folder)
    path = join_path(folder, "report.html")
    write_file(path, [page("Twofold: digits in four ways", intro + body).encode()])
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
    rows = "".join(
        f"<tr><td>{escape(o.way)}</td><td>{o.accuracy:.4f}</td><td>{o.losses[0]:.6f}</td>"
        f"<td>{np.mean(o.losses[-task.steps_per_epoch :]):.6f}</td>"
        f"<td>{o.seconds:.1f} s</td><td>{1e3 * o.seconds / len(o.losses):.2f} ms</td></tr>"
        for o in outcomes
    )
    heads = "".join(f"<th>{head}</th>" for head in ("way", "accuracy", "first loss", "loss of the last epoch", "training", "per step"))
    return f"<table><tr>{heads}</tr>{rows}</table>"


def _confusion(true: np.ndarray, read: np.ndarray) -> str:
    counts = np.zeros((10, 10), int)
    # `counts[true, read] += 1` would count each pair once
    np.add.at(counts, (true, read), 1)
    rows = "".join(f"<tr><td>{k}</td>{''.join(f'<td>{n}</td>' for n in row)}</tr>" for k, row in enumerate(counts))
    heads = "".join(f"<th>{k}</th>" for k in range(10))
    return f"{confusion_figure(counts)}<p>Rows: what it is. Columns: what it is read as.</p><table><tr><th></th>{heads}</tr>{rows}</table>"


def _memory_plan(task: Task) -> str:
    executor = network(task).simple_bind(CPU, data=(task.batch_size, task.sizes[0]))
    plans = "\n\n".join(f"{what}\n{plan}" for what, plan in executor.memory_plan().items())
    return f"{plot_memory(executor)}<pre>{escape(plans)}</pre>"

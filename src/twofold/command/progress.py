"""Progress bars: rich's on a terminal, lines of text elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

LINES = 4  # number of lines per bar in text output

Bar = Callable[[str, int], Callable[[float], None]]


@contextmanager
def progress() -> Iterator[Bar]:
    """A function that starts a bar, given its title and number of steps, and returns a function to call with each step's loss."""
    if find_spec("rich") is None or not sys.stdout.isatty():
        yield _lines
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as bars:

        def begin(title: str, steps: int) -> Callable[[float], None]:
            bar = bars.add_task(title, total=steps, loss=float("nan"))
            return lambda loss: bars.update(bar, advance=1, loss=loss)

        yield begin


def _lines(title: str, steps: int) -> Callable[[float], None]:
    def step(loss: float) -> None:
        count(f"  loss {loss:.4f}")

    count = _counted_lines(title, steps)
    return step


def _counted_lines(title: str, steps: int) -> Callable[[str], None]:
    done = 0

    def step(text: str = "") -> None:
        nonlocal done
        done += 1
        # a line whenever another quarter is reached: logs of a batch job stay short
        if done * LINES // steps > (done - 1) * LINES // steps:
            filled = 20 * done // steps
            print(f"{title:<24} [{'#' * filled:<20}] {done:>6}/{steps}{text}", flush=True)

    return step


@contextmanager
def counting(title: str, steps: int) -> Iterator[Callable[[], None]]:
    """A bar, given its title and number of steps, as a function to call after each."""
    if find_spec("rich") is None or not sys.stdout.isatty():
        yield partial(_counted_lines(title, steps), "")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns) as bars:
        bar = bars.add_task(title, total=steps)
        yield lambda: bars.update(bar, advance=1)

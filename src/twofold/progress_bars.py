"""``mx.progress``: one bar for loops, by rich or tqdm, on terminals and in notebooks; nothing elsewhere, so that logs stay short."""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from operator import length_hint
from time import perf_counter
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

Item = TypeVar("Item")
#: A number, a text, or a function that returns one, which is called only when the bar is drawn anew.
Metric = float | str | Callable[[], object]
#: Seconds between drawings.
INTERVAL = 0.1
#: Called with the number of steps done, and the text after the bar.
Draw = Callable[[int, str], object]


@runtime_checkable
class _Number(Protocol):
    """What is shown with four digits: Python's, NumPy's and the arrays' scalars."""

    def __float__(self) -> float: ...


def progress(iterable: Iterable[Item] = (), title: str = "", total: int | None = None, **metrics: Metric) -> "Progress[Item]":
    """Iterate with a bar that shows how far the loop is, its rate, the time left and metrics.

    The bar is drawn by rich, or else by tqdm, on the standard error of a terminal or in a notebook. Where there is neither, the loop is
    silent.

    Parameters
    ----------
    iterable
        What to iterate over, such as a `DataLoader`. Without one, call `Progress.step` in a ``with`` statement.
    title
        Text before the bar.
    total
        Number of steps; that of the iterable, if it knows one, by default.
    **metrics
        Numbers or texts to show after the bar, by name; or functions that return them, called ten times a second at most.

    Returns
    -------
    Progress
        The items, one after another.

    Examples
    --------
    >>> import twofold as mx
    >>> metric = mx.metric.Loss()
    >>> bar = mx.progress([0.5, 0.25], "epoch 1", loss=lambda: metric.get()[1])
    >>> for value in bar:
    ...     metric.update(None, [mx.nd.array([value])])
    >>> metric.get()
    ('loss', 0.375)
    """
    return Progress(iterable, title, total, metrics)


class Progress(Generic[Item]):
    """A loop with a bar; see `progress`.

    Parameters
    ----------
    iterable, title, total, metrics
        As for `progress`.
    """

    def __init__(self, iterable: Iterable[Item], title: str, total: int | None, metrics: dict[str, Metric]) -> None:
        self._iterable, self._title, self._metrics = iterable, title, metrics
        # 0 is what generators answer, whose length nobody knows
        self._total = length_hint(iterable) or None if total is None else total
        self._done, self._drawn_at = 0, 0.0
        self._bar: AbstractContextManager[Draw | None] = nullcontext()
        self._draw: Draw | None = None

    def __iter__(self) -> Iterator[Item]:
        with self:
            for item in self._iterable:
                yield item
                self.step()

    def __enter__(self) -> Self:
        self._done = 0
        self._bar = _bar(self._title, self._total)
        self._draw = self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        # the last steps may have come sooner than the interval
        if self._draw is not None:
            self._draw(self._done, self._text())
        self._draw = None
        self._bar.__exit__(*error)

    def step(self, **metrics: Metric) -> None:
        """Count a step, and show metrics, as `show` does.

        Parameters
        ----------
        **metrics
            Numbers, texts or functions by name.
        """
        self._done += 1
        self._metrics |= metrics
        # metrics are asked for only now: reading one may wait for the device
        if self._draw is not None and perf_counter() - self._drawn_at >= INTERVAL:
            self._draw(self._done, self._text())
            self._drawn_at = perf_counter()

    def show(self, **metrics: Metric) -> None:
        """Change the metrics that are shown from the next drawing on.

        Parameters
        ----------
        **metrics
            Numbers, texts or functions by name.
        """
        self._metrics |= metrics

    def _text(self) -> str:
        values = ((name, value() if callable(value) else value) for name, value in self._metrics.items())
        return ", ".join(f"{name} {float(v):.4g}" if isinstance(v, _Number) else f"{name} {v}" for name, v in values)


def _bar(title: str, total: int | None) -> AbstractContextManager[Draw | None]:
    """A bar of the first library that is installed; None where it would not be seen."""
    if find_spec("rich") is not None:
        return _RichBar(title, total) if _is_seen_by_rich() else nullcontext()
    # tqdm knows notebooks itself, and with `disable=None` draws nothing into files
    return _TqdmBar(title, total) if find_spec("tqdm") is not None else nullcontext()


def _is_seen_by_rich() -> bool:
    if sys.stderr.isatty():
        return True
    # without a terminal only a notebook shows bars, and only IPython runs those: no other program loads rich here
    return "IPython" in sys.modules and importlib.import_module("rich.console").Console(stderr=True).is_jupyter


class _RichBar:
    def __init__(self, title: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
        from rich.text import Text

        # made here, because its base class exists only where rich is installed
        class Rate(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text(f"{task.finished_speed or task.speed or 0:.4g}/s")

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
        self._progress = Progress(*columns, TextColumn("{task.fields[metrics]}", markup=False), console=Console(stderr=True))
        self._task = self._progress.add_task(title, total=total, metrics="")

    def __enter__(self) -> Draw:
        self._progress.start()
        return lambda done, text: self._progress.update(self._task, completed=done, metrics=text)

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


class _TqdmBar:
    def __init__(self, title: str, total: int | None) -> None:
        self._bar = importlib.import_module("tqdm.auto").tqdm(desc=title or None, total=total, disable=None)

    def __enter__(self) -> Draw:
        return self._drawn

    def _drawn(self, done: int, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(done - self._bar.n)

    def __exit__(self, *error: object) -> None:
        self._bar.close()

"""``mx.progress``: one bar for loops, by rich or tqdm, on terminals and in notebooks; nothing elsewhere, so that logs stay short."""

import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from io import TextIOBase
from operator import length_hint
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TextIO, TypeVar, runtime_checkable

from .config import SETTINGS

if TYPE_CHECKING:
    from rich.progress import Progress as Display

Item = TypeVar("Item")
#: A number, a text, or a function that returns one, which is called only when the bar is redrawn.
Metric = float | str | Callable[[], object]
#: Seconds between drawings.
INTERVAL = 0.1
#: The unit of bars that count bytes.
BYTES = "B"


class _Bar(AbstractContextManager["_Bar"], Protocol):
    """A library's bar. Entering it draws it for the first time."""

    @property
    def is_shown(self) -> bool:
        """Whether somebody may see it."""
        ...

    def draw(self, done: int, total: int | None, text: str) -> None:
        """Show the number of steps done and the number of all, and a text after the bar."""

    def above(self, stream: TextIO, text: str) -> None:
        """Write to a terminal's stream without tearing the bar."""


@runtime_checkable
class _Number(Protocol):
    """What is shown with four digits: Python's, NumPy's and the arrays' scalars."""

    def __float__(self) -> float: ...


def progress(iterable: Iterable[Item] = (), title: str = "", total: int | None = None, **metrics: Metric) -> "Progress[Item]":
    """Iterate with a bar that shows how far the loop is, its rate, the time left and metrics.

    The bar is drawn by rich, or else by tqdm, on the standard error of a terminal or in a notebook. Where there is neither, and with
    ``TWOFOLD_PROGRESS=0``, the loop is silent.

    Parameters
    ----------
    iterable
        The iterable, such as a `DataLoader`. Without one, call `Progress.step` in a ``with`` statement.
    title
        Text before the bar.
    total
        Number of steps; by default the iterable's length, if it has one.
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
    unit
        The unit of the steps: empty, or ``"B"`` for bytes, which are shown in kilobytes and so on.
    delay
        Seconds before the bar appears: short work needs none.
    logger
        A logger whose records appear above the bar, besides those of the root logger; or the module `logging`, which means the root logger.

    Attributes
    ----------
    total
        The number of steps, or None; it may grow.
    """

    def __init__(
        self,
        iterable: Iterable[Item] = (),
        title: str = "",
        total: int | None = None,
        metrics: Mapping[str, Metric] | None = None,
        *,
        unit: str = "",
        delay: float = 0.0,
        logger: object = None,
    ) -> None:
        self._iterable, self._title, self._metrics = iterable, title, dict(metrics or {})
        # generators, whose length is unknown, answer 0
        self.total = length_hint(iterable) or None if total is None else total
        self._unit, self._delay, self._logger = unit, delay, logger
        self._done, self._drawn_at, self._entered_at = 0, 0.0, 0.0
        self._kind: type[_RichBar | _TqdmBar] | None = None
        self._bar: _Bar | None = None
        self._open = ExitStack()

    def __iter__(self) -> Iterator[Item]:
        with self:
            for item in self._iterable:
                yield item
                self.step()

    def __enter__(self) -> Self:
        self._done, self._entered_at = 0, perf_counter()
        self._kind = _kind()
        if not self._delay:
            self._appear()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        # The last steps may have come sooner than the interval. After an error metrics are left alone: reading them might raise another.
        if self._bar is not None and (kind is None or not issubclass(kind, Exception)):
            self._bar.draw(self._done, self.total, self._text())
        self._bar = self._kind = None
        self._open.close()

    def _appear(self) -> None:
        if self._kind is None:
            return
        bar = self._open.enter_context(self._kind(self._title, self.total, self._unit))
        if bar.is_shown:
            self._bar = bar
            self._open.enter_context(_records_above(bar, self._logger))
        else:  # metrics need not be read
            self._kind = None

    @property
    def done(self) -> int:
        """The number of steps done."""
        return self._done

    @property
    def is_seen(self) -> bool:
        """Whether there is a bar, or will be after the delay."""
        return self._kind is not None

    def step(self, count: int = 1, /, **metrics: Metric) -> None:
        """Count a step, and show metrics, as `show` does.

        Parameters
        ----------
        count
            How many steps.
        **metrics
            Numbers, texts or functions by name.
        """
        self._done += count
        self._metrics |= metrics
        now = perf_counter()
        if self._bar is None:
            if self._kind is None or now - self._entered_at < self._delay:
                return
            self._appear()
        # metrics are read only now: reading one may wait for the device
        if self._bar is not None and now - self._drawn_at >= INTERVAL:
            self._bar.draw(self._done, self.total, self._text())
            self._drawn_at = perf_counter()

    def show(self, **metrics: Metric) -> None:
        """Change the metrics that are shown from the next drawing on.

        Parameters
        ----------
        **metrics
            Numbers, texts or functions by name.
        """
        self._metrics |= metrics

    def _values(self) -> Iterable[tuple[str, object]]:
        return ((name, value() if callable(value) else value) for name, value in self._metrics.items())

    def _text(self) -> str:
        return ", ".join(f"{name} {float(v):.4g}" if isinstance(v, _Number) else f"{name} {v}" for name, v in self._values())


class Epoch(Progress[Any]):
    """The bar of an epoch of training, which shows a metric's values.

    Parameters
    ----------
    title, total, logger
        As for `Progress`.
    values
        Gives the (name, value) pairs of the metric when the bar is drawn.
    """

    def __init__(self, title: str, total: int | None, values: Callable[[], Iterable[tuple[str, object]]], logger: object = None) -> None:
        super().__init__((), title, total, logger=logger)
        self._values_now = values

    def _values(self) -> Iterable[tuple[str, object]]:
        return self._values_now()


# ------------------------------------------------------------------------------------------------------------ log records


class _Above:
    """Stands for the stream of a handler of log records while there is a bar on the terminal."""

    def __init__(self, bar: _Bar, stream: TextIO) -> None:
        self._bar, self._stream = bar, stream

    def write(self, text: str) -> None:
        # not in a forked child, where the lock of the terminal may be held for ever
        if SETTINGS.progress:
            self._bar.above(self._stream, text)
        else:
            self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()


@contextmanager
def _records_above(bar: _Bar, logger: object) -> Iterator[None]:
    """Let the handlers that write to a terminal write above a bar."""
    found = {*logging.root.handlers, *(logger.handlers if isinstance(logger, logging.Logger) else ())}
    # a handler of records does not look at `sys.stderr` again, so that a library that replaces it has no effect on it
    held = {h: h.stream for h in found if isinstance(h, logging.StreamHandler) and _is_terminal(h.stream)}
    for handler, stream in held.items():
        handler.setStream(_Above(bar, stream))
    try:
        yield
    finally:
        for handler, stream in held.items():
            handler.setStream(stream)


def _is_terminal(stream: object) -> bool:
    return isinstance(stream, TextIOBase) and stream.isatty()


def _in_child() -> None:
    """In a forked child, such as a data loader's worker: draw nothing, and print past the parent's bar."""
    if _RichBar.is_drawn():
        from rich.file_proxy import FileProxy

        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, FileProxy):
                setattr(sys, name, stream.rich_proxied_file)
    SETTINGS.progress = False


# ---------------------------------------------------------------------------------------------------------------- libraries


def _kind() -> "type[_RichBar | _TqdmBar | _TextBar] | None":
    """The bars of the first library that is installed; None if nobody would see them."""
    if not SETTINGS.progress:
        return None
    if _lacks_widgets():
        return _TextBar if find_spec("tqdm") is not None else None
    if find_spec("rich") is not None:
        return _RichBar if is_shown_by_rich(sys.stderr) else None
    # tqdm recognizes notebooks itself, and with `disable=None` says of files that it draws nothing into them
    return _TqdmBar if find_spec("tqdm") is not None else None


def _lacks_widgets() -> bool:
    """Whether this is a notebook without ipywidgets, in which rich shows an empty cell and tqdm nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    # only the shell of a notebook has a kernel
    return getattr(shell, "kernel", None) is not None and find_spec("ipywidgets") is None


def is_shown_by_rich(stream: TextIO) -> bool:
    """Whether somebody sees what rich writes to a stream: a terminal or a notebook."""
    if stream.isatty():
        return True
    # without a terminal only a notebook shows it, and only IPython runs those: no other program loads rich here
    return "IPython" in sys.modules and importlib.import_module("rich.console").Console(file=stream).is_jupyter


class _RichBar:
    """A line of rich's display, which all bars of a process share; one within another disappears when it ends."""

    _lock = threading.Lock()
    _display: "ClassVar[Display | None]" = None
    _lines: ClassVar[int] = 0

    def __init__(self, title: str, total: int | None, unit: str) -> None:
        self._title, self._total, self._unit = title, total, unit

    def __enter__(self) -> Self:
        with self._lock:
            if self._display is None:
                display = type(self)._display = _rich_display()
                display.start()
            else:
                display = self._display
            type(self)._lines += 1
            self._shared = display
            self._is_inner = self._lines > 1
            self._task = self._shared.add_task(self._title, total=self._total, metrics="", unit=self._unit)
        return self

    @classmethod
    def is_drawn(cls) -> bool:
        """Whether the display is on the terminal."""
        return cls._display is not None

    @property
    def is_shown(self) -> bool:
        return True

    def draw(self, done: int, total: int | None, text: str) -> None:
        self._shared.update(self._task, completed=done, total=total, metrics=text)

    def above(self, stream: TextIO, text: str) -> None:
        self._shared.console.out(text, end="", highlight=False)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._is_inner:
                self._shared.remove_task(self._task)
            type(self)._lines -= 1
            if self._lines == 0:
                self._shared.stop()
                type(self)._display = None


def _rich_display() -> "Display":
    from rich import filesize
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    def amount(number: float, unit: str) -> str:
        return filesize.decimal(int(number)) if unit == BYTES else f"{number:.4g}"

    # made here, because their base class exists only where rich is installed
    class Done(ProgressColumn):
        def render(self, task: Task) -> Text:
            unit = task.fields["unit"]
            counts = [task.completed] if task.total is None else [task.completed, task.total]
            return Text("/".join(amount(count, unit) if unit == BYTES else f"{count:.0f}" for count in counts))

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{amount(task.finished_speed or task.speed or 0, task.fields['unit'])}/s")

    class Metrics(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.fields["metrics"], no_wrap=True, overflow="ellipsis")

    # on a narrow terminal only the bar and the metrics get shorter
    title, done, rate, left = (Column(no_wrap=True) for _ in range(4))
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=title),
        BarColumn(None, table_column=Column(max_width=25)),
        Done(done),
        Rate(rate),
        TimeRemainingColumn(table_column=left),
        Metrics(),
        console=Console(stderr=True),
    )


class _TqdmBar:
    _module: ClassVar[str] = "tqdm.auto"
    #: Whether to draw nothing; None for nothing into files.
    _disable: ClassVar[bool | None] = None

    def __init__(self, title: str, total: int | None, unit: str) -> None:
        self._tqdm = importlib.import_module(self._module).tqdm
        scale = {"unit": unit, "unit_scale": True} if unit else {}
        self._bar = self._tqdm(desc=title or None, total=total, disable=self._disable, **scale)

    def __enter__(self) -> Self:
        return self

    @property
    def is_shown(self) -> bool:
        return not self._bar.disable

    def draw(self, done: int, total: int | None, text: str) -> None:
        self._bar.total = total
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(done - self._bar.n)

    def above(self, stream: TextIO, text: str) -> None:
        self._tqdm.write(text, file=stream, end="")

    def __exit__(self, *error: object) -> None:
        self._bar.close()


class _TextBar(_TqdmBar):
    """A bar of characters, which a notebook shows without widgets."""

    _module = "tqdm.std"
    _disable = False


os.register_at_fork(after_in_child=_in_child)

"""Processes in which a library runs, by Twofold or by MXNet 1.9.1, and answers questions."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .environment import Library, oracle, python

INSIDE = Path(__file__).with_name("inside")
#: Begins the lines that are answers, as in `inside/answers.py`.
MARK = "answer "


class Silent(Exception):
    """A process has ended, or has not answered in time."""


def command(side: str, words: list[str]) -> list[str]:
    """The command that runs a program of `mxnet` by Twofold or by MXNet."""
    return [str(python()), "-m", "twofold", "run", *words] if side == "twofold" else [str(oracle()), *words]


def variables(library: Library, side: str, threads: int) -> dict[str, str]:
    """The environment: the library's sources, and as many threads on both sides."""
    path = [library.source, *library.extras(side)]
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TWOFOLD_THREADS"), str(threads))
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OPENBLAS_CORETYPE")}
    return {**kept, **limits, "PYTHONPATH": os.pathsep.join(map(str, path)), "MPLBACKEND": "agg"}


class Process:
    """A program of `inside` that answers questions.

    Parameters
    ----------
    library, side
        What it imports, and by ``"twofold"`` or ``"mxnet"``.
    program, words
        The file's name without its suffix, and its arguments.
    threads
        How many threads it may use.
    log
        Where its output and standard error go.
    """

    def __init__(self, library: Library, side: str, program: str, *words: str, threads: int, log: Path) -> None:
        self.log = log.open("a", encoding="utf-8")
        self.child = subprocess.Popen(
            command(side, [str(INSIDE / f"{program}.py"), *words]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=variables(library, side, threads),
            cwd=log.parent,
        )

    def ask(self, question: Any, seconds: float) -> Any:
        """The answer to a question; `Silent` if there is none in time."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            self.child.stdin.write(json.dumps(question).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise Silent(f"ended with status {self.child.wait()}") from None
        read, deadline = b"", time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.stdout, selectors.EVENT_READ)
            while not read.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise Silent(f"no answer in {seconds:.0f} s")
                part = os.read(self.child.stdout.fileno(), 1 << 20)
                if not part:
                    raise Silent(f"ended with status {self.child.wait()}")
                read += part
        return json.loads(read.decode().removeprefix(MARK))

    def close(self) -> None:
        """End the process, at once if it is busy."""
        self.child.kill()
        self.child.wait()
        self.log.close()


class Asked:
    """A process that is started at the first question, and again after one that it has not survived."""

    def __init__(self, start: Callable[[], Process]) -> None:
        self.start = start
        self.process: Process | None = None

    def ask(self, question: Any, seconds: float) -> Any:
        """The answer, or `{"error": …}`."""
        if self.process is None:
            self.process = self.start()
        try:
            return self.process.ask(question, seconds)
        except Silent as silent:
            self.close()
            return {"error": str(silent)}

    def close(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.close()
            self.process = None

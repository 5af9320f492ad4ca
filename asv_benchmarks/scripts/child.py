"""Runs one script in this process, in one of the ways, and prints its time and its output as JSON.

The time is that of the script's own code: it starts when the interpreter reports that the script is executed, after NumPy or Twofold
have been imported.
"""

from __future__ import annotations

import builtins
import io
import json
import runpy
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any


class Stopwatch:
    """Starts when the code of a file is executed, whoever executes it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.wall = self.cpu = 0.0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec" and isinstance(arguments[0], CodeType) and arguments[0].co_filename == self.file:
            self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Wall time and CPU time since the start, in seconds."""
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def by_numpy(script: str) -> None:
    """Run a script as Python does."""
    runpy.run_path(script, run_name="__main__")


def by_command(script: str) -> None:
    """Run a script by ``python -m twofold run --numpy``."""
    import_module("twofold.command").main(["run", "--numpy", script])


def by_namespace(script: str) -> None:
    """Run a script whose own imports of numpy import `twofold.np`."""

    def importer(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name == "numpy" and not level and globals is main:
            return import_module("twofold.numpy")
        return builtins.__import__(name, globals, locals, fromlist, level)

    main = {"__name__": "__main__", "__file__": script, "__builtins__": {**vars(builtins), "__import__": importer}}
    exec(compile(Path(script).read_bytes(), script, "exec"), main)


RUNNERS: dict[str, Callable[[str], None]] = {"numpy": by_numpy, "run": by_command, "np": by_namespace}


def main(way: str, script: str) -> None:
    """Import what the script needs, run it, and print what happened."""
    run, output, failure = RUNNERS[way], io.StringIO(), None
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.py"
        first.write_text("import numpy as np\n")
        run(str(first))
    watch = Stopwatch(script)
    with redirect_stdout(output):
        try:
            run(script)
        except BaseException:  # whatever ended the script is the report
            failure = traceback.format_exc()
        wall, cpu = watch.read()
    print(json.dumps({"wall": wall, "cpu": cpu, "output": output.getvalue(), "failure": failure}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Processes that run a library each, on command, so that they can take turns: other programs then disturb all of them alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parent.parent
#: The interpreter that has MXNet 1.9.1.
ORACLE = Path(os.environ.get("TWOFOLD_ORACLE", ROOT.parent / "shared" / "tools" / "oracle"))


class Worker:
    """A process that answers commands, as the parent sees it: it runs a module of this package with ``--worker``.

    Parameters
    ----------
    interpreter, module
        What is run.
    words
        What follows ``--worker`` on its command line.
    variables
        Environment variables, beside those of this process; OpenBLAS selects its kernels itself.
    """

    def __init__(self, interpreter: str | Path, module: str, *words: str, variables: Mapping[str, str] = {}) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        pipes: dict[str, int] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [str(interpreter), "-m", module, "--worker", *words]
        self.child = subprocess.Popen(command, cwd=ROOT, env={**environment, **variables}, text=True, **pipes)  # type: ignore[call-overload]

    @classmethod
    def of_library(cls, library: str, threads: int, module: str) -> Worker:
        """One that runs a library, MXNet's in an environment of its own, on so many threads."""
        limits = {variable: str(threads) for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TWOFOLD_THREADS")}
        interpreter = ORACLE if library == "mxnet" else sys.executable
        return cls(interpreter, module, library, "--threads", str(threads), variables=limits)

    def ask(self, line: str) -> Any:
        """Send a command and return the answer, which is a text if the command has failed."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        print(line, file=self.child.stdin, flush=True)
        for answer in self.child.stdout:
            if answer.startswith("answer "):
                return json.loads(answer[7:])
        raise RuntimeError("the process has ended")

    def close(self) -> None:
        """End the process."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()


def answer_commands(answer: Callable[[str], Any]) -> None:
    """What a worker does: answer each line of its standard input with what a function of it returns, or with its error as text."""
    for line in sys.stdin:
        try:
            found = answer(line.strip())
        except Exception as error:
            found = f"{type(error).__name__}: {error}"[:300]
        print("answer " + json.dumps(found), flush=True)


def seconds(run: Callable[[], Any]) -> list[float]:
    """The wall time and the CPU time of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return [time.perf_counter() - wall, time.process_time() - cpu]


def memory(field: str) -> int:
    """Bytes of this process' memory: ``"VmRSS"`` is what it has, ``"VmHWM"`` the most that it has had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field + ":"))


def many(call: Callable[[], Any], times: int) -> Callable[[], None]:
    """A function that calls another many times."""

    def repeated() -> None:
        for _ in range(times):
            call()

    return repeated

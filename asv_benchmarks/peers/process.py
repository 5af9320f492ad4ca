"""The parent's handle of a worker process, which answers commands."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from asv_benchmarks.peers.table import ROOT, Library

if TYPE_CHECKING:
    from pathlib import Path

#: Seconds after which an unresponsive worker is killed.
PATIENCE = 300


class WorkerFailed(Exception):
    """A worker reported a failure, or did not answer."""


class Process:
    """A worker's process, which takes one command at a time.

    Parameters
    ----------
    library
        The library that it runs.
    base
        The parent's environment variables.
    scratch
        An empty folder for the worker's caches.
    """

    def __init__(self, library: Library, base: Mapping[str, str], scratch: Path) -> None:
        self.library = library
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `close`)
        command = [str(library.interpreter), "-m", "asv_benchmarks.peers.worker", library.module]
        pipe = subprocess.PIPE
        environment = library.environment(base, scratch)
        try:
            self.child = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=self.errors, bufsize=0)
        except OSError:
            self.errors.close()
            raise

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and return the answer.

        Raises
        ------
        WorkerFailed
            If the worker failed, with its message.
        """
        assert self.child.stdin is not None
        try:
            self.child.stdin.write((json.dumps({"do": do, **arguments}) + "\n").encode())
        except OSError as error:
            raise WorkerFailed(f"the process has ended: {self.last_words()}") from error
        answer = self.answer()
        if "failed" in answer:
            raise WorkerFailed(answer["failed"])
        return answer

    def answer(self) -> dict[str, Any]:
        """Read the next answer.

        Raises
        ------
        WorkerFailed
            If there is none within the time limit, or the process has ended.
        """
        assert self.child.stdout is not None
        if not select.select([self.child.stdout], [], [], PATIENCE)[0]:
            self.child.kill()
            raise WorkerFailed(f"no answer in {PATIENCE} s")
        line = self.child.stdout.readline()
        if not line:
            raise WorkerFailed(f"the process has ended: {self.last_words()}")
        return json.loads(line)

    def last_words(self) -> str:
        """The last line of the process' standard error."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no error output"

    def close(self) -> None:
        """End the process."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.errors.close()

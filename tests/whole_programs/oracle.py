"""The real MXNet, a process that runs random programs one after another."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryFile

from tests.conftest import SHARED


class Oracle:
    """Runs programs on MXNet 1.9.1; its process ends with this one, when its input does."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.said = TemporaryFile("w+", errors="replace")  # noqa: SIM115

    def answers(self, kind: str, seed: int) -> list[str] | None:
        """The outcomes of a program; None if it ends MXNet's process, as a division of integers by zero does."""
        if self.process is None:
            self.process = self._start()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{kind} {seed}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        process, self.process = self.process, None
        if (status := process.wait()) >= 0:  # an exception, as against a signal that ended the process
            self.said.seek(0)
            raise RuntimeError(f"status {status}: {self.said.read()[-2000:]}")
        return None

    def _start(self) -> subprocess.Popen[str]:
        command = [str(SHARED / "tools" / "oracle"), str(Path(__file__).with_name("answers.py"))]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)

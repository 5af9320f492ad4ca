"""Evaluates the probes with the real MXNet and writes its answers to ``answers/NAME.json``.

python tests/probes/make_answers.py ../shared/tools/oracle [NAME ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

HERE = Path(__file__).parent


def answers(oracle: str, path: Path) -> dict[str, Any]:
    """The answers to a file's probes; ``"crash"`` where the process ended, or took more than two minutes."""
    found: dict[str, Any] = {}
    while True:
        command = [oracle, str(HERE / "evaluation.py"), str(path), str(len(found))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            stopper = Timer(120, process.kill)  # MXNet may wait for ever
            stopper.start()
            asked, _ = process.communicate()
            stopper.cancel()
        lines = [json.loads(line) for line in asked.splitlines()]
        found.update(zip(lines[::2], lines[1::2]))
        if process.returncode == 0:
            return found
        if len(lines) % 2 == 0:
            raise SystemExit(f"{path.name}: the oracle ended with {process.returncode} before a probe")
        found[lines[-1]] = "crash"


def write(path: Path, found: dict[str, Any]) -> None:
    """Write answers, one a line."""
    lines = [f"{json.dumps(text)}: {json.dumps(value)}" for text, value in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{path.name}: {len(lines)} answers")


if __name__ == "__main__":
    wanted = sys.argv[2:]
    for path in sorted((HERE / "texts").glob("*.txt")):
        if not wanted or path.stem in wanted:
            write(HERE / "answers" / f"{path.stem}.json", answers(sys.argv[1], path))

"""Compare random programs with the real MXNet: ``python -m tests.whole_programs.compare FIRST LAST``, for as many as one has time."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import twofold as mx

from .programs import Program
from tests.conftest import SHARED

HERE = Path(__file__).parent
#: What MXNet answered to the first programs.
KEPT = HERE / "answers.json"


def differs(want: str, got: str) -> bool:
    """Whether an outcome is another one than MXNet's: sums may differ by rounding; an error may be of further classes."""
    if want.startswith("error") or got.startswith("error"):
        return not (want.startswith("error") and got.startswith("error") and want.split()[1] in got.split())
    tolerance = 3e-2 if "float16" in want else 2e-3
    pairs = list(zip(want.split(), got.split(), strict=False))
    if not pairs or len(want.split()) != len(got.split()):
        return want != got
    scale = max([abs(_number(w)) for w, _ in pairs[2:]], default=0.0)
    return not all(
        w == g or math.isclose(_number(w), _number(g), rel_tol=tolerance, abs_tol=tolerance * min(max(scale, 1e-3), 1e3)) for w, g in pairs
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def first_difference(seed: int, answers: Sequence[str]) -> str | None:
    """The first statement of a program that gives another outcome than MXNet's, with those before it; None if all agree."""
    ran = Program(mx, seed).run()
    for k, (statement, got) in enumerate(ran):
        want = answers[k] if k < len(answers) else "nothing"
        if want != got and differs(want, got):
            before = "\n".join(f"    {s}: {o}" for s, o in ran[max(0, k - 12) : k])
            return f"seed {seed}, statement {k}\n{before}\n    {statement}\n  MXNet:   {want}\n  Twofold: {got}"
    return None


def answers_of_mxnet(first: int, last: int) -> list[list[str] | None]:
    """What MXNet answers to programs; None for those that end its process."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "answers"
        while True:
            command = [SHARED / "tools" / "oracle", HERE / "answers.py", str(first), str(last), target]
            subprocess.run([*map(str, command)], check=False, capture_output=True)
            lines = target.read_text(encoding="utf-8").splitlines()
            if len(lines) == last - first:
                return [json.loads(line) for line in lines]
            with target.open("a", encoding="utf-8") as file:
                file.write("null\n")


def main() -> None:
    """Print the differences of the programs FIRST to LAST; with ``--keep`` write the answers for the tests instead."""
    if sys.argv[1] == "--keep":
        kept = answers_of_mxnet(0, int(sys.argv[2]))
        KEPT.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n", encoding="utf-8")
        return
    first, last = map(int, sys.argv[1:3])
    found, run = 0, 0
    for start in range(first, last, 500):
        answers = answers_of_mxnet(start, min(last, start + 500))
        for seed, own in enumerate(answers, start):
            if own is not None:
                run += 1
                difference = first_difference(seed, own)
                found += difference is not None
                print(difference, flush=True) if difference else None
    print(f"{run} programs compared, {found} differ, {last - first - run} end MXNet's process")


if __name__ == "__main__":
    main()

"""Compare random programs with the real MXNet: ``python -m tests.whole_programs.compare FIRST LAST [KIND …]``."""

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import twofold as mx

from .kinds import KINDS
from .known import Difference, row_of
from .oracle import Oracle
from .outcomes import differs, outcome_at

HERE = Path(__file__).parent
#: What MXNet answered to the first programs.
KEPT = HERE / "answers.json"
#: How many of each kind.
COUNTS = {"statements": 160, "wide": 100, "functions": 40}


def first_difference(kind: str, seed: int, answers: Sequence[str], rows: Counter[str] | None = None) -> str | None:
    """The first statement of a program that gives another outcome than MXNet's and has no row, with those before it; None if there is none.

    Parameters
    ----------
    kind, seed
        The program.
    answers
        MXNet's outcomes.
    rows
        Counts the differences that have a row.
    """
    ran = KINDS[kind](mx, seed, answers).run()
    for k, (statement, got) in enumerate(ran):
        want = outcome_at(answers, k)
        if want == got or not differs(want, got):
            continue
        row = row_of(Difference(ran, answers, k)) or ("Rounding" if rounds_otherwise(kind, seed, answers, k, got) else None)
        if row is None:
            before = "\n".join(f"    {s}: {o}" for s, o in ran[:k])
            return f"{kind} {seed}, statement {k}\n{before}\n    {statement}\n  MXNet:   {want}\n  Twofold: {got}"
        if rows is not None:
            rows[row] += 1
        goes_on = kind == "functions" or statement.endswith(".grad") or (want.startswith("error") and re.match(r"[vs]\d+ = ", statement))
        if not goes_on:
            return None  # arrays have other contents from here on
    return None


def rounds_otherwise(kind: str, seed: int, answers: Sequence[str], k: int, got: str) -> bool:
    """Whether a statement makes much of the last bits of its operands, as the floor of what is nearly 1 does: they may then be MXNet's.

    A gradient's operands are the arrays before its scope.
    """
    statements = [statement for statement, _ in KINDS[kind](mx, seed, answers).run()]
    scopes = [j for j in range(k) if statements[j].startswith("record(")]
    at = scopes[-1] if scopes and re.search(r"\.grad$|backward", statements[k]) else k
    for draw in range(4):
        program = KINDS[kind](mx, seed, answers)
        program.nudge = at, np.random.RandomState(draw)
        other = outcome_at([outcome for _, outcome in program.run()], k)
        if not other.startswith(("error", "nothing")) and differs(got, other):
            return True
    return False


def main() -> None:
    """Print the differences of the programs FIRST to LAST; with ``--keep`` write the answers for the tests instead."""
    oracle = Oracle()
    if sys.argv[1] == "--keep":
        kept = {kind: [oracle.answers(kind, seed) for seed in range(count)] for kind, count in COUNTS.items()}
        lines = {kind: ",\n".join(map(json.dumps, answers)) for kind, answers in kept.items()}
        KEPT.write_text("{\n" + ",\n".join(f'"{kind}": [\n{text}\n]' for kind, text in lines.items()) + "\n}\n", encoding="utf-8")
        return
    first, last = map(int, sys.argv[1:3])
    for kind in sys.argv[3:] or KINDS:
        found, run, rows = 0, 0, Counter[str]()
        for seed in range(first, last):
            if (answers := oracle.answers(kind, seed)) is not None:
                run += 1
                difference = first_difference(kind, seed, answers, rows)
                found += difference is not None
                print(difference, flush=True) if difference else None
        print(f"{kind}: {run} programs compared, {found} differ, {last - first - run} end MXNet's process", flush=True)
        for row, count in rows.most_common():
            print(f"    {row}: {count}", flush=True)


if __name__ == "__main__":
    main()

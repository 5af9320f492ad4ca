"""Append what the real MXNet 1.9.1 answers to random programs: ``tools/oracle answers.py KIND FIRST LAST FILE``.

A line is the list of a program's outcomes. Some programs end MXNet's process, by a division of integers: then ``null`` is put in its place,
and the script is run again, as `compare` does.
"""

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.whole_programs.kinds import KINDS

kind, first, last, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(target, "a+", encoding="utf-8") as file:
    file.seek(0)
    done = sum(1 for _ in file)
    for seed in range(first + done, last):
        answers = [outcome for _, outcome in KINDS[kind](mx, seed).run()]
        file.write(json.dumps(answers) + "\n")
        file.flush()

"""Append what the real MXNet 1.9.1 answers to random programs: ``tools/oracle answers.py FIRST LAST FILE``, from beside `programs.py`.

A line is the list of a program's outcomes. Some programs end MXNet's process, by a division of integers: then ``null`` is put in its place,
and the script is run again, as `compare` does.
"""

import json
import sys

import mxnet as mx
from programs import Program

first, last, target = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open(target, "a+", encoding="utf-8") as file:
    file.seek(0)
    done = sum(1 for _ in file)
    for seed in range(first + done, last):
        answers = [outcome for _, outcome in Program(mx, seed).run()]
        file.write(json.dumps(answers) + "\n")
        file.flush()

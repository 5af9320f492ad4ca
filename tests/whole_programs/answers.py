"""Answers of the real MXNet 1.9.1 to random programs: run by `oracle.Oracle`.

A line of the input is a kind and a seed; a line of the output is the list of that program's outcomes.
"""

import json
import os
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.whole_programs.kinds import KINDS

target = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what MXNet prints is no answer
for line in sys.stdin:
    kind, seed = line.split()
    print(json.dumps([outcome for _, outcome in KINDS[kind](mx, int(seed)).run()]), file=target, flush=True)

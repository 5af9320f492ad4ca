"""Stands in for Slurm's ``srun``: sets its variables, labels lines by task, and says which task failed. ``mpiexec`` is its PMIx server.

Without ``--mpi=pmix``, or with WITHOUT_PMIX, the processes do not find one another, as where Slurm was built without PMIx.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from pathlib import Path

from twofold.command.mpi import Engine, Job, _mpiexec
from twofold.launcher_notes import FOLDER

#: Slurm does not set Open MPI's variables, and Open MPI does not set Slurm's.
TASK = """
rank=${OMPI_COMM_WORLD_RANK:-$0}
for name in $(env | grep -o "^OMPI_COMM_WORLD_[A-Z_]*"); do unset $name; done
SLURM_PROCID=$rank exec "$@"
"""
LABEL = re.compile(r"\[[^]]*,(\d+)\]<std(?:out|err)>: ?")
FAILED = re.compile(r"rank (\d+) with PID .*|Process name: \[.*,(\d+)\]")

parser = ArgumentParser(allow_abbrev=False)
parser.add_argument("--mpi")
parser.add_argument("--ntasks", type=int, required=True)
parser.add_argument("--label", action="store_true", required=True)
parser.add_argument("--kill-on-bad-exit", choices=["1"], required=True)
parser.add_argument("--export", choices=["ALL"], required=True)
parser.add_argument("words", nargs=REMAINDER)
given = parser.parse_args()
root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
own = Engine(_mpiexec(), "Open MPI").variables(Job(given.ntasks), Path(os.environ[FOLDER]))
environment = {**os.environ, **root, **own, "SLURM_STEP_NUM_TASKS": str(given.ntasks), "SLURM_NTASKS": str(given.ntasks)}
if given.mpi == "pmix" and "WITHOUT_PMIX" not in os.environ:
    start = [_mpiexec(), "-n", str(given.ntasks), "--tag-output", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
    commands = [[*start, "sh", "-c", TASK, "sh", *given.words]]
else:
    commands = [["sh", "-c", TASK, str(task), *given.words] for task in range(given.ntasks)]
ended = [subprocess.run(words, env=environment, capture_output=True, text=True, check=False) for words in commands]
status = max(one.returncode for one in ended)
failed = ""
for task, one in enumerate(ended):
    for text, stream in ((one.stdout, sys.stdout), (one.stderr, sys.stderr)):
        for line in text.splitlines():
            label = LABEL.match(line)
            if label is not None or len(commands) > 1:
                print(f"{label[1] if label else task}: {line[label.end() if label else 0 :]}", file=stream)
            elif found := FAILED.search(line):
                failed = found[1] or found[2]
if failed:
    how = "Killed" if status == 137 else f"Exited with exit code {status}"
    print(f"srun: error: node1: task {failed}: {how}", file=sys.stderr)
sys.exit(status)

"""Runs the careless programs with the real MXNet and writes what became of them to `values.json`.

../shared/tools/oracle tests/sloppy/make_values.py
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle_programs import write_values
from tests.sloppy.outcomes import outcome
from tests.sloppy.programs import all_programs


def in_a_child(program: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """The program's outcome in a process of its own: some of them crash MXNet."""

    def run(package: Any) -> dict[str, Any]:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, json.dumps(outcome(program, package)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            text = file.read()
        os.waitpid(child, 0)
        return json.loads(text) if text else {"crashes": True}

    return run


if __name__ == "__main__":
    programs = {name: in_a_child(program) for name, program in all_programs().items()}
    write_values(__file__, programs, mx, lambda value: value)

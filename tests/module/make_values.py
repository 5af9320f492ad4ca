"""Runs the programs of modules with the real MXNet and writes what they return into `values.json`.

../shared/tools/oracle tests/module/make_values.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.module.programs import all_programs
from tests.training.programs.outcome import plain


def main() -> None:
    """Writes one program a line and says how many there are."""
    lines = [f"{json.dumps(name)}: {json.dumps(plain(program(mx)), allow_nan=False)}" for name, program in all_programs().items()]
    text = ",\n".join(lines)
    (Path(__file__).parent / "values.json").write_text(f"{{\n{text}\n}}\n")
    print(f"{len(lines)} programs")


if __name__ == "__main__":
    main()

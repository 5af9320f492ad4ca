"""Runs the Gluon programs with the real MXNet and writes what they return into `values.json`.

../shared/tools/oracle tests/gluon/make_values.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.gluon.programs import all_programs
from tests.training.programs.outcome import plain


def main() -> None:
    """Writes one program a line and says how many there are."""
    lines = [f"{json.dumps(name)}: {json.dumps(_rounded(plain(program(mx))), allow_nan=False)}" for name, program in all_programs().items()]
    text = ",\n".join(lines)
    (Path(__file__).parent / "values.json").write_text(f"{{\n{text}\n}}\n")
    print(f"{len(lines)} programs")


def _rounded(value: object) -> object:
    """Numbers to the digits that single precision has: the file is read, not computed with."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()

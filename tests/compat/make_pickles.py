"""Pickles objects with the real MXNet and writes them to `pickles.json`, each with what it is.

../shared/tools/oracle tests/compat/make_pickles.py
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.compat.pickled_objects import described, objects
from tests.oracle_programs import plain


def main() -> None:
    """Write the file: for each object its pickle in base 64, and its description after loading it."""
    lines = []
    for name, make in objects(mx).items():
        written = pickle.dumps(make())
        value = plain(described(mx, pickle.loads(written)))
        lines.append(f"{json.dumps(name)}: {json.dumps([base64.b64encode(written).decode(), value])}")
    Path(__file__).with_name("pickles.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} pickles")


if __name__ == "__main__":
    main()

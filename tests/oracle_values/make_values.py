"""Runs every case of the tables through the real MXNet and writes `values.npz` and `cases.json`.

    ../shared/tools/oracle tests/oracle_values/make_values.py tests/oracle_values

oneDNN is off unless a case asks for it: MXNet's own implementations define the operators, oneDNN's refuse or miscount
some corners (target_shape of Deconvolution, gradients of padded average pooling, nan in relu).
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from case_runner import mx, run_case
from case_tables.all_tables import all_cases

if TYPE_CHECKING:
    from case_tables.declare import CaseSpec

SLOTS = ("inputs", "outputs", "heads", "gradients", "states_after_forward", "states_after_backward")


class Archive:
    """The arrays of all cases under `case/slot` keys; an array equal to an earlier one is stored once, under the earlier key."""

    def __init__(self) -> None:
        """Starts empty."""
        self.arrays: dict[str, np.ndarray] = {}
        self._keys: dict[tuple, str] = {}

    def add(self, key: str, array: np.ndarray) -> str:
        """Keeps the array and returns the key that it is found under."""
        identity = (array.dtype.str, array.shape, array.tobytes())
        if identity not in self._keys:
            self._keys[identity] = key
            self.arrays[key] = array
        return self._keys[identity]

    def write(self, path: Path) -> None:
        """Writes an npz whose bytes depend on the arrays alone (no times)."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for key, array in self.arrays.items():
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(key + ".npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED, 9)


def named(specs: list[CaseSpec]) -> dict[str, CaseSpec]:
    """The cases under the names `<operator>.<number>`."""
    seen: Counter = Counter()
    result = {}
    for spec in specs:
        result[f"{spec.op}.{seen[spec.op]}"] = spec
        seen[spec.op] += 1
    return result


def run_all(specs: dict[str, CaseSpec]) -> dict[str, tuple]:
    """Runs the cases in two processes, one without oneDNN and one with it (MXNet reads the switch once)."""
    results = {}
    os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
    for onednn in (False, True):
        os.environ["MXNET_MKLDNN_ENABLED"] = str(int(onednn))
        group = {name: spec for name, spec in specs.items() if spec.onednn == onednn}
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            results.update((name, pool.submit(run_case, spec)) for name, spec in group.items())
    return {name: results[name].result() for name in specs}


def with_keys(name: str, record: dict[str, Any], arrays: dict[str, np.ndarray], archive: Archive) -> dict[str, Any]:
    """The record with each slot replaced by the key of its array in the archive."""
    keys = {slot: archive.add(f"{name}/{slot}", array) for slot, array in arrays.items()}
    keyed = {"name": name, **record}
    for field in SLOTS:
        slots = record.get(field)
        if isinstance(slots, dict):
            keyed[field] = {position: keys[slot] for position, slot in slots.items()}
        elif slots is not None:
            keyed[field] = [slot and keys[slot] for slot in slots]
    return keyed


def main(folder: Path) -> None:
    """Writes both files and says what they hold."""
    archive = Archive()
    records = [with_keys(name, *result, archive) for name, result in run_all(named(all_cases())).items()]
    archive.write(folder / "values.npz")
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in records)
    (folder / "cases.json").write_text(f'{{"mxnet": "{mx.__version__}", "cases": [\n{lines}\n]}}\n')
    refused = sum("error" in record for record in records)
    size = (folder / "values.npz").stat().st_size
    operators = len({record["op"] for record in records})
    print(f"{len(records)} cases of {operators} operators, {refused} refused; {len(archive.arrays)} arrays, {size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

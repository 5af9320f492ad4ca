"""A search guided by coverage: bytes that reach new lines of a reader are changed further, by atheris, which drives libFuzzer.

``python -m tests.campaign.guided KIND SEED`` runs some inputs, beginning with whole files and with what earlier runs have found.
"""

from __future__ import annotations

import importlib
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

from tests.campaign.trials import Ended, Trial, too_slow

ROOT = Path(__file__).parents[2]
#: What reached new lines, kept for later runs, and what failed, by kinds of files.
CORPUS, FAILED = ROOT / ".campaign" / "corpus", ROOT / ".campaign" / "failed"
#: What a run is given at most: inputs, seconds.
INPUTS, SECONDS = 2000, 60


def trials(folder: Path) -> Trial:
    """Trials of which each gives some inputs to the reader of one kind of files, the kinds in turn."""
    from tests.campaign.files import KINDS

    names = list(KINDS)

    def trial(seed: int) -> Ended:
        if find_spec("atheris") is None:
            return Ended("none left", "atheris is not installed: pip install twofold[fuzz]")
        name = names[seed % len(names)]
        command = [sys.executable, "-W", "ignore", "-m", "tests.campaign.guided", name, str(seed)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            # atheris prints the exception, then libFuzzer much else; a reader that ended the process leaves no exception
            said = re.search("^AssertionError: .*", done.stdout, re.MULTILINE)
            return Ended("failed", f"{name}: {said[0] if said else done.stderr[-600:]}")
        return Ended("none failed")

    return trial


def main(name: str, seed: int) -> None:
    """Give inputs to the reader of one kind of files; the process fails at the first that ends as none may, and keeps its bytes."""
    atheris = importlib.import_module("atheris")
    corpus, failed = CORPUS / name, FAILED / name
    for folder in (corpus, failed):
        folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGVTALRM, too_slow)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as own:
        # what the readers import is instrumented as it is loaded; whole files load all of it
        with atheris.instrument_imports(include=["twofold"], enable_loader_override=False):
            from tests.campaign.files import KINDS, reader_of
            from tests.campaign.searches import READ

            wholes = KINDS[name].wholes(Path(own))
            read = reader_of(KINDS[name], wholes, Path(own))
        for k, whole in enumerate(wholes):
            (corpus / f"whole-{k}").write_bytes(whole)

        def one(data: bytes) -> None:
            ended = read(data)
            if ended.outcome not in READ:
                raise AssertionError(f"{ended.outcome}: {ended.note}")

        known = sum(1 for _ in corpus.iterdir())  # these count as inputs
        limits = [f"-runs={INPUTS + known}", f"-max_total_time={SECONDS}", f"-seed={seed + 1}", f"-artifact_prefix={failed}/"]
        atheris.Setup([sys.argv[0], *limits, str(corpus)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

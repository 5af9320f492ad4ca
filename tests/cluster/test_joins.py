"""Spares take the places of workers that have died, at the end of an epoch."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold.command import main
from twofold.errors import FormatError
from twofold.kvstore.joins import TrainingState

from .conftest import HERE, environment

#: The ranks that train in each of four epochs, by who dies: a worker in the fifth step, the spare before it is called, while it joins, and
#: after it has joined.
RANKS = {
    (): ("01", "01", "01", "01"),
    ("0:4",): ("01", "1", "01", "01"),
    ("2:wait", "1:4"): ("01", "0", "0", "0"),
    ("2:regroup", "1:4"): ("01", "0", "0", "0"),
    ("1:4", "2:7"): ("01", "0", "0", "0"),
}


@pytest.mark.mpi
@pytest.mark.parametrize("deaths", RANKS)
def test_a_spare_takes_the_place_of_a_dead_worker(tmp_path, deaths):
    program = str(HERE / "programs" / "joining.py")
    words = [sys.executable, "-m", "twofold", "launch", "-n", "2", "--spares", "1", "--ft", program, str(tmp_path), *deaths]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"epoch (\d): rank (\d) of 2, (\d+) updates", done.stdout)
    assert sorted(found) == [(str(e), rank, str(3 * e + 3)) for e, ranks in enumerate(RANKS[deaths]) for rank in ranks]
    for epoch, ranks in enumerate(RANKS[deaths]):
        first, *others = [np.load(tmp_path / f"{epoch}-{rank}.npy") for rank in ranks]
        assert all((weights == first).all() for weights in others)
    assert ("spare 0  | twofold: this spare goes on as worker" in done.stderr) == (deaths in {("0:4",), ("1:4", "2:7")})


@pytest.mark.parametrize("words", [["-n", "2"], ["-n", "1", "--ft"], ["-n", "2", "-s", "1", "--ft"], ["-n", "2", "--ft", "--k8s"]])
def test_spares_need_workers_that_go_on_and_sum_among_themselves(words, capsys):
    assert main(["launch", *words, "--spares", "1", "-c", "pass"]) == 2
    assert "use them with --ft and two workers or more, without servers" in capsys.readouterr().err


def test_without_spares_epochs_are_numbers():
    for kind in ("local", "dist_sync"):
        assert list(mx.kv.create(kind).epochs(3, {"w": mx.nd.ones(2)})) == [0, 1, 2]


def test_the_state_of_a_training_is_whole_after_its_way():
    arrays = {"w": mx.nd.array([1.5, 2]), "v": mx.nd.ones((2, 3), dtype="float64")}
    for stored, updates in (({3: mx.nd.ones(2), 7: mx.nd.zeros((1, 2))}, b"states\n{}"), ({}, None)):
        found = TrainingState.of_bytes(TrainingState(4, 12, stored, arrays, updates).to_bytes())
        assert (found.epoch, found.steps, found.updates) == (4, 12, updates)
        assert (list(found.stored), list(found.arrays)) == (list(stored), ["w", "v"])
        for mine, theirs in ((arrays, found.arrays), (stored, found.stored)):
            assert all((theirs[k].asnumpy() == a.asnumpy()).all() and theirs[k].dtype == a.dtype for k, a in mine.items())
    for damaged in (b"", b"{}\n", b"[]\nx"):
        with pytest.raises(FormatError, match="not the state of a training"):
            TrainingState.of_bytes(damaged)

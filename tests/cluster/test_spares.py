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
from twofold.kvstore.training_state import TrainingState

from .conftest import HERE, environment
from tests.cases import later_in_ci

#: Numbers of workers and spares, who dies (see the program), the ranks that train in each of four epochs, and how many spares join.
CASES = [
    (2, 1, ("0:release",), ("01", "01", "01", "01"), 0),
    (2, 1, ("0:4",), ("01", "1", "01", "01"), 1),
    (2, 1, ("2:handed_over", "1:4"), ("01", "0", "0", "0"), 1),
    (2, 1, ("1:4", "2:7"), ("01", "0", "0", "0"), 1),  # the spare, after it has joined
    (3, 2, ("0:4", "1:4"), ("012", "2", "012", "012"), 2),
    (3, 2, ("3:wait", "0:4", "2:7"), ("012", "12", "01", "01"), 1),
    (4, 1, ("0:1", "2:late", "3:agree"), ("123", "012", "012", "012"), 1),
]


def launch(workers: int, spares: int, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "twofold", "launch", "-n", str(workers), "--spares", str(spares), "--ft"]
    words += [str(HERE / "programs" / f"{program}.py"), *map(str, arguments)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.ci
@pytest.mark.mpi
@pytest.mark.parametrize(("workers", "spares", "deaths", "ranks", "joins"), later_in_ci(CASES))
def test_spares_take_the_places_of_dead_workers(tmp_path, workers, spares, deaths, ranks, joins):
    done = launch(workers, spares, "joining", tmp_path, *deaths)
    found = re.findall(r"epoch (\d): rank (\d) of (\d), (\d+) updates", done.stdout)
    assert sorted(found) == [(str(e), rank, str(workers), str(3 * e + 3)) for e, there in enumerate(ranks) for rank in there]
    for epoch, there in enumerate(ranks):
        first, *others = [np.load(tmp_path / f"{epoch}-{rank}.npy") for rank in there]
        assert all((weights == first).all() for weights in others)
    assert done.stderr.count("twofold: this spare goes on as worker") == joins


@pytest.mark.ci
@pytest.mark.mpi
@pytest.mark.parametrize("way", ["module", "estimator"])
def test_spares_join_programs_that_know_nothing_of_them(tmp_path, way):
    done = launch(2, 1, "joining_fit", tmp_path, way, "0:5")
    assert sorted(re.findall(r"rank (\d): (\d+) batches here, (\d+) updates", done.stdout)) == [("0", "6", "12"), ("1", "12", "12")]
    spare, other = np.load(tmp_path / "0.npz"), np.load(tmp_path / "1.npz")
    assert len(spare.files) == 8
    for name in spare:
        np.testing.assert_array_equal(spare[name], other[name], err_msg=name)
    assert sorted(re.findall(r"spare 0 +\| end of epoch (\d)", done.stdout)) == (["4", "5"] if way == "module" else [])


@pytest.mark.ci
@pytest.mark.mpi
def test_nobody_joins_where_devices_update_the_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    done = launch(2, 1, "joining_fit", tmp_path, "module", "0:5")
    assert re.findall(r"rank (\d): (\d+) batches here, (\d+) updates", done.stdout) == [("1", "12", "12")]
    assert done.stderr.count("no spare joins a training whose optimizer is not in the store") == 1


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
        found = TrainingState.of_bytes(TrainingState(1, 4, 12, stored, arrays, updates).to_bytes())
        assert (found.loop, found.epoch, found.steps, found.updates) == (1, 4, 12, updates)
        assert (list(found.stored), list(found.arrays)) == (list(stored), ["w", "v"])
        for mine, theirs in ((arrays, found.arrays), (stored, found.stored)):
            assert all((theirs[k].asnumpy() == a.asnumpy()).all() and theirs[k].dtype == a.dtype for k, a in mine.items())
    for damaged in (b"", b"{}\n", b"[]\nx"):
        with pytest.raises(FormatError, match="not the state of a training"):
            TrainingState.of_bytes(damaged)

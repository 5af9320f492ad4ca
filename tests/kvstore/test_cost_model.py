"""The cost model: its byte counts are those of the algorithms, carried out on arrays."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.errors import ParameterError
from twofold.kvstore.buckets import FIRST, MOST, bucket_sizes
from twofold.kvstore.cost_model import Network, TrainingStep, bytes_sent, efficiency, network, seconds

LINK = Network("link", 10e-6, 1e9)


class Wire:
    """Carries messages, and counts rounds, all bytes, and those of the busiest sender."""

    def __init__(self, workers: int) -> None:
        self.rounds, self.sent = 0, np.zeros(workers, int)

    def round(self, messages: list[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        self.rounds += bool(messages)
        for source, array in messages:
            self.sent[source] += array.nbytes
        return [array.copy() for _, array in messages]


def ring(arrays: list[np.ndarray], wire: Wire) -> None:
    n = len(arrays)
    parts = [np.split(a, n) for a in arrays]
    for phase in range(2):
        for step in range(n - 1):
            which = [(rank - step + phase) % n for rank in range(n)]
            arrived = wire.round([(rank, parts[rank][which[rank]]) for rank in range(n)])
            for rank in range(n):
                target = parts[(rank + 1) % n][which[rank]]
                target[:] = arrived[rank] if phase else target + arrived[rank]


def recursive_doubling(arrays: list[np.ndarray], wire: Wire) -> None:
    core = 1 << len(arrays).bit_length() - 1
    fold(arrays, core, wire)
    distance = 1
    while distance < core:
        arrived = wire.round([(rank, arrays[rank]) for rank in range(core)])
        for rank in range(core):
            arrays[rank] += arrived[rank ^ distance]
        distance *= 2
    unfold(arrays, core, wire)


def rabenseifner(arrays: list[np.ndarray], wire: Wire) -> None:
    core = 1 << len(arrays).bit_length() - 1
    fold(arrays, core, wire)
    spans = [slice(0, arrays[0].size)] * core
    history = []
    distance = core // 2
    while distance:
        history.append((distance, list(spans)))
        halves = [(slice(s.start, (s.start + s.stop) // 2), slice((s.start + s.stop) // 2, s.stop)) for s in spans]
        kept = [halves[rank][bool(rank & distance)] for rank in range(core)]
        given = [halves[rank][not rank & distance] for rank in range(core)]
        arrived = wire.round([(rank, arrays[rank][given[rank]]) for rank in range(core)])
        for rank in range(core):
            arrays[rank][kept[rank]] += arrived[rank ^ distance]
        spans, distance = kept, distance // 2
    for distance, before in reversed(history):
        arrived = wire.round([(rank, arrays[rank][spans[rank]]) for rank in range(core)])
        for rank in range(core):
            arrays[rank][spans[rank ^ distance]] = arrived[rank ^ distance]
        spans = before
    unfold(arrays, core, wire)


def fold(arrays: list[np.ndarray], core: int, wire: Wire) -> None:
    for rank, arrived in zip(range(core, len(arrays)), wire.round([(r, arrays[r]) for r in range(core, len(arrays))]), strict=True):
        arrays[rank - core] += arrived


def unfold(arrays: list[np.ndarray], core: int, wire: Wire) -> None:
    sources = [rank - core for rank in range(core, len(arrays))]
    for rank, arrived in zip(range(core, len(arrays)), wire.round([(r, arrays[r]) for r in sources]), strict=True):
        arrays[rank][:] = arrived


@pytest.mark.parametrize("workers", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    ("name", "algorithm"), [("ring", ring), ("recursive doubling", recursive_doubling), ("Rabenseifner", rabenseifner)]
)
def test_messages_and_bytes_are_those_of_the_algorithm(name: str, algorithm, workers: int) -> None:
    arrays = [np.arange(480.0) * (rank + 1) for rank in range(workers)]
    wire = Wire(workers)
    algorithm(arrays, wire)
    total = workers * (workers + 1) // 2
    assert all((a == np.arange(480.0) * total).all() for a in arrays)
    assert wire.sent.sum() == bytes_sent(name, workers, 480 * 8)
    free, empty = Network("", 1, float("inf")), Network("", 0, 1)
    assert wire.rounds == seconds(name, workers, 480 * 8, free)
    # the model's busiest link takes the rounds as they come: never less than the busiest sender's bytes
    assert wire.sent.max() <= seconds(name, workers, 480 * 8, empty) <= 1.34 * wire.sent.max()


def test_servers_share_what_workers_send() -> None:
    assert bytes_sent("servers", 4, 1000, 2) == 8000  # out and back for each
    assert seconds("servers", 4, 1e6, LINK, 4) == pytest.approx(20e-6 + 1e-3)
    assert seconds("servers", 4, 1e6, LINK, 1) == pytest.approx(20e-6 + 4e-3)
    assert seconds("servers", 4, 1e6, LINK, 8) == pytest.approx(20e-6 + 1e-3)  # a worker's own link is the limit


def test_processes_of_one_machine_share_its_cores() -> None:
    machine = LINK._replace(cores=2)
    assert seconds("ring", 2, 1e6, machine) == pytest.approx(20e-6 + 2e-3)  # each sends and receives 1 MB, on a core of its own
    assert seconds("ring", 3, 1e6, machine) == pytest.approx(40e-6 + 2 * 8 / 3 * 1e-3)  # two of three share a core
    assert seconds("ring", 4, 1e6, machine) == pytest.approx(60e-6 + 6e-3)
    assert seconds("ring", 4, 1e6, LINK._replace(cores=4)) == pytest.approx(60e-6 + 3e-3)
    assert seconds("servers", 3, 1e6, machine, 1) == pytest.approx(20e-6 + 6e-3)  # the server has one core, its workers the other
    assert seconds("servers", 4, 1e6, machine, 2) == pytest.approx(20e-6 + 8e-3)


def test_buckets_hold_all_bytes() -> None:
    assert list(bucket_sizes(FIRST + MOST + 5)) == [FIRST, MOST, 5]
    assert list(bucket_sizes(7)) == [7]


def test_the_sum_hides_behind_backward() -> None:
    step = TrainingStep(100 << 20, 0.3)
    fast, slow = Network("", 1e-9, 1e12), Network("", 1e-9, 1e8)
    assert efficiency(step, "ring", 1, slow) == 1
    assert efficiency(step, "ring", 8, fast) == pytest.approx(1, abs=1e-3)
    # nothing to hide behind: forward, the time until the first bucket, and all sums
    until = 0.1 + 0.2 * FIRST / step.nbytes
    assert efficiency(step, "ring", 2, slow) == pytest.approx(0.3 / (until + step.nbytes / 1e8), rel=1e-6)
    assert 0 < efficiency(step, "servers", 8, slow, 1) < efficiency(step, "servers", 8, slow, 8) < 1


@pytest.mark.parametrize("text", ["", "a=1us", "B=1GB/s", "a=1us,B=1", "a=x us,B=1GB/s", "a=1us,B=1e999GB/s"])
def test_a_network_that_is_none(text: str) -> None:
    with pytest.raises(ParameterError, match="not a network"):
        network(text)


def test_networks_by_name_and_by_figures() -> None:
    assert network("ib100").bandwidth == 11e9
    assert network("a=2ms, B=80Mbit/s")[1:] == (2e-3, 1e7, None)


def test_impossible_clusters() -> None:
    with pytest.raises(ParameterError, match="too few processes"):
        seconds("servers", 2, 8, LINK)
    with pytest.raises(ParameterError, match="unknown algorithm"):
        seconds("butterfly", 2, 8, LINK)

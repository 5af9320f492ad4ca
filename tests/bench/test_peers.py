"""The comparison with peers: results agree, verdicts follow from figures, missing libraries are reported; no times are asserted."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asv_benchmarks.peers import __main__ as command
from asv_benchmarks.peers import environment, inputs, plot, quiet
from asv_benchmarks.peers.contest import QUICK, Contest, distance, undisturbed
from asv_benchmarks.peers.environment import cpu_version, reason_of
from asv_benchmarks.peers.items import GROUPS, ITEMS, selected
from asv_benchmarks.peers.libraries import by_numpy, by_twofold
from asv_benchmarks.peers.table import LIBRARIES, ROOT, Library, libraries
from asv_benchmarks.peers.targets import ELSEWHERE, Target, judged, rows, targets
from asv_benchmarks.peers.worker import sample

GELU = Target("gelu", "gelu 1e6", "twofold nd", ("numpy plain",), 2.0)
#: Every kind of work that NumPy and Twofold both do, at a size that tests can bear.
SIZES = {"cross_entropy": 1000, "mlp": 4, "lenet": 4, "lstm": 2, "convolution": 256, "new_chain": 50}
LOOSE = {item.work: item.tolerance for item in ITEMS}


def verdict(target, times, absent=None, **kernels):
    return judged(target, {target.item: times}, absent or {}, **kernels)


@pytest.mark.parametrize(
    ("target", "own", "peer", "value", "word"),
    [
        (GELU, 1.0, 2.0, 2.0, "met"),
        (GELU, 1.0, 1.9, 1.9, "missed"),
        (replace(GELU, limit=None), 1.0, 1.9, 1.9, "published"),
        (replace(GELU, limit=0.5, measure="s over"), 1.5, 1.0, 0.5, "met"),
        (replace(GELU, limit=0.5, measure="s over"), 2.0, 1.0, 1.0, "missed"),
        (replace(GELU, limit=0.5, measure="of the bytes"), 1.0, 2.0, 0.5, "met"),
        (replace(GELU, limit=0.5, measure="of the bytes"), 3.0, 2.0, 1.5, "missed"),
    ],
)
def test_a_figure_is_met_or_missed(target, own, peer, value, word):
    found = verdict(target, {"twofold nd": own, "numpy plain": peer})
    assert (found.value, found.word) == (value, word)


def test_a_figure_without_peers_is_absolute():
    assert verdict(replace(GELU, peers=(), limit=1e-3, measure="s"), {"twofold nd": 2e-3}).word == "missed"
    assert verdict(replace(GELU, peers=(), limit=None, measure="GB/s", scale=4e9), {"twofold nd": 2.0}).value == 2.0


def test_the_fastest_of_several_peers_counts():
    found = verdict(replace(GELU, peers=("a x", "b y")), {"twofold nd": 1.0, "a x": 5.0, "b y": 3.0})
    assert (found.value, found.reason) == (3.0, "b y")


def test_mxnet_is_judged_by_its_faster_kernel():
    times = {"twofold nd": 1.0, "mxnet nd": 5.0, "mxnet (Haswell) nd": 3.0}
    assert verdict(replace(GELU, peers=("mxnet nd",)), times, fastest="Haswell").value == 3.0


def test_under_a_kernel_both_numpy_and_twofold_run_under_it():
    times = {"twofold nd": 1.0, "numpy plain": 2.0, "twofold (Haswell) nd": 4.0, "numpy (Haswell) plain": 4.0}
    assert verdict(GELU, times, kernel="Haswell").value == 1.0
    jit = {"twofold jit (Haswell) nd": 2.0, "numpy (Haswell) plain": 4.0}
    assert verdict(replace(GELU, own="twofold jit nd"), jit, kernel="Haswell").value == 2.0


@pytest.mark.parametrize(
    ("times", "absent", "reason"),
    [
        (None, {}, "not selected"),
        ({"numpy plain": 1.0}, {"twofold": "broken"}, "twofold nd: broken"),
        ({"numpy plain": 1.0}, {}, "twofold nd: skipped"),
        ({"twofold nd": 1.0}, {"gelu 1e6: numpy plain": "wrong"}, "numpy plain: wrong"),
        ({"twofold nd": 1.0}, {"numpy": "a", "numpy plain": "b"}, "numpy plain: b"),
    ],
)
def test_unmeasured_items_give_a_reason(times, absent, reason):
    found = judged(GELU, {} if times is None else {"gelu 1e6": times}, absent)
    assert (found.value, found.word, found.reason) == (None, "not measured", reason)


def test_a_row_has_the_figures_by_cpu_time_and_under_the_preset_kernel_too():
    medians = {"mlp 64": {"twofold hybridized": 1.0, "torch eager": 2.0, "twofold (Haswell) hybridized": 2.0}}
    cpu = {"mlp 64": {"twofold hybridized": 1.0, "torch eager": 3.0}}
    found = {row.verdict.target.peers: row for row in rows(medians, cpu, {}, "Haswell") if row.verdict.target.item == "mlp 64"}
    row = found["torch eager",]
    assert (row.verdict.value, row.cpu.value, row.preset.value) == (2.0, 3.0, 1.0)
    assert found["mxnet module",].preset is None


def test_every_target_names_an_item_and_ways_that_exist():
    works = {item.key: item.work for item in ITEMS}
    ways = {"numpy": by_numpy.CASES, "twofold": by_twofold.CASES, "twofold jit": by_twofold.CASES}
    for target in targets():
        if target.item in ELSEWHERE:
            continue
        for name in (target.own, *target.peers):
            library = "twofold jit" if name.startswith("twofold jit ") else name.split(" ")[0]
            assert library not in ways or name.removeprefix(library + " ") in ways[library][works[target.item]], name


@pytest.mark.ci
@pytest.mark.parametrize("work", by_numpy.CASES)
def test_numpy_and_twofold_compute_the_same(work):
    values = inputs.drawn(work, SIZES.get(work, 32))
    results = {}
    for library in (by_numpy, by_twofold):
        for way, make in library.CASES[work].items():
            case = make({name: a.copy() for name, a in values.items()})
            for _ in range(3):
                case.call()
            results[f"{library.__name__} {way}"] = [sample(np.asarray(a)) for a in case.result()]
    reference = next(iter(results.values()))
    assert all(np.abs(a).max() > 0 for a in reference)
    assert {name: distance(found, reference) <= LOOSE[work] for name, found in results.items()} == dict.fromkeys(results, True)


def test_the_distance_is_relative_to_the_largest_magnitude():
    assert distance([np.array([1.0, 4.5])], [np.array([1.0, 4.0])]) == 0.125
    assert distance([np.array([np.nan])], [np.array([1.0])]) == float("inf")
    assert distance([np.zeros(2)], [np.zeros(3)]) == float("inf")
    assert distance([], [np.zeros(3)]) == float("inf")


def test_turns_started_on_idle_cores_count_if_there_are_enough():
    rested, other = {"wall": 1.0, "rested": True}, {"wall": 2.0, "rested": False}
    assert undisturbed([rested] * 3 + [other]) == [rested] * 3
    assert undisturbed([rested] * 2 + [other] * 2) == [rested] * 2 + [other] * 2


def test_idle_ticks_are_those_of_waiting_too():
    assert quiet.ticks("cpu  10 20 30 400 50 6 7 8 90 100\ncpu0 1 2 3 4\n") == (450, 531)


def test_a_torch_for_cpus_is_found_among_the_versions():
    assert cpu_version("torch (2.15.0)\nAvailable versions: 2.15.0, 2.13.0+cpu, 2.13.0, 2.12.0+cpu") == "2.13.0+cpu"
    assert cpu_version("torch (2.15.0)\nAvailable versions: 2.15.0") is None


@pytest.mark.parametrize(
    ("listing", "free", "expected"),
    [
        ("Available versions: 0.29.2, 0.28.0+cpu, 0.28.0", 0, "torchvision==0.28.0+cpu"),
        ("Available versions: 0.29.2", 30 << 30, "torchvision"),
        ("Available versions: 0.29.2", 10 << 30, None),
    ],
)
def test_torchvision_is_that_for_cpus_or_needs_much_space(monkeypatch, tmp_path, listing, free, expected):
    asked = []

    def pip(folder, *arguments):
        asked.append(arguments)
        return subprocess.CompletedProcess(arguments, 0, listing, "")

    monkeypatch.setattr(environment, "_pip", pip)
    assert environment.torch_requirement(tmp_path, "torchvision", "Linux-x86_64", free) == expected
    assert asked == [("index", "versions", "torchvision")]


def test_the_reason_of_a_failed_installation_is_pips_error():
    assert reason_of("WARNING: a\nERROR: No matching distribution found for b\nnotice: c\n") == "No matching distribution found for b"
    assert reason_of("") == "pip failed"


def test_groups_and_quickness_select_items():
    assert {item.group for item in selected(("small",), quick=False)} == {"small"}
    assert {item.group for item in selected((), quick=False)} == set(GROUPS)
    assert len(selected((), quick=True)) < len(ITEMS)
    assert len({item.key for item in ITEMS}) == len(ITEMS)


def test_an_unknown_group_is_rejected(capsys):
    with pytest.raises(SystemExit):
        command.main(["--only", "chains,loops"])
    assert "no group loops; give some of overhead, " in capsys.readouterr().err


def test_a_preset_kernel_adds_the_libraries_that_it_changes():
    added = [library for library in libraries("Haswell") if library not in libraries()]
    assert [library.name for library in added] == [f"{name} (Haswell)" for name in ("numpy", "twofold", "twofold jit", "mxnet")]
    assert all(library.products_only for library in added)
    base = {"OPENBLAS_CORETYPE": "Haswell"}
    assert "OPENBLAS_CORETYPE" not in libraries()[0].environment(base, Path("scratch"))
    assert added[0].environment(base, Path("scratch"))["OPENBLAS_CORETYPE"] == "Haswell"


def test_an_unavailable_library_is_reported_and_skipped(tmp_path):
    candidates = [
        Library("unknown", "by_nobody", Path(sys.executable)),
        Library("elsewhere", f"{LIBRARIES}.by_numpy", tmp_path / "python"),
    ]
    running = Contest(candidates, QUICK, tmp_path)
    running.close()
    assert running.workers == {}
    assert "by_nobody" in running.absent["unknown"]
    assert running.absent["elsewhere"] == "FileNotFoundError: no interpreter for it"


QUICKLY = ["--quick", "--libraries", "numpy,twofold"]


@pytest.mark.ci
def test_the_quick_contest_of_numpy_and_twofold(tmp_path, capsys):
    file = tmp_path / "peers.json"
    assert command.main([*QUICKLY, "--only", "overhead,small", "--json", str(file)]) == 0
    out, text = capsys.readouterr().out, file.read_text()
    record = json.loads(text)
    assert "all results agree" in out
    assert set(record["items"]["add 4"]["medians"]) == {"numpy plain", "twofold nd", "twofold nd, each waited for"}
    words = {row["work"]: row["verdict"] for row in record["verdicts"]}
    assert words["x + x, 4 elements"] in ("met", "missed")
    assert (words["script: gelu, 4"], words["LeNet"]) == ("published", "not measured")
    assert str(ROOT) not in text
    assert socket.gethostname() not in text
    plot.draw({**record, "items": {"gelu 1e6": record["items"]["gelu 4"]}}, tmp_path / "peers.svg")
    picture = (tmp_path / "peers.svg").read_text()
    assert all(name in picture for name, _ in plot.best_ways(record["items"]["gelu 4"]["medians"]).values())


def test_a_wrong_result_fails_the_run(monkeypatch, capsys):
    strict = [replace(ITEMS[0], tolerance=-1.0)]
    monkeypatch.setattr(command, "selected", lambda groups, quick: strict)
    assert command.main(QUICKLY) == 1
    assert "WRONG: differs by 0.0e+00" in capsys.readouterr().out

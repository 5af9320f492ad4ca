"""``twofold launch --plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import twofold as mx
from twofold.command import main

if TYPE_CHECKING:
    from pathlib import Path


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["launch", "--plan", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_resnet_on_ten_gigabits(capsys: pytest.CaptureFixture[str]) -> None:
    lines = planned(capsys, "-n", "8", "--bytes", "102.2e6", "--step-ms", "180")
    assert lines[0] == "102.2 MB of gradients, 10GbE: 40 us, 1.17 GB/s"
    # 2 x 7 messages of 40 us and 2 x 7/8 of 102.2 MB over 1.17 GB/s are 0.153 s
    row = next(line for line in lines if line.split()[0] == "8")
    assert row.split()[1:3] == ["153", "ms"]
    assert not lines[-1].startswith("warning")


def test_it_warns_where_workers_mostly_wait(capsys: pytest.CaptureFixture[str]) -> None:
    lines = planned(capsys, "-n", "100", "--bytes", "102e6", "--step-ms", "30", "--network", "a=40us,B=1Gbit/s")
    assert lines[-1].startswith("warning: 100 workers would compute ")
    assert planned(capsys, "-n", "100", "--bytes", "102e6", "--step-ms", "30", "--network", "IB100")[-1].split()[0] == "100"
    few = planned(capsys, "-n", "16", "-s", "1", "--bytes", "102e6", "--step-ms", "180")
    assert few[-1].startswith("warning: 16 workers would compute ")  # sixteen send to one


def test_sizes_from_the_files_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=100, name="fc")
    net = mx.sym.SoftmaxOutput(mx.sym.BatchNorm(hidden, fix_gamma=False), name="softmax")
    net.save(str(tmp_path / "m-symbol.json"))
    names = (50 * 100 + 100 + 2 * 100) * 4 / 1e6
    expected = f"{names:g} MB of gradients"
    assert planned(capsys, "--model", str(tmp_path / "m-symbol.json"), "--shape", "data=32,50")[0].startswith(expected)
    arrays = {"arg:w": mx.nd.zeros((10, 25)), "aux:mean": mx.nd.zeros((7,))}
    mx.nd.save(str(tmp_path / "m-0001.params"), arrays)
    assert planned(capsys, "--model", str(tmp_path / "m-0001.params"))[0].startswith("0.001 MB of gradients")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "pass --model FILE or --bytes N"),
        (["--bytes", "0"], "must be a number above 0"),
        (["--bytes", "8", "--network", "token ring"], "use 10GbE, 25GbE, IB100, or figures: a=40us,B=1.17GB/s"),
        (["--bytes", "8", "--network", "a=0us,B=1GB/s"], "not a network"),
        (["--shape", "data"], "must be a name and sizes, such as data=32,3,224,224, not 'data'"),
        (["--bytes", "8", "--days", "3"], "--days needs --step-ms"),
        (["--bytes", "8", "--per-machine", "2"], "need --days"),
        (["--bytes", "8", "--slow", "2,1"], "must be a share and a factor of 1 or more, such as 0.01,1.34, not '2,1'"),
        (["--model", "absent.params"], "absent.params"),
        (["--model", "absent-symbol.json"], "absent-symbol.json"),
    ],
)
def test_what_is_missing_is_one_line_and_status_2(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = main(["launch", "--plan", *words])
    except SystemExit as exit:
        status = exit.code
    assert status == 2
    assert error in capsys.readouterr().err.splitlines()[-1]


JOB = ("--days", "30", "--bytes", "102.2e6", "--step-ms", "180")


def rows_of(lines: list[str]) -> list[list[str]]:
    """The rows of the table, in words."""
    return [line.split() for line in lines if line[:7].strip().isdecimal()]


def test_a_job_of_days_with_machines_of_several_workers(capsys: pytest.CaptureFixture[str]) -> None:
    lines = planned(capsys, *JOB, "-n", "512", "--per-machine", "8", "--network", "25GbE")
    assert lines[0] == "102.2 MB of gradients, 180 ms of computing, 25GbE: 25 us, 2.9 GB/s, 8 workers on a machine; 30 days"
    assert [row[1] for row in rows_of(lines)] == ["ring", "Rabenseifner", "per", "servers", "asynchronous", "two-bit", "two-bit"]
    assert [row[1] for row in rows_of(lines) if row[-1] == "<"] == ["per"]
    text = "\n".join(lines)
    assert "choose workers without servers, summed per machine" in text
    # 512 of 16,384 for 30 of 54 days, and the 419 failures of all
    assert f"{419 / 32 * 30 / 54:.2g} failures" in text


def test_a_job_of_days_without_a_number_of_workers(capsys: pytest.CaptureFixture[str]) -> None:
    lines = planned(capsys, *JOB)
    assert sorted({int(row[0]) for row in rows_of(lines)}) == [8, 64, 512, 4096]
    assert sum(row[-1] == "<" for row in rows_of(lines)) == 4
    assert not any("per machine" in line for line in lines)


def test_a_job_on_a_slow_network(capsys: pytest.CaptureFixture[str]) -> None:
    lines = planned(capsys, *JOB, "-n", "4", "--network", "a=40us,B=117MB/s")
    assert "set_gradient_compression" in next(line for line in lines if "choose" in line)
    assert lines[-1].startswith("  warning: 4 workers would compute ")


def test_asynchronous_workers_are_named_where_they_complete_more(capsys: pytest.CaptureFixture[str]) -> None:
    # half of the time one of 64 takes ten times as long, and all the others wait for it
    slow, even = (planned(capsys, *JOB, "-n", "64", "-s", "32", "--slow", share) for share in ("0.01,10", "0,1"))
    assert any(line.startswith("  dist_async with -s 32 completes ") and line.endswith("gradients 63 updates old") for line in slow)
    assert not any("dist_async" in line for line in even)


@pytest.mark.parametrize(
    ("words", "worse"),
    [
        (["--storage", "1e8"], True),
        (["--checkpoint", "1e6"], False),
        (["--restart", "36000"], True),
        (["--failures", "0.1"], True),
        (["--slow", "0,1"], False),
        (["--network", "IB100"], False),
    ],
)
def test_options_of_a_job_have_effect(words: list[str], worse: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def ring(*more: str) -> float:
        return float(next(row for row in rows_of(planned(capsys, *JOB, "-n", "4096", *more)) if row[1] == "Rabenseifner")[-2].rstrip("%"))

    assert (ring(*words) < ring()) == worse
    assert ring(*words) != ring()


def test_shapes_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m-symbol.json")
    mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3).save(path)
    assert main(["launch", "--plan", "--model", path, "--shape", "x=3"]) == 2
    assert "no such input" in capsys.readouterr().err
    assert main(["launch", "--plan", "--model", path]) == 2
    assert "pass --shape data=32,3,224,224" in capsys.readouterr().err

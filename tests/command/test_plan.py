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


def test_shapes_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m-symbol.json")
    mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3).save(path)
    assert main(["launch", "--plan", "--model", path, "--shape", "x=3"]) == 2
    assert "no such input" in capsys.readouterr().err
    assert main(["launch", "--plan", "--model", path]) == 2
    assert "pass --shape data=32,3,224,224" in capsys.readouterr().err

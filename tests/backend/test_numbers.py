"""Machine code that reads numbers in a text gives the doubles that Python reads, or refuses the text."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU

pytest.importorskip("llvmlite")


def read(monkeypatch: pytest.MonkeyPatch, text: bytes) -> tuple[list[float], bytes] | None:
    monkeypatch.setattr(SETTINGS, "jit", True)
    found = backend_for(CPU).target.host_code.number_reader()
    assert found is not None
    result = found(text)
    return None if result is None else (result[0].tolist(), result[1].tobytes())


FORMS = {
    "shortest": repr,
    "digits of savetxt": lambda x: f"{x:.18e}",
    "six digits": lambda x: f"{x:g}",
    "fixed": lambda x: f"{x:.30f}",
    "integers": lambda x: str(int(x * 1e6)),
    "signs": lambda x: f"{x:+.3E}",
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_those_of_python(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    rng = np.random.default_rng(0)
    words = [FORMS[form](x) for x in (rng.normal(size=3000) * 10.0 ** rng.integers(-30, 30, 3000)).tolist()]
    words += [] if form == "fixed" else ["9007199254740993", "1e22", "1e23", "1e-22", "1e-23", "1e400", "1e-400", "0.1", "-0", "5.", ".5"]
    found = read(monkeypatch, ("\n".join(words) + "\n").encode())
    assert found is not None
    np.testing.assert_array_equal(found[0], [float(word) for word in words])
    assert np.signbit(found[0]).tolist() == [word.startswith("-") for word in words]


@pytest.mark.parametrize(
    ("text", "numbers", "separators"),
    [
        (b"1,2\n3,4\r\n", [1, 2, 3, 4], b",\n,\n"),
        (b"1 2:3  4:5 \n0\n", [1, 2, 3, 4, 5, 0], b" : :\n\n"),
        (b" 1 , 2 \n", [1, 2], b",\n"),
        (b"", [], b""),
    ],
)
def test_separators(monkeypatch: pytest.MonkeyPatch, text: bytes, numbers: list[float], separators: bytes) -> None:
    assert read(monkeypatch, text) == (numbers, separators)


REFUSED = (
    b"1,,2\n",
    b",1\n",
    b"\n",
    b"1\n\n2\n",
    b"nan\n",
    b"inf\n",
    b"0x10\n",
    b"1x\n",
    b"-\n",
    b".\n",
    b"1e\n",
    b"1e+\n",
    b"--1\n",
    b"1_0\n",
)


@pytest.mark.parametrize(
    "text", [*REFUSED, b"1e99999\n", b"1.2.3\n", b"1;2\n", b"1\r2\n", b"1\t2\n", b"1\0\n", b"\xd9\xa1\n", b"# 1\n", b"1 a\n"]
)
def test_what_is_no_plain_number_is_refused(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    assert read(monkeypatch, text) is None

"""Mutations of files: what is done to their bytes, and the check that each is read or refused in bounded memory."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING

from twofold.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

CASES = max(200, int(os.environ.get("FUZZ_CASES", "0")))
SEED = 20_191
ALLOWANCE = 16 << 20
LENGTHS = [0, 1, 2, 3, 7, 33, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]
TOKENS = [
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"-1",
    b"1e999",
    b"99999999999",
    b"null",
    b"true",
    b'"\\ud800"',
    b"\\",
    b"(",
    b"t",
    b"R",
    b".",
]


def bit_flips(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def truncation(draw: random.Random, data: bytearray) -> None:
    del data[draw.randrange(len(data)) :]


def insertion(draw: random.Random, data: bytearray) -> None:
    place = draw.randrange(len(data))
    data[place:place] = draw.choice([draw.randbytes(draw.randint(1, 16)), draw.choice(TOKENS), data[:place][-64:]])


def removal(draw: random.Random, data: bytearray) -> None:
    place = draw.randrange(len(data))
    del data[place : place + draw.randint(1, 16)]


def length_edit(draw: random.Random, data: bytearray) -> None:
    size = draw.choice([1, 2, 4, 8])
    place = draw.randrange(len(data))
    data[place : place + size] = (draw.choice(LENGTHS) % 2 ** (8 * size)).to_bytes(size, "little")


def token_edit(draw: random.Random, data: bytearray) -> None:
    place = draw.randrange(len(data))
    data[place : place + 1] = draw.choice(TOKENS)


MUTATIONS = [bit_flips, truncation, insertion, removal, length_edit, token_edit]


def mutated(seed: int, files: list[bytes]) -> bytes:
    draw = random.Random(seed)
    data = bytearray(draw.choice(files))
    for _ in range(draw.choice([1, 1, 2, 5])):
        if data:
            draw.choice(MUTATIONS)(draw, data)
    return bytes(data)


def outcomes(
    files: list[bytes],
    load: Callable[[bytes], object],
    mutate: Callable[[int, list[bytes]], bytes] = mutated,
    refusals: tuple[type[Exception], ...] = (FormatError,),
) -> tuple[int, int]:
    """How many mutations loaded, and how many were refused."""
    loaded = refused = 0
    tracemalloc.start()
    try:
        for seed in range(SEED, SEED + CASES):
            data = mutate(seed, files)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                load(data)
                loaded += 1
            except refusals:
                refused += 1
            except BaseException as error:
                error.add_note(f"seed {seed}: {data[:200]!r}")
                raise
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak <= 4 * len(data) + ALLOWANCE, f"seed {seed}: {peak} bytes for a file of {len(data)}"
    finally:
        tracemalloc.stop()
    return loaded, refused


def contents(folder: Path, *patterns: str) -> list[bytes]:
    found = [path.read_bytes() for pattern in patterns for path in sorted(folder.glob(pattern))]
    assert found
    return found

"""Keys in files that were made to collide are refused; real ones are not, whatever they are."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import twofold as mx
from twofold.errors import FormatError
from twofold.formats.dict_keys import MOST_COLLISIONS, SHIFT, check_keys
from twofold.formats.image_lists import read_image_list
from twofold.formats.pickle_records import load_pickle

if TYPE_CHECKING:
    from pathlib import Path

WORD = 2**64
# the constants of xxHash, by which CPython hashes tuples
PRIME_1, PRIME_2, PRIME_5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
COUNT = 2000


def rotated(bits: int, by: int) -> int:
    return (bits << by | bits >> 64 - by) % WORD


def pairs_of_one_hash() -> Iterator[tuple[int, int]]:
    """Pairs of integers with one hash: each round of xxHash can be inverted."""
    wanted = rotated(12345678901234567 * pow(PRIME_1, -1, WORD) % WORD, 33)
    for first in itertools.count(1):
        after_first = rotated((PRIME_5 + first * PRIME_2) % WORD, 31) * PRIME_1
        second = (wanted - after_first) * pow(PRIME_2, -1, WORD) % WORD
        if second < 2**61 - 1:
            yield first, second


def integers_in_one_path(size: int) -> list[int]:
    """Integers of different hashes, half of which look for their place in a dict among all that the other half has taken."""
    mask = size - 1
    path, place = [], 0
    for _ in range(size // 3):
        path.append(place)
        place = (5 * place + 1) & mask
    first_half = set(path[: len(path) // 2])
    late = []
    draw = random.Random(3)
    while len(late) < len(path) - 10:
        # five bits more at a time, so that each place looked at is a taken one
        key = draw.choice(path[: len(path) // 2])
        place, used = key & mask, mask.bit_length()
        for step in range(1, 12):
            choices = [key | bits << used for bits in range(1 << SHIFT)]
            fit = [c for c in choices if (place * 5 + (c >> SHIFT * step) + 1) & mask in first_half]
            if not fit or used + SHIFT > 60:
                break
            key = draw.choice(fit)
            place, used = (place * 5 + (key >> SHIFT * step) + 1) & mask, used + SHIFT
        late.append(key)
    return [*path, *late]


FLOODS = {
    "pairs of one hash": list(itertools.islice(pairs_of_one_hash(), COUNT)),
    "integers along one path": integers_in_one_path(8192),
}
REAL = {
    "indices": range(5000),
    "odd indices": range(1, 9999, 2),
    "indices from the last": range(5000, -1, -1),
    "numbers of images": random.Random(0).sample(range(10**12), 5000),
    "offsets of a terabyte": range(0, 2**40, 2**28),
    "fractions": [k / 4096 for k in range(5000)],
    "fractions of 3": [k / 3 for k in range(5000)],
    "negative numbers": range(-5000, 0),
    "pairs": list(itertools.product(range(70), range(70))),
    "pairs of a name and a number": list(itertools.product(["weight", "bias"], range(2500))),
    "names": [f"layer{k}" for k in range(5000)],
    "bytes": [b"%d" % k for k in range(5000)],
    "multiples of a power of 2": range(0, 5000 << 40, 1 << 40),
    "one key again and again": [2**50] * 5000,
}


def test_the_pairs_have_one_hash():
    assert len({*map(hash, FLOODS["pairs of one hash"])}) == 1


@pytest.mark.parametrize("kind", FLOODS)
def test_keys_that_were_made_to_collide_are_refused(kind: str):
    with pytest.raises(FormatError, match="the keys were made to collide"):
        check_keys(FLOODS[kind], "a test")


@pytest.mark.parametrize("kind", REAL)
def test_real_keys_are_taken(kind: str):
    check_keys(list(REAL[kind]), "a test")


@pytest.mark.parametrize("container", [dict.fromkeys, set, frozenset], ids=["dict", "set", "frozenset"])
def test_states_with_such_keys_are_refused(container: type):
    data = pickle.dumps(container(FLOODS["pairs of one hash"]))
    with pytest.raises(FormatError, match="pickle: the keys were made to collide"):
        load_pickle(data)


def test_an_index_with_such_keys_is_refused(tmp_path: Path):
    path = tmp_path / "a"
    mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w").close()
    # Python's integers are hashed modulo this prime
    (tmp_path / "a.idx").write_text("".join(f"{k * (2**61 - 1)}\t0\n" for k in range(COUNT)))
    with pytest.raises(FormatError, match="index of records: the keys were made to collide"):
        mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "r")


def test_a_list_of_images_with_such_numbers_is_refused(tmp_path: Path):
    path = tmp_path / "a.lst"
    path.write_text("".join(f"{k * (2**61 - 1)}\t0\ta.png\n" for k in range(COUNT)))
    with pytest.raises(FormatError, match="list of images: the keys were made to collide"):
        read_image_list(path)


def test_few_keys_may_collide():
    keys = FLOODS["pairs of one hash"][: MOST_COLLISIONS + 1]
    assert load_pickle(pickle.dumps(dict.fromkeys(keys, 1))) == dict.fromkeys(keys, 1)


def test_an_offset_beyond_all_files_is_refused(tmp_path: Path):
    path = tmp_path / "a"
    mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w").close()
    (tmp_path / "a.idx").write_text(f"0\t{2**63}\n")
    with pytest.raises(FormatError, match="too large an offset"):
        mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "r")

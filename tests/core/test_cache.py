"""The cache of compiled programs: bounded, counted, shared, and dropped with the nodes."""

import pytest

from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.graph.ir import leaf
from twofold.graph.tables import drop_generation
from twofold.program.cache import PROGRAMS, Cache, CacheEntry, program_of


def doubled(name="x"):
    """A graph and its leaf."""
    x = leaf(name, (3,), "float32")
    return [x + x], [x]


def test_the_oldest_unused_entries_are_evicted():
    cache = Cache(3)
    for key in "abc":
        cache.add(key, CacheEntry())
    cache.get_or("a", CacheEntry)
    cache.add("d", CacheEntry())
    assert list(cache) == ["c", "a", "d"]
    cache.add("e", CacheEntry())
    assert list(cache) == ["a", "d", "e"]
    cache.add("f", CacheEntry())  # sparing a also cleared its mark of use
    assert list(cache) == ["d", "e", "f"]
    assert (cache.added, cache.dropped) == (6, 3)


def test_a_cache_of_used_entries_still_accepts_new_ones():
    cache = Cache(2)
    for key in "abcd":
        cache.add(key, CacheEntry()).used = True
    assert list(cache) == ["c", "d"]


def test_the_first_of_two_equal_entries_is_kept():
    cache = Cache(2)
    first = cache.add("a", CacheEntry())
    assert cache.add("a", CacheEntry()) is first


def test_an_entry_is_made_once():
    cache = Cache(2)
    made = [cache.get_or("a", CacheEntry), cache.get_or("a", lambda: pytest.fail("it is there already"))]
    assert made[0] is made[1]
    assert cache.added == 1


def test_one_structure_is_compiled_once():
    outputs, leaves = doubled()
    program = program_of(outputs, leaves, backend_for(CPU))
    assert program_of(outputs, leaves, backend_for(CPU)) is program
    assert program_of(*doubled("y"), backend_for(CPU)) is not program


def test_different_settings_give_different_programs(monkeypatch: pytest.MonkeyPatch):
    outputs, leaves = doubled()
    program = program_of(outputs, leaves, backend_for(CPU))
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    assert program_of(outputs, leaves, backend_for(CPU)) is not program


def test_programs_are_dropped_with_their_nodes():
    program_of(*doubled(), backend_for(CPU))
    assert PROGRAMS
    drop_generation()
    assert not PROGRAMS

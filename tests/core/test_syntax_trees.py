"""Syntax trees that several threads make at once."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from twofold.opdef.params import literal
from twofold.syntax_trees import syntax_tree


@pytest.fixture
def often_collected():
    """The garbage collector often runs, and lets other threads run meanwhile, as finalizers may."""
    before = gc.get_threshold()

    def rest(*_):
        time.sleep(1e-6)

    gc.callbacks.append(rest)
    gc.set_threshold(5)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(rest)


@pytest.mark.usefixtures("often_collected")
def test_threads_read_tuples_at_once():
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(literal, ["(1, 2, (3, (4,)))"] * 2000)) == {(1, 2, (3, (4,)))}


def test_a_syntax_error_is_the_compilers():
    with pytest.raises(SyntaxError, match=r"invalid syntax \(script\.py, line 1\)"):
        syntax_tree("1 +", "script.py")

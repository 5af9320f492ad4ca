"""What to do about names and arguments of other libraries' transforms."""

import pytest

import twofold as mx
from twofold import func
from twofold.suggestions import argument_here, attribute_here


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("vamp", "did you mean 'vmap'?"),
        ("value_grad", "did you mean 'value_and_grad'?"),
        ("block_until_ready", "use x.wait_to_read(), or mx.nd.waitall()"),
        ("dynamic_slice", "use x[start + np.arange(size)]"),
        ("debug", "use print, outside of traced functions: return what is to be printed"),
        ("qqqq", "see dir() of it"),
    ],
)
def test_a_missing_transform(name: str, advice: str) -> None:
    assert attribute_here(func, name) == advice


@pytest.mark.parametrize(
    ("name", "function", "advice"),
    [
        ("static_argnames", func.jit, "leave it out: Python's numbers and strings are static, with a program for each value"),
        ("chunk_size", func.vmap, "use func.scan over chunks, each computed by vmap"),
        ("in_dims", func.vmap, "use in_axes"),
        ("size", mx.np.where, "use np.nonzero(condition, size=n)"),
        ("qqqq", mx.np.where, "it takes none by name"),
    ],
)
def test_an_argument_that_other_libraries_have(name: str, function: object, advice: str) -> None:
    assert argument_here(name, function) == advice


def test_what_the_hints_name_computes_it() -> None:
    x = mx.np.arange(10.0)
    assert func.jit(lambda start: x[start + mx.np.arange(3)])(mx.np.array(4)).tolist() == [4, 5, 6]
    nets = [{"w": mx.np.array([float(k)])} for k in range(3)]
    stacked = {k: mx.np.stack([p[k] for p in nets]) for k in nets[0]}
    assert func.vmap(lambda p, x: p["w"][0] * x, in_axes=(0, None))(stacked, mx.np.array(2.0)).tolist() == [0, 2, 4]
    chunks = func.scan(lambda c, part: (c, func.vmap(lambda v: v * v)(part)), 0, x.reshape(5, 2))[1]
    assert chunks.reshape(-1).tolist() == (x * x).tolist()

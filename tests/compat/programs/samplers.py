"""Which parameters samplers refuse, as functions, operators, operators with the shape of an array, and in symbols."""

from __future__ import annotations

from typing import Any

from tests.oracle_programs import fails

NAN = float("nan")
CASES = {
    "normal": [{"loc": 0, "scale": v} for v in (-1, 0, NAN, 1)],
    "uniform": [{"low": a, "high": b} for a, b in ((1, 0), (1, 1), (0, NAN), (0, 1))],
    "poisson": [{"lam": v} for v in (-1, 0, NAN, 1)],
    "exponential": [{"lam": v} for v in (-1, 0, NAN, 1)],
    "gamma": [{"alpha": a, "beta": b} for a, b in ((0, 1), (1, 0), (-1, 1), (1, -1), (NAN, 1), (1, 1))],
    "negative_binomial": [{"k": a, "p": b} for a, b in ((0, 0.5), (-1, 0.5), (1, -0.5), (1, 1), (1, 1.5), (1, NAN))],
    "generalized_negative_binomial": [{"mu": a, "alpha": b} for a, b in ((0, 1), (-1, 1), (1, 0), (1, -1))],
}


def _refused(mx: Any, draw: Any, name: str, places: tuple[str, ...], **options: Any) -> Any:
    def drawn(params: Any) -> Any:
        found = draw(name)(*[options[place] for place in places], **params, **{k: v for k, v in options.items() if k not in places})
        array = found.simple_bind(mx.cpu()).forward()[0] if isinstance(found, mx.sym.Symbol) else found
        return array.asnumpy()

    return [fails(lambda params=params: drawn(params)) for params in CASES[name]]


def of_functions(mx: Any) -> Any:
    names = [name for name in CASES if name != "exponential"]  # whose function takes the scale, not the rate
    scales = [fails(lambda v=v: mx.nd.random.exponential(v).asnumpy()) for v in (-1, NAN, float("inf"), 1)]
    return scales, [_refused(mx, lambda name: getattr(mx.nd.random, name), name, (), shape=(2,)) for name in names]


def of_operators(mx: Any) -> Any:
    return [_refused(mx, lambda name: getattr(mx.nd, f"random_{name}"), name, (), shape=(2,)) for name in CASES]


def of_operators_like(mx: Any) -> Any:
    ones = mx.nd.ones((2,))
    find = lambda name: getattr(mx.nd.random, f"{name}_like")  # noqa: E731
    return [_refused(mx, find, name, ("data",), data=ones) for _ in range(2) for name in CASES]  # the second time by the short path


def of_symbols(mx: Any) -> Any:
    return [_refused(mx, lambda name: getattr(mx.sym, f"random_{name}"), name, (), shape=(2,)) for name in CASES]


def of_intervals_of_integers(mx: Any) -> Any:
    bounds = ((1, 0), (0, 1))
    functions = (mx.nd.random.randint, mx.nd.random_randint)
    return [fails(lambda f=f, a=a, b=b: f(low=a, high=b, shape=(2,)).asnumpy()) for f in functions for a, b in bounds]

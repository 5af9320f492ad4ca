"""Checks of symbols: results and gradients against expected values and finite differences, and the time of a run.

Symbols are bound to arrays and run by an executor. Finite differences follow Theano's ``verify_grad``: the gradient of the outputs'
sum, each element weighted by a random number, is compared with central differences.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import ndarray as nd
from .. import symbol as sym
from ..device import Device
from ..errors import ParameterError
from ..executor import Executor
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..ndarray.functions import waitall
from ..symbol.symbol import Symbol
from .comparison import Tolerance, assert_almost_equal, default_numeric_eps
from .surroundings import default_context

#: Arrays in the order of the arguments, or by name.
Location = Sequence[Any] | Mapping[str, Any]
Requests = str | Sequence[str] | Mapping[str, str]

#: The dtypes in which symbols are checked; "asnumpy" keeps each array's own.
DTYPES = ("float16", "float32", "float64")
#: The name of the variable that a symbol's outputs are multiplied by.
PROJECTION = "__random_proj"


def simple_forward(sym: Symbol, ctx: Device | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """The results of a symbol for NumPy arrays by name: a NumPy array, or a list of them for several outputs.

    Examples
    --------
    >>> import twofold as mx
    >>> simple_forward(mx.sym.Variable("x") * 2, x=np.ones(3))
    array([2., 2., 2.], dtype=float32)
    """
    ctx = ctx or default_context()
    bound = sym.bind(ctx, args={name: nd.array(value, ctx=ctx) for name, value in inputs.items()})
    results = [out.asnumpy() for out in bound.forward(is_train=is_train)]
    return results[0] if len(results) == 1 else results


def _dtype_name(dtype: Any) -> str:
    name = dtype if dtype == "asnumpy" else np.dtype(dtype).name
    assert name in ("asnumpy", *DTYPES), f"dtype {dtype!r}: symbols are checked in {', '.join(DTYPES)}, or 'asnumpy'"
    return name


def _on_device(value: object, ctx: Device, dtype: str) -> NDArray:
    """An array on a device: NumPy's arrays in the given dtype, this library's unchanged."""
    if isinstance(value, Array):
        return value.copyto(ctx)  # a copy: the check may write into it
    given = np.asarray(value)
    return nd.array(given, ctx=ctx, dtype=given.dtype if dtype == "asnumpy" else dtype)


def _arrays(symbol: Symbol, given: Location, ctx: Device, dtype: str) -> dict[str, NDArray]:
    """The arguments' arrays by name."""
    names = symbol.list_arguments()
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ParameterError(
                "Symbol arguments and keys of the given location do not match.",
                f"symbol args:{set(names)}, location.keys():{set(given)}",
                "pass a value for each argument",
            )
        return {name: _on_device(given[name], ctx, dtype) for name in names}
    return {name: _on_device(value, ctx, dtype) for name, value in zip(names, given, strict=False)}


def _states(symbol: Symbol, given: Location | None, ctx: Device, dtype: str) -> dict[str, NDArray]:
    """The auxiliary states' arrays by name."""
    names = symbol.list_auxiliary_states()
    if given is None:
        return {}
    if isinstance(given, Mapping) and set(given) != set(names):
        what = "Symbol aux_states names and given aux_states do not match."
        raise ParameterError(what, f"symbol aux_names:{set(names)}, aux_states.keys:{set(given)}", "pass a value for each state")
    named = given if isinstance(given, Mapping) else dict(zip(names, given, strict=False))
    return {name: _on_device(value, ctx, dtype) for name, value in named.items()}


def _requests(grad_req: Requests, names: Sequence[str]) -> dict[str, str]:
    """The gradient request of each argument; those without one get none."""
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    named = grad_req if isinstance(grad_req, Mapping) else dict(zip(names, grad_req, strict=False))
    wrong = {r for r in named.values() if r not in ("write", "add", "null")}
    if wrong:
        raise ParameterError("unknown gradient request", ", ".join(map(str, wrong)), "pass write, add or null")
    return {name: named.get(name, "null") for name in names}


def check_symbolic_forward(
    sym: Symbol,
    location: Location,
    expected: Location,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Location | None = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: object = np.float32,
) -> list[NDArray]:
    """Assert that a symbol has the expected results.

    Parameters
    ----------
    sym
        The symbol.
    location
        The arguments' arrays, in order or by name.
    expected
        The results, in order or by the names of the outputs.
    rtol, atol, equal_nan
        See `assert_almost_equal`.
    aux_states
        The auxiliary states' arrays, in order or by name.
    ctx
        The device; the current one if None.
    dtype
        The dtype of NumPy's arrays in the executor: float16, float32 or float64, or ``"asnumpy"`` for each array's own.

    Returns
    -------
    list
        The outputs.

    Examples
    --------
    >>> import twofold as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> _ = check_symbolic_forward(mx.sym.dot(a, b), [np.eye(2), np.ones((2, 2))], [np.ones((2, 2))])
    """
    ctx, name = ctx or default_context(), _dtype_name(dtype)
    bound = sym.bind(ctx, args=_arrays(sym, location, ctx, name), aux_states=_states(sym, aux_states, ctx, name))
    outputs = bound.forward(is_train=False)
    names = sym.list_outputs()
    wanted = [expected[n] for n in names] if isinstance(expected, Mapping) else expected
    for output, want, got in zip(names, wanted, outputs, strict=False):
        assert_almost_equal(want, got, rtol, atol, (f"EXPECTED_{output}", f"FORWARD_{output}"), equal_nan=equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Location,
    out_grads: Location | None,
    expected: Location,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Location | None = None,
    grad_req: Requests = "write",
    ctx: Device | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: object = np.float32,
) -> dict[str, NDArray]:
    """Assert that a symbol has the expected gradients.

    The gradients' arrays hold random numbers at first: with the request "add" the gradient must be added to them, and without a request
    they must not change.

    Parameters
    ----------
    sym, location, rtol, atol, aux_states, ctx, equal_nan, dtype
        See `check_symbolic_forward`.
    out_grads
        The head gradients, in the order of the outputs or by their names; None for losses, which need none.
    expected
        The gradients, in the order of the arguments or by their names; only these are checked.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``, for all arguments, in their order, or by name.
    grad_stypes
        The storage types of gradients, by argument.

    Returns
    -------
    dict
        The gradients by argument.
    """
    ctx, name, names = ctx or default_context(), _dtype_name(dtype), sym.list_arguments()
    arguments = _arrays(sym, location, ctx, name)
    wanted = dict(expected) if isinstance(expected, Mapping) else dict(zip(names, expected, strict=False))
    requests = _requests(grad_req, names)
    # not 0, so that a gradient that is written can be told from one that is added
    before = {n: np.random.normal(size=np.shape(v)) for n, v in wanted.items()}
    gradients = {n: _gradient_array(before[n], v, n, (grad_stypes or {}).get(n, "default"), ctx, name) for n, v in wanted.items()}
    bound = sym.bind(
        ctx, args=arguments, args_grad=gradients, aux_states=_states(sym, aux_states, ctx, name), grad_req={n: requests[n] for n in names}
    )
    bound.forward(is_train=True)
    bound.backward(_heads(sym, out_grads, ctx, name))
    for argument, want in wanted.items():
        got, request = gradients[argument].asnumpy(), requests[argument]
        if request == "add":
            got = got - before[argument]
        labels = (f"EXPECTED_{argument}", f"BACKWARD_{argument}")
        goal = before[argument].astype(got.dtype) if request == "null" else want
        assert_almost_equal(goal, got, rtol, atol, labels, equal_nan=equal_nan)
    return gradients


def _gradient_array(before: np.ndarray, want: Any, name: str, stype: str, ctx: Device, dtype: str) -> NDArray:
    """The array for a gradient, in the requested storage type, with random contents."""
    own = np.asarray(want.asnumpy() if isinstance(want, Array) else want).dtype
    array = nd.array(before, ctx=ctx, dtype=own if dtype == "asnumpy" else dtype)
    return array if stype == "default" else array.tostype(stype)


def _heads(symbol: Symbol, out_grads: Location | None, ctx: Device, dtype: str) -> list[NDArray | None] | None:
    if out_grads is None:
        return None
    assert isinstance(out_grads, (Mapping, list, tuple)), "out_grads: pass a list with one array for each output, or a dictionary"
    names = symbol.list_outputs()
    given = out_grads if isinstance(out_grads, Mapping) else dict(zip(names, out_grads, strict=False))
    return [None if given.get(n) is None else _on_device(given[n], ctx, dtype) for n in names]


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """The gradient of the sum of an executor's first output, by central differences.

    Parameters
    ----------
    executor
        The executor; its arguments' arrays are written.
    location
        The arguments' values by name.
    aux_states
        The auxiliary states' values by name, which are restored before each run.
    eps
        The difference of the two values of an element.
    use_forward_train
        Whether to run in training mode.
    dtype
        The dtype of the gradients.

    Returns
    -------
    dict
        The gradients of the arguments in ``location``: NumPy's arrays of the arguments' shapes.
    """
    given = {name: v.asnumpy() if isinstance(v, Array) else v for name, v in location.items()}
    values = {name: np.array(v, dtype=executor.arg_dict[name].dtype) for name, v in given.items()}
    for name, value in values.items():
        executor.arg_dict[name][:] = value

    def outputs(name: str, value: np.ndarray) -> np.ndarray:
        executor.arg_dict[name][:] = value
        # running in training mode may change the states, which every evaluation must begin with
        for state, kept in (aux_states or {}).items():
            executor.aux_dict[state][:] = kept
        return executor.forward(is_train=use_forward_train)[0].asnumpy().astype(np.float64)

    gradients = {}
    for name, value in values.items():
        gradient = np.zeros(value.shape, dtype=dtype)
        for place in np.ndindex(value.shape):
            centre = value[place]
            value[place] = centre + eps / 2
            above = outputs(name, value)
            value[place] = centre - eps / 2
            # elements are subtracted before they are summed: most are equal, and the sum's rounding would exceed the difference
            gradient[place] = (above - outputs(name, value)).sum() / eps
            value[place] = centre
        executor.arg_dict[name][:] = value
        gradients[name] = gradient
    return gradients


def check_numeric_gradient(
    sym: Symbol,
    location: Location,
    aux_states: Location | None = None,
    numeric_eps: float | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Sequence[str] | Mapping[str, str] | None = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: object = np.float32,
) -> None:
    """Assert that a symbol's gradients are those that finite differences give.

    Parameters
    ----------
    sym
        A symbol with one output.
    location, aux_states
        The arrays of arguments and auxiliary states, in order or by name.
    numeric_eps
        The difference of the two values of an element; by default a power of two that suits the dtype.
    rtol, atol
        See `assert_almost_equal`.
    grad_nodes
        The names of the arguments to check, or their gradient requests by name; all arguments if None.
    use_forward_train
        Whether differences are computed in training mode.
    ctx
        The device; the current one if None.
    grad_stype_dict
        The storage types of gradients, by argument.
    dtype
        float16, float32 or float64.

    Raises
    ------
    AssertionError
        If gradients differ by more than the tolerances.
    ParameterError
        If ``grad_nodes`` is a single string, or the symbol has several outputs.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.sym.Variable("x")
    >>> check_numeric_gradient(mx.sym.tanh(x), [np.array([-1.0, 0.5])], dtype=np.float64)
    """
    ctx, name = ctx or default_context(), _dtype_name(dtype)
    assert name != "asnumpy", "a gradient is checked in one dtype: pass float16, float32 or float64"
    if len(sym.list_outputs()) != 1:
        raise ParameterError("check_numeric_gradient: the symbol has several outputs", ", ".join(sym.list_outputs()), "check one of them")
    arguments = _arrays(sym, location, ctx, name)
    states = _states(sym, aux_states, ctx, name)
    requests = _nodes(grad_nodes, sym.list_arguments())
    missing = [n for n in sym.list_arguments() if n not in arguments] + [n for n in sym.list_auxiliary_states() if n not in states]
    if missing:
        raise ParameterError("check_numeric_gradient: values are missing", ", ".join(missing), "pass one for each argument and state")
    loss, projection, start = _projected(sym, arguments, ctx, name)
    before = {n: np.random.normal(size=start[n].shape).astype(name) for n in requests}
    gradients = {n: _gradient_array(before[n], before[n], n, (grad_stype_dict or {}).get(n, "default"), ctx, name) for n in requests}
    original = {n: value.asnumpy() for n, value in states.items()}
    # neither the random weights of the outputs nor unchecked arguments need gradients
    everything = {**dict.fromkeys(projection, "null"), **requests}
    bound = loss.bind(ctx, args=projection, args_grad=gradients, grad_req=everything, aux_states=states)
    bound.forward(is_train=True)
    bound.backward()
    found = {n: gradient.asnumpy() for n, gradient in gradients.items()}
    eps = default_numeric_eps()[np.dtype(name)] if numeric_eps is None else numeric_eps
    checked = {n: start[n] for n, request in requests.items() if request != "null"}
    numeric = numeric_grad(bound, checked, original, eps, use_forward_train, name)
    for argument, request in requests.items():
        labels = (f"NUMERICAL_{argument}", f"BACKWARD_{argument}")
        got = found[argument] - before[argument] if request == "add" else found[argument]
        assert_almost_equal(before[argument] if request == "null" else numeric[argument], got, rtol, atol, labels)


def _nodes(given: Any, names: Sequence[str]) -> dict[str, str]:
    """The requests of the arguments that are checked."""
    if given is None:
        return dict.fromkeys(names, "write")
    if isinstance(given, str):
        raise ParameterError("check_numeric_gradient: grad_nodes is a list of names", repr(given), f"pass [{given!r}]")
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, "write")
    return {name: request for name, request in _requests(wanted, [*names, *wanted]).items() if name in wanted}


def _projected(
    symbol: Symbol, arguments: Mapping[str, NDArray], ctx: Device, dtype: str
) -> tuple[Symbol, dict[str, NDArray], dict[str, np.ndarray]]:
    """A symbol's elements, each times a random number, as a loss; its arguments, and their values."""
    _, shapes, _ = symbol.infer_shape(**{n: a.shape for n, a in arguments.items()})
    # at least 0.1, so that every element counts
    weights = np.random.rand(*(shapes or [()])[0]) + 0.1
    loss = sym.make_loss(symbol * sym.Variable(PROJECTION))
    bound = {**arguments, PROJECTION: nd.array(weights, ctx=ctx, dtype=dtype)}
    return loss, bound, {n: a.asnumpy() for n, a in arguments.items()}


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Device | None = None,
    N: int = 20,
    grad_req: Requests | None = None,
    typ: Literal["whole", "forward"] = "whole",
    **kwargs: Any,
) -> float:
    """The seconds that a run of a symbol takes: the average of ``N`` runs, after one that is not counted.

    Parameters
    ----------
    sym
        The symbol.
    location
        The arguments' values by name; random numbers for the shapes in ``kwargs`` if None.
    ctx
        The device; the current one if None.
    N
        The number of runs.
    grad_req
        See ``Symbol.simple_bind``; ``"write"`` if None.
    typ
        ``"whole"``: forward and backward, with the outputs as head gradients; ``"forward"``: forward only.
    **kwargs
        The shapes of arguments, see ``Symbol.simple_bind``.

    Raises
    ------
    ParameterError
        If ``typ`` is neither.
    """
    if typ not in ("whole", "forward"):
        raise ParameterError('typ can only be "whole" or "forward".', repr(typ), "pass one of them")
    ctx = ctx or default_context()
    shapes = kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    bound = sym.simple_bind(grad_req="write" if grad_req is None else grad_req, ctx=ctx, **shapes)  # type: ignore[arg-type]
    values = {n: np.random.normal(size=a.shape) for n, a in bound.arg_dict.items()} if location is None else location
    for name, value in values.items():
        bound.arg_dict[name][:] = np.asarray(value, dtype=bound.arg_dict[name].dtype)

    def run() -> None:
        outputs = bound.forward(is_train=typ == "whole")
        if typ == "whole":
            bound.backward(outputs)

    run()
    waitall()
    start = time.perf_counter()
    for _ in range(N):
        run()
    waitall()
    return (time.perf_counter() - start) / N

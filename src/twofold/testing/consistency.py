"""Checks that one computation gives one result: on several devices and in several dtypes, hybridized or not, by two optimizers."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import autograd
from ..executor import Executor
from ..imperative.array import Array
from ..symbol.node import topological
from ..symbol.symbol import Symbol
from .comparison import Tolerance, assert_almost_equal, compare_ndarray_tuple
from .random_data import rand_ndarray

Arrays = Mapping[str, Any]


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Arrays | None = None,
    aux_params: Arrays | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Arrays | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, Any]:
    """Assert that a symbol gives the same outputs and gradients on several devices and in several dtypes.

    Parameters
    ----------
    sym
        A symbol, or one for each device, with equal names of outputs and arguments.
    ctx_list
        For each device a dictionary of keywords of ``Symbol.simple_bind``: ``ctx``, shapes by name, ``type_dict``.
    scale
        The standard deviation of random arguments; their range, if they are uniform.
    grad_req
        The gradient requests; with ``"null"`` only outputs are compared.
    arg_params, aux_params
        Values of arguments and auxiliary states. Other arguments are random, other states 0.
    rtol, atol, equal_nan
        See `assert_almost_equal`; by default the tolerances of the less precise dtype.
    raise_on_err
        Whether a difference raises; otherwise it is printed.
    ground_truth
        The outputs and gradients to compare with; by default those in the most precise dtype.
    use_uniform
        Whether random arguments are uniform on [-0.5, 0.5) times ``scale`` rather than normal.
    rand_type
        The dtype that random arguments are rounded to.

    Returns
    -------
    dict
        The outputs and gradients that were compared with.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.sym.Variable("x")
    >>> single = {"ctx": mx.cpu(), "x": (2, 2), "type_dict": {"x": np.float32}}
    >>> double = {"ctx": mx.cpu(), "x": (2, 2), "type_dict": {"x": np.float64}}
    >>> sorted(check_consistency(mx.sym.exp(x, name="exp"), [double, single]))
    ['exp_output', 'x']
    """
    assert len(ctx_list) > 1, "check_consistency: pass at least two devices or dtypes"
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    assert len(symbols) == len(ctx_list), f"check_consistency: {len(symbols)} symbols for {len(ctx_list)} devices"
    names = symbols[0].list_outputs()
    for other in symbols[1:]:
        assert other.list_outputs() == names, f"check_consistency: outputs {names} and {other.list_outputs()}"
        assert other.list_arguments() == symbols[0].list_arguments(), "check_consistency: the symbols have different arguments"
    bound = [s.simple_bind(grad_req=grad_req, **options) for s, options in zip(symbols, ctx_list, strict=True)]
    _fill(bound, dict(arg_params or {}), aux_params or {}, scale, use_uniform, rand_type)
    # the most precise executor is the reference: the others may differ from it by their own rounding
    best = max(range(len(bound)), key=lambda k: _precision(bound[k]))
    check = _Check(bound, best, ground_truth, rtol, atol, raise_on_err, equal_nan)
    for one in bound:
        one.forward(is_train=False)
    check.run("Predict", {})
    if grad_req == "null":
        return check.truth
    for one in bound:
        one.forward(is_train=True)
        # the outputs serve as head gradients: any values would do that are equal up to rounding
        one.backward(one.outputs)
    check.run("Train", dict.fromkeys(symbols[0].list_arguments()))
    return check.truth


def _precision(executor: Executor) -> int:
    """The precision of an executor's first output, in bytes: that of whole numbers counts as less than any."""
    dtype = np.dtype(executor.outputs[0].dtype)
    return dtype.itemsize if dtype.kind == "f" else 0


def _fill(bound: Sequence[Executor], params: dict[str, Any], states: Arrays, scale: float, use_uniform: bool, rand_type: Any) -> None:
    """Give all executors the same arguments and states, and gradients of 0 to add to."""
    for name, array in bound[0].arg_dict.items():
        if name in params:
            continue
        if np.dtype(array.dtype).kind in "iu":
            params[name] = np.random.randint(0, 10, size=array.shape)
        elif use_uniform:
            params[name] = np.random.uniform(-0.5 * scale, 0.5 * scale, size=array.shape).astype(rand_type)
        else:
            params[name] = np.random.normal(size=array.shape, scale=scale).astype(rand_type)
    for one in bound:
        for arrays, values in ((one.arg_dict, params), (one.aux_dict, {n: states.get(n, 0) for n in one.aux_dict})):
            for name, array in arrays.items():
                value = values[name].asnumpy() if isinstance(values[name], Array) else values[name]
                array[:] = np.asarray(value, dtype=array.dtype)
        for gradient in one.grad_dict.values():
            if gradient is not None:
                gradient[:] = 0


class _Check:
    """The comparison of all executors with the truth."""

    def __init__(
        self,
        bound: Sequence[Executor],
        best: int,
        truth: Arrays | None,
        rtol: Tolerance,
        atol: Tolerance,
        raise_on_err: bool,
        equal_nan: bool,
    ) -> None:
        self.bound, self.best, self.given = bound, best, truth is not None
        self.truth = dict(truth or {})
        self.rtol, self.atol, self.raise_on_err, self.equal_nan = rtol, atol, raise_on_err, equal_nan

    def run(self, mode: str, gradients: Mapping[str, None]) -> None:
        """Compare the outputs, and the gradients of the given names."""
        if not self.given:
            best = self.bound[self.best]
            found = {**best.output_dict, **{n: best.grad_dict[n] for n in gradients}}
            self.truth = {n: None if a is None else a.copy() for n, a in found.items()}
        for number, one in enumerate(self.bound):
            if number == self.best and not self.given:
                continue
            for name, array in {**one.output_dict, **{n: one.grad_dict[n] for n in gradients}}.items():
                if array is not None and self.truth.get(name) is not None:
                    self._compare(f"{mode} Err: ctx {number} vs ctx {self.best} at {name}", array, self.truth[name])

    def _compare(self, title: str, array: object, truth: object) -> None:
        try:
            assert_almost_equal(array, truth, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)
        except AssertionError:
            print(title)
            traceback.print_exc()
            if self.raise_on_err:
                raise


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[Array],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Assert that a block without random draws gives the same outputs and gradients whether it is hybridized or not.

    Parameters
    ----------
    net_builder
        A function of ``prefix`` that makes the block.
    data_l
        The block's inputs.
    numpy_func
        A function of NumPy's arrays with the same result.
    test_grad
        Whether to compare the gradients of inputs and parameters too.
    rtol, atol
        See `assert_almost_equal`.
    """
    values: dict[str, Any] = {}
    heads = plain = gradients = None
    for hybridize in (False, True):
        net = net_builder(prefix="net_")
        net.initialize()
        if hybridize:
            net.hybridize()
        inputs = [data.copy() for data in data_l]
        net(*inputs)
        for name, parameter in net.collect_params().items():
            # the second block starts from the first one's initial values
            if name in values:
                parameter.set_data(values[name])
            values[name] = parameter.data().copy()
        for data in inputs if test_grad else ():
            data.attach_grad()
        with autograd.record(train_mode=test_grad):
            out = net(*inputs)
        if heads is None:
            heads = np.random.normal(size=out.shape)
        if test_grad:
            # an array of the right class for the head: `mx.nd` or `mx.np`, as the block computes in
            head = data_l[0].copy() if out.shape == data_l[0].shape else out.copy()
            head[:] = heads
            out.backward(head)
        trained = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
        found = [x.asnumpy() for x in ([data.grad for data in inputs] + trained if test_grad else [])]
        if plain is None or gradients is None:
            plain, gradients = out.asnumpy(), found
            if numpy_func is not None:
                assert_almost_equal(plain, numpy_func(*[data.asnumpy() for data in data_l]), rtol=rtol, atol=atol)
            continue
        assert_almost_equal(out.asnumpy(), plain, rtol=rtol, atol=atol)
        for one, other in zip(found, gradients, strict=True):
            assert_almost_equal(one, other, rtol=rtol, atol=atol)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Assert that two optimizers make the same update of random weights by random gradients.

    Parameters
    ----------
    opt1, opt2
        The optimizers.
    shape
        The weights' shape; a list of shapes for several weights.
    dtype
        The dtype of weights and gradients.
    w_stype, g_stype
        Their storage types.
    rtol, atol
        See `assert_almost_equal`.
    compare_states
        Whether the states must be equal too.
    ntensors
        How many weights are updated in one call; more than 1 for optimizers that accept lists.
    """
    shapes = list(shape) if ntensors > 1 or isinstance(shape, list) else [shape]
    assert len(shapes) == ntensors, f"compare_optimizer: {len(shapes)} shapes for {ntensors} weights"
    weights = [rand_ndarray(s, w_stype, density=1, dtype=dtype) for s in shapes]
    gradients = [rand_ndarray(s, g_stype, density=1, dtype=dtype) for s in shapes]
    results = []
    for optimizer in (opt1, opt2):
        # optimizers update in place: each gets copies
        own, grads = [w.copy() for w in weights], [g.copy() for g in gradients]
        states = [optimizer.create_state_multi_precision(k, w) for k, w in enumerate(own)]
        if ntensors == 1:
            optimizer.update_multi_precision(0, own[0], grads[0], states[0])
        else:
            optimizer.update_multi_precision(list(range(ntensors)), own, grads, states)
        results.append((own, states))
    (own1, states1), (own2, states2) = results
    for k in range(ntensors):
        if compare_states:
            compare_ndarray_tuple(states1[k], states2[k], rtol=rtol, atol=atol)
        assert_almost_equal(own1[k], own2[k], rtol=rtol, atol=atol)


def same_array(array1: Any, array2: Any) -> bool:
    """Whether two arrays of one shape share their memory: a write to one shows in the other. Both keep their values.

    Parameters
    ----------
    array1, array2
        The arrays.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.nd.ones((2, 3))
    >>> same_array(x, x[:]), same_array(x, x.copy())
    (True, False)
    """
    with autograd.pause():
        # a write through one array; undone below
        array1[:] += 1
        seen = np.array_equal(array1.asnumpy(), array2.asnumpy())
        array1[:] -= 1
        return seen and np.array_equal(array1.asnumpy(), array2.asnumpy())


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols consist of the same operators (or variables) in the same order, whatever their names and parameters."""
    first, second = ([node.op for node in topological(symbol.heads)] for symbol in (sym1, sym2))
    return first == second

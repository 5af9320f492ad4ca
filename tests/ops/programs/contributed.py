"""Densities, attention, mixed precision, straight-through estimators, Hawkes processes and other small operators."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.RandomState(7)
COUNTS = np.array([[0, 1, 5], [2, 3, 4]], "float32")
REALS = RANDOM.uniform(0.3, 2.5, (2, 3)).astype("float32")
SHARES = np.array([[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]], "float32")


def _differentiated(mx: Any, function: Any, *values: Any) -> Any:
    """Results and gradients for head gradients 1, 2, 3 and so on."""
    arrays = [v if isinstance(v, mx.nd.NDArray) else mx.nd.array(v) for v in values]
    for x in arrays:
        x.attach_grad()
    with mx.autograd.record():
        out = function(*arrays)
    results = list(out) if isinstance(out, (list, tuple)) else [out]
    heads = [mx.nd.array(np.arange(1, r.size + 1).reshape(r.shape), dtype=r.dtype) for r in results]
    mx.autograd.backward(results, heads)
    return [results, [x.grad for x in arrays]]


def _density(mx: Any, name: str, sample: Any, *parameters: Any) -> Any:
    operator = getattr(mx.nd, f"random_pdf_{name}")
    return [_differentiated(mx, lambda *a, log=log: operator(*a, is_log=log), sample, *parameters) for log in (False, True)]


def density_of_uniform(mx: Any) -> Any:
    outside = mx.nd.random_pdf_uniform(mx.nd.array([[-1, 0, 3, 4]]), mx.nd.array([0]), mx.nd.array([3]))
    return [_density(mx, "uniform", REALS, [0, 0.5], [3, 4]), outside]


def density_of_normal(mx: Any) -> Any:
    wide = mx.nd.random_pdf_normal(*[mx.nd.array(x, dtype="float64") for x in (REALS, [0, 1], [1, 2])])
    several = mx.nd.random_pdf_normal(mx.nd.ones((2, 3, 4)), mx.nd.zeros((2, 3)), mx.nd.ones((2, 3)))
    return [_density(mx, "normal", REALS, [0, 1], [3, 0.5]), _density(mx, "normal", [1, 2], [0, 1], [3, 0.5]), wide, several]


def density_of_gamma(mx: Any) -> Any:
    corners = mx.nd.random_pdf_gamma(mx.nd.array([[-1, 0, 3]]), mx.nd.array([2]), mx.nd.array([3]))
    return [_density(mx, "gamma", REALS, [2, 0.5], [3, 1]), corners]


def density_of_exponential(mx: Any) -> Any:
    return _density(mx, "exponential", REALS, [2, 0.5])


def density_of_poisson(mx: Any) -> Any:
    corners = mx.nd.random_pdf_poisson(mx.nd.array([[-1, 0, 0.5, 4]]), mx.nd.array([2]))
    return [_density(mx, "poisson", COUNTS, [2, 0.5]), corners]


def density_of_negative_binomial(mx: Any) -> Any:
    return _density(mx, "negative_binomial", COUNTS, [2, 3.5], [0.4, 0.7])


def density_of_generalized_negative_binomial(mx: Any) -> Any:
    return _density(mx, "generalized_negative_binomial", COUNTS, [2, 3.5], [0.4, 0.7])


def density_of_dirichlet(mx: Any) -> Any:
    return [_density(mx, "dirichlet", SHARES[0], [1, 2, 3]), _density(mx, "dirichlet", SHARES, [[1, 2, 3], [2, 0.5, 2]])]


def attention_in_a_sequence(mx: Any) -> Any:
    projection, weights = RANDOM_PROJECTION, RANDOM_WEIGHTS
    scores = _differentiated(mx, lambda x: mx.nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2), projection)
    return [scores, _differentiated(mx, lambda x, a: mx.nd.contrib.interleaved_matmul_selfatt_valatt(x, a, heads=2), projection, weights)]


def attention_to_another_sequence(mx: Any) -> Any:
    queries, keys = RANDOM_PROJECTION[:2, :, :4], RANDOM_PROJECTION[:, :, :8]
    scores = _differentiated(mx, lambda q, k: mx.nd.contrib.interleaved_matmul_encdec_qk(q, k, heads=2), queries, keys)
    weights = RANDOM_WEIGHTS[:, :2]
    return [scores, _differentiated(mx, lambda k, a: mx.nd.contrib.interleaved_matmul_encdec_valatt(k, a, heads=2), keys, weights)]


RANDOM_PROJECTION = RANDOM.uniform(-1, 1, (3, 2, 12)).astype("float32")
RANDOM_WEIGHTS = RANDOM.uniform(0, 1, (4, 3, 3)).astype("float32")


def division_by_root_of_size(mx: Any) -> Any:
    return _differentiated(mx, mx.nd.contrib.div_sqrt_dim, [[1, 2, 3], [4, 5, 6]])


def casts(mx: Any) -> Any:
    kinds = ("float32", "float16", "float64", "int32")
    return [mx.nd.amp_cast(mx.nd.array([1.5, 2], dtype=k), dtype=d) for k in kinds for d in ("float16", "float32")]


def casts_of_several(mx: Any) -> Any:
    found = []
    for kinds in (
        ("float16", "float32"),
        ("float64", "float32", "float16"),
        ("int32", "float32"),
        ("int32", "float16", "float32"),
        ("float16",),
    ):
        arrays = [mx.nd.array([1.5], dtype=k) for k in kinds]
        for narrow in (False, True):
            out = mx.nd.amp_multicast(*arrays, num_outputs=len(kinds), cast_narrow=narrow)
            found.append(out)
    mixed = [mx.nd.array([1.5], dtype="float16"), mx.nd.array([2.5])]
    return [found, _differentiated(mx, lambda *a: mx.nd.amp_multicast(*a, num_outputs=2), *mixed)]


def types_of_casts(mx: Any) -> Any:
    def names(types: Any) -> Any:
        return [[np.dtype(t).name for t in group] for group in types]

    one = mx.sym.amp_cast(mx.sym.Variable("a"), dtype="float16")
    two = mx.sym.amp_multicast(mx.sym.Variable("a"), mx.sym.Variable("b"), num_outputs=2, name="m")
    found = [names(one.infer_type(a=t)) for t in ("float32", "int32")]
    return [found, names(two.infer_type(a="float16", b="float32")), two.list_outputs()]


def straight_through(mx: Any) -> Any:
    contrib, x = mx.nd.contrib, [0.5, 1.5, -0.5, 2.4, -2.5, 0]
    whole = mx.nd.array([1, -2], dtype="int32")
    return [
        _differentiated(mx, contrib.round_ste, x),
        _differentiated(mx, contrib.sign_ste, x),
        contrib.round_ste(whole),
        contrib.sign_ste(whole),
    ]


def multiplied_gradients(mx: Any) -> Any:
    contrib = mx.nd.contrib
    scaled = _differentiated(mx, lambda x: contrib.gradientmultiplier(x, scalar=-2.5), [0.5, 0, -0.5])
    return [
        scaled,
        contrib.gradientmultiplier(mx.nd.array([1, 2], dtype="int32"), scalar=2),
        contrib.backward_gradientmultiplier(mx.nd.array([1, 2]), scalar=2.5),
    ]


def quadratic(mx: Any) -> Any:
    return _differentiated(mx, lambda x: mx.nd.contrib.quadratic(x, a=1, b=2, c=3), [[1, 2, 3], [4, 5, 6]])


def sparse_activations(mx: Any) -> Any:
    symbol = mx.sym.IdentityAttachKLSparseReg(mx.sym.Variable("x"), name="kl", sparseness_target=0.2, penalty=0.5, momentum=0.8)
    found: list[Any] = [symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.infer_shape(x=(2, 3))]
    bound = symbol.simple_bind(mx.cpu(), x=(2, 2), grad_req="write")
    bound.arg_arrays[0][:] = mx.nd.array([[0.1, 0.2], [0.3, 0.4]])
    for mean in (0.2, 0.7):
        bound.aux_arrays[0][:] = mean
        bound.forward(is_train=True)
        bound.backward(mx.nd.array([[1, 2], [3, 4]]))
        found.append([x.copy() for x in (bound.outputs[0], bound.grad_arrays[0], bound.aux_arrays[0])])
    bound.forward(is_train=False)
    return [*found, bound.outputs[0], bound.aux_arrays[0]]


def elements_of_rows(mx: Any) -> Any:
    rows, new = mx.nd.array([[1, 2, 3], [4, 5, 6]]), mx.nd.array([7, 8])
    return [mx.nd.fill_element_0index(rows, new, mx.nd.array(at)) for at in ([0, 2], [-1, 5])]


def attributes_like_another(mx: Any) -> Any:
    return _differentiated(mx, mx.nd._internal._identity_with_attr_like_rhs, [[1, 2, 3], [4, 5, 6]], np.zeros((2, 3)))


def masks(mx: Any) -> Any:
    found = _differentiated(mx, mx.nd.contrib.boolean_mask, [[1, 2], [3, 4], [5, 6]], [1, 0, 1])
    return [found, mx.nd.contrib.boolean_mask(mx.nd.ones((3, 2)), mx.nd.zeros((3,))).shape]


def hawkes(mx: Any) -> Any:
    random = np.random.RandomState(0)
    rates = [random.uniform(0.5, 1.5, (2, 3)), random.uniform(0.1, 0.6, 3), random.uniform(0.5, 2, 3)]
    state, lags = mx.nd.array(random.uniform(0, 1, (2, 3))), mx.nd.array(random.uniform(0.1, 1, (2, 4)))
    marks, end = mx.nd.array(random.randint(0, 3, (2, 4)), dtype="int32"), mx.nd.array([5, 6])
    lengths = [mx.nd.array(n) for n in ([3, 4], [0, 1])]
    return [_differentiated(mx, lambda *p, n=n: mx.nd.contrib.hawkesll(*p, state, lags, marks, n, end), *rates) for n in lengths]

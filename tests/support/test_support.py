"""The support modules where MXNet's answers depend on how it was built, or are improved on."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DeviceError, DTypeError, MXNetError, ParameterError

from tests.devices import fake_gpus

#: A script like MXNet's own unit tests.
UNIT_TEST = """
from __future__ import print_function
import functools
import mxnet as mx
from mxnet.base import py_str, MXNetError, _as_list
from mxnet.test_utils import *
from mxnet.util import use_np


def with_seed(seed=None):
    def test_helper(orig_test):
        @functools.wraps(orig_test)
        def test_new(*args, **kwargs):
            post_test_state = np.random.get_state()
            np.random.seed(seed)
            mx.random.seed(seed)
            try:
                orig_test(*args, **kwargs)
            finally:
                np.random.set_state(post_test_state)
        return test_new
    return test_helper


@with_seed(0)
def test_fully_connected():
    data, fc_weight, fc_bias = mx.sym.var("data"), mx.sym.var("weight"), mx.sym.var("bias")
    fc = mx.sym.FullyConnected(data=data, weight=fc_weight, bias=fc_bias, num_hidden=10, no_bias=False, name="fc")
    data = mx.nd.random.uniform(shape=(5, 5, 5, 13), dtype=np.float32)
    fc_weight = mx.nd.random.uniform(shape=(10, 325), dtype=np.float32)
    fc_bias = mx.nd.random.uniform(shape=(10), dtype=np.float32)
    data_np = data.asnumpy().reshape(5, 325)
    res = np.dot(data_np, fc_weight.asnumpy().T) + fc_bias.asnumpy()
    check_symbolic_forward(fc, {"data": data_np, "weight": fc_weight.asnumpy(), "bias": fc_bias.asnumpy()}, {"fc_output": res})
    check_numeric_gradient(fc, {"data": data_np[:2, :5], "weight": fc_weight.asnumpy()[:, :5], "bias": fc_bias.asnumpy()},
                           numeric_eps=1e-2, rtol=1e-2, atol=1e-2)


@with_seed(1)
def test_unary():
    for name, forward in (("tanh", np.tanh), ("sin", np.sin), ("square", np.square)):
        shape = rand_shape_2d(3, 3)
        x = rand_ndarray(shape).asnumpy().astype("float64")
        y = getattr(mx.sym, name)(mx.sym.Variable("x"))
        check_symbolic_forward(y, [x], [forward(x)], dtype=np.float64)
        check_numeric_gradient(y, [x], dtype=np.float64)


@with_seed(2)
def test_broadcast():
    a, b = np.random.randn(2, 1), np.random.randn(2, 3)
    product = mx.sym.broadcast_mul(mx.sym.Variable("a"), mx.sym.Variable("b"))
    head = np.random.randn(2, 3)
    check_symbolic_backward(product, [a, b], [head], [collapse_sum_like(head * b, (2, 1)), head * a], rtol=1e-3, atol=1e-4)
    check_consistency(product, [{"ctx": default_context(), "a": (2, 1), "b": (2, 3), "type_dict": {"a": t, "b": t}}
                                for t in (np.float64, np.float32, np.float16)], rtol={np.dtype("float16"): 0.1})


@with_seed(3)
@retry(3)
def test_uniform():
    with environment("MXNET_TEST", "1"):
        assert os.environ["MXNET_TEST"] == "1"
    buckets, probs = gen_buckets_probs_with_ppf(lambda p: p, 5)
    verify_generator(lambda n: mx.nd.random.uniform(0, 1, shape=n).asnumpy(), buckets, probs, nsamples=10000)
    assert mean_check(lambda n: mx.nd.random.normal(0, 1, shape=n).asnumpy(), 0, 1, 10000)


def test_refused():
    assert_exception(mx.nd.dot, MXNetError, mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    assert _as_list(1) == [1]


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name)
print(mx.__name__)
"""


def test_a_script_like_mxnets_unit_tests_runs():
    code = f"import twofold.compat.mxnet_alias as a; a.install(); exec({textwrap.dedent(UNIT_TEST)!r})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert found.stdout.split() == ["test_fully_connected", "test_unary", "test_broadcast", "test_uniform", "test_refused", "mxnet"], (
        found.stderr
    )


def test_a_failed_comparison_leaves_the_print_options():
    before = np.get_printoptions()
    with pytest.raises(AssertionError, match=r"\.\.\."):
        mx.test_utils.assert_almost_equal(np.arange(50), np.zeros(50))
    assert np.get_printoptions() == before


def test_lists_are_compared():
    mx.test_utils.assert_almost_equal([1, 2.0], mx.nd.array([1, 2]))
    assert mx.test_utils.almost_equal(mx.nd.ones(2), [1, 1])
    with pytest.raises(AssertionError, match="Location"):
        mx.test_utils.assert_almost_equal([1, 2], (1, 3))


def test_broadcast_arrays_that_differ_have_a_location():
    with pytest.raises(AssertionError, match=r"\(0, 1\), a=1.00000000, b=2.00000000"):
        mx.test_utils.assert_almost_equal(np.ones((2, 1)), np.array([[1, 2.0], [1, 1]]))


def test_numeric_gradients_at_arrays_of_this_library():
    bound = mx.sym.square(mx.sym.Variable("x")).bind(mx.cpu(), {"x": mx.nd.zeros(2, dtype="float64")})
    found = mx.test_utils.numeric_grad(bound, {"x": mx.nd.array([1, 2], dtype="float64")}, eps=0.5)
    assert found["x"].tolist() == [2, 4]


@pytest.mark.parametrize("buckets", [[(0, 0.4), (0.6, 1)], [(0, 0.4), (0.4, 0.9)]])
def test_samples_outside_of_all_buckets_are_an_error(buckets: list[tuple[float, float]]):
    with pytest.raises(ParameterError, match="fall into no bucket"):
        mx.test_utils.chi_square_check(lambda n: np.linspace(0, 0.99, n), buckets, [0.5, 0.5], 100)


def test_the_last_bucket_includes_its_upper_bound():
    observed = mx.test_utils.chi_square_check(lambda n: np.array([0.0, 0.5, 0.75, 1.0]), [(0, 0.5), (0.5, 1)], [0.25, 0.75], 4)[1]
    assert observed.tolist() == [1, 3]


def test_the_speed_of_a_symbol_is_a_time():
    x = mx.sym.Variable("x") * 2
    assert 0 < mx.test_utils.check_speed(x, x=(2, 2), N=2) < 10
    assert 0 < mx.test_utils.check_speed(x, location={"x": np.ones(2)}, N=2, typ="forward") < 10


@pytest.mark.parametrize("kind", ["nd", "np"])
def test_hybridized_blocks_are_consistent(kind: str):
    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.dense = mx.gluon.nn.Dense(3, activation="tanh")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.dense(x)

    data = [getattr(mx, kind).ones((2, 3))]
    mx.test_utils.check_gluon_hybridize_consistency(Net, data)
    with pytest.raises(AssertionError):
        mx.test_utils.check_gluon_hybridize_consistency(Net, data, numpy_func=lambda x: x)


def test_features_say_what_is_there():
    features = {feature.name: feature.enabled for feature in mx.runtime.feature_list()}
    assert features["CUDA"] == (mx.num_gpus() > 0)
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"].lower()  # type: ignore[index]
    assert features["BLAS_OPEN"] == ("openblas" in blas)
    assert not features["MKLDNN"]


def test_gpus_are_counted():
    assert mx.util.get_gpu_count() == mx.context.num_gpus()
    with fake_gpus(2):
        assert mx.util.get_gpu_count() == 2
        assert list(mx.test_utils.list_gpus()) == [0, 1]
        free, total = mx.util.get_gpu_memory(1)
        assert 0 <= free <= total
        with pytest.raises(DeviceError, match="no such GPU"):
            mx.util.get_gpu_memory(2)
        with pytest.raises(DeviceError, match="CUDA"):
            mx.util.get_cuda_compute_capability(mx.gpu(0))
    with pytest.raises(ParameterError, match="Expecting a gpu context"):
        mx.util.get_cuda_compute_capability(mx.cpu())


def test_there_is_no_c_library():
    with pytest.raises(MXNetError, match="no C library"):
        mx.base._LIB.MXNDArrayCreate()
    with pytest.raises(MXNetError, match="no C library"):
        mx.libinfo.find_lib_path()
    with pytest.raises(MXNetError, match="status -1"):
        mx.base.check_call(-1)
    mx.base.check_call(0)
    assert mx.base.NDArrayHandle().value is None
    with pytest.raises(DTypeError, match="char pointer"):
        mx.base.ctypes2buffer(3, 3)


def test_environment_variables_are_those_of_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MXNET_OWN", raising=False)
    mx.util.setenv("MXNET_OWN", "1")
    assert (mx.util.getenv("MXNET_OWN"), os.environ["MXNET_OWN"]) == ("1", "1")
    mx.util.setenv("MXNET_OWN", None)
    assert "MXNET_OWN" not in os.environ


def test_error_output_of_c_is_discarded(capfd: pytest.CaptureFixture[str]):
    with mx.test_utils.discard_stderr():
        os.write(2, b"lost")
    os.write(2, b"kept")
    assert capfd.readouterr().err == "kept"


def test_positions_of_several_axes_are_numpys():
    flat = np.array([[22, 41], [3, 37]])
    rows = mx.nd.unravel_index(mx.nd.array(flat), shape=(7, 6))
    assert np.array_equal(rows.asnumpy(), np.stack(np.unravel_index(flat, (7, 6))))
    assert np.array_equal(mx.nd.ravel_multi_index(rows, shape=(7, 6)).asnumpy(), flat)


def test_running_sums_count_axes_from_the_end():
    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(mx.nd.cumsum(mx.nd.array(x), axis=-1).asnumpy(), np.cumsum(x, -1))


def test_symbols_are_returned_for_mxnets_backends():
    s = mx.sym.Variable("a") * 2
    assert s.optimize_for("MKLDNN", shape_dict={"a": (2,)}).list_outputs() == s.list_outputs()
    assert s.get_backend_symbol("MKLDNN").list_outputs() == s.list_outputs()
    with pytest.warns(UserWarning, match="unknown backend"):
        s.optimize_for("nothing")
    with pytest.raises(ParameterError, match="unknown backend"):
        s.get_backend_symbol("nothing")
    assert s.as_np_ndarray().list_outputs() == s.list_outputs()


def test_a_star_import_gives_no_names_that_a_module_has_imported_itself():
    """`compat.private_names`, a source of ``mxnet.gluon.block``, lists no names: an empty list must not count as none."""
    code = (
        "import twofold.compat.mxnet_alias as a; a.install()\nfrom mxnet.gluon.block import *\nprint('Callable' in dir(), 'Block' in dir())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert found.stdout == "False True\n", found.stderr


def test_names_of_all_modules_are_found_under_the_alias():
    code = (
        "import twofold.compat.mxnet_alias as a; a.install()\n"
        "from mxnet.ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID, NDArrayHandle, check_call, py_slice, DLContext\n"
        "from mxnet.symbol.symbol import SymbolHandle, _DTYPE_NP_TO_MX, c_str\n"
        "from mxnet.module.executor_group import DataParallelExecutorGroup\n"
        "from mxnet.kvstore.kvstore_server import KVStoreServer\n"
        "from mxnet.test_utils import mx, _STORAGE_TYPE_STR_TO_ID\n"
        "import mxnet; assert mx is mxnet; assert not hasattr(mxnet.gluon, 'ctypes'); print('found')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert found.stdout == "found\n", found.stderr


def test_the_names_of_all_operators_are_listed():
    """As by MXNet: aliases, operators of `mx.np` and ``Custom`` among them, but not what the program registers for ``Custom``."""

    @mx.operator.register("listed_nowhere")
    class Listed(mx.operator.CustomOpProp):
        pass

    names = mx.operator.get_all_registered_operators()
    assert names == sorted(names)
    assert {"FullyConnected", "Convolution", "sin", "_plus_scalar", "_Plus", "Softmax", "_npi_add", "Custom"} <= set(names)
    assert not {"listed_nowhere", "no_such_operator"} & set(names)

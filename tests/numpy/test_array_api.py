"""``twofold.np`` as an array API namespace: what it says of itself, and libraries that compute with a foreign namespace."""

import os
import subprocess
import sys

import array_api_compat
import numpy
import pytest

import twofold as mx
from twofold.errors import MXNetError

np = mx.np


def test_devices_are_its_own():
    info = np.__array_namespace_info__()
    assert info.devices()[0] == mx.cpu()
    assert np.ones(3).device == info.default_device() == mx.current_context()
    assert len(info.devices()) == 1 + mx.context.num_gpus()
    with mx.cpu(1):
        assert info.default_device() == mx.cpu(1)
    for device in info.devices()[:1]:
        assert np.zeros(2, device=device).device == device
        assert info.dtypes(device=device)["float32"] == numpy.float32
    with pytest.raises(MXNetError, match="no such device"):
        info.dtypes(device="tpu")


def test_the_rest_is_numpys():
    info, numpys = np.__array_namespace_info__(), numpy.__array_namespace_info__()
    assert info.capabilities() == numpys.capabilities()
    assert info.default_dtypes(device=None) == numpys.default_dtypes()
    for kind in (None, "bool", "real floating", ("integral", "complex floating")):
        assert info.dtypes(kind=kind) == numpys.dtypes(kind=kind)
    with pytest.raises(ValueError, match="unsupported kind"):
        info.dtypes(kind="text")


def test_array_api_compat_knows_arrays_and_devices():
    x = np.ones((2, 3))
    assert array_api_compat.array_namespace(x) is np
    assert array_api_compat.is_array_api_obj(x)
    assert not array_api_compat.is_numpy_array(x)
    assert array_api_compat.device(x) == mx.current_context()
    assert array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, mx.cpu()) is not None


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_sorting_downwards(dtype):
    values = numpy.random.default_rng(0).integers(0, 5, (20, 30)).astype(dtype)
    x, upwards = np.array(values), values.astype("int64")
    for axis in (0, 1, -1):
        expected = numpy.argsort(-upwards, axis, kind="stable")
        numpy.testing.assert_array_equal(np.argsort(x, axis, descending=True).asnumpy(), expected)
        numpy.testing.assert_array_equal(np.sort(x, axis, descending=True).asnumpy(), numpy.flip(numpy.sort(values, axis), axis))
    numpy.testing.assert_array_equal(np.sort(x, None, descending=True).asnumpy(), numpy.sort(values, None)[::-1])


ESTIMATORS = """
import numpy, sklearn
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, model_selection, naive_bayes, preprocessing
from twofold import np
rng = numpy.random.default_rng(0)
X = rng.standard_normal((200, 6)).astype("float32")
y = (X[:, 0] + X[:, 1] > 0).astype("int64")
calls = {
    "PCA": lambda X, y: decomposition.PCA(3, svd_solver="full").fit(X).explained_variance_,
    "Ridge": lambda X, y: linear_model.Ridge(solver="svd").fit(X, X[:, 0] * 2 + 1).predict(X),
    "LDA": lambda X, y: discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y).predict(X),
    "GaussianMixture": lambda X, y: mixture.GaussianMixture(2, random_state=0, init_params="random").fit(X).predict(X),
    "StandardScaler": lambda X, y: preprocessing.StandardScaler().fit_transform(X),
    "MinMaxScaler": lambda X, y: preprocessing.MinMaxScaler().fit_transform(X),
    "Normalizer": lambda X, y: preprocessing.Normalizer().fit_transform(X),
    "PolynomialFeatures": lambda X, y: preprocessing.PolynomialFeatures(2).fit_transform(X),
    "train_test_split": lambda X, y: model_selection.train_test_split(X, y, random_state=0)[0],
    "accuracy": lambda X, y: metrics.accuracy_score(y, y),
    "r2": lambda X, y: metrics.r2_score(X[:, 0], X[:, 1]),
    "distances": lambda X, y: metrics.pairwise.euclidean_distances(X[:20]),
}
with sklearn.config_context(array_api_dispatch=True):
    for name, call in calls.items():
        expected, found = call(X, y), call(np.asarray(X), np.asarray(y))
        assert isinstance(expected, float) or type(found).__module__.startswith("twofold"), (name, type(found))
        numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=2e-4, atol=2e-4, err_msg=name)
print(len(calls))
"""


def test_scikit_learn_computes_with_its_arrays():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    command = [sys.executable, "-W", "ignore", "-c", ESTIMATORS]
    done = subprocess.run(command, env=os.environ | {"SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "12\n"

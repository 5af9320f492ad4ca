"""Everyday uses of libraries that compute with the arrays they get, whatever library these are of: SciPy, scikit-learn, xarray and others.

``python -m tests.numpy.namespace_uses scipy [--gpu]`` prints what differs between NumPy's arrays and those of ``twofold.np``, by use.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy

rng = numpy.random.default_rng(0)
#: Operands by name: a matrix, a vector, probabilities, features, labels.
OPERANDS = {
    "A": rng.standard_normal((40, 5)),
    "v": rng.standard_normal(64),
    "p": rng.random(50),
    "X": rng.standard_normal((100, 6)).astype("float32"),
    "y": numpy.arange(100) * 7 % 3,
}

#: By the module that a library is imported as: expressions of ``m``, that module, ``xp``, the namespace of the operands, and the operands.
USES: dict[str, tuple[str, ...]] = {
    "scipy.special": ("m.expit(A)", "m.logsumexp(A, axis=1)", "m.softmax(A, axis=0)", "m.gammaln(p)", "m.betainc(2.0, 3.0, p)"),
    "scipy.fft": ("m.fft(v)", "m.irfft(m.rfft(v))", "m.fftshift(v)", "m.dct(v)", "m.fftfreq(8, xp=xp)"),
    "scipy.stats": (
        "m.zscore(A)", "m.skew(A)", "m.entropy(p)", "m.ttest_1samp(v, 0.0).pvalue", "m.ttest_ind(v[:30], v[30:]).statistic",
        "m.pearsonr(v[:32], v[32:]).statistic", "m.normaltest(v).pvalue", "m.rankdata(v)", "m.quantile(v, 0.3)", "m.lmoment(v)",
        "m.variation(p)", "m.tmean(v, (-1, 1))", "m.f_oneway(v[:30], v[30:]).pvalue", "m.describe(v).variance", "m.gmean(p)",
    ),
    "scipy.signal": ("m.detrend(v)", "m.convolve(v, v[:5])", "m.medfilt(v, 5)", "m.lfilter(v[:2], v[:2], v)", "m.windows.hann(8, xp=xp)"),
    "scipy.ndimage": ("m.gaussian_filter(A, 1.0)", "m.median_filter(A, 3)", "m.label(A > 0)[0]"),
    "scipy.integrate": ("m.trapezoid(v)", "m.cumulative_simpson(v)", "m.tanhsinh(lambda x: x**2, p * 0, p).integral"),
    "scipy.spatial.transform": ("m.Rotation.from_rotvec(A[:, :3]).as_matrix()",),
    "scipy.interpolate": ("m.CubicSpline(xp.arange(64.0), v)(p + 3)",),
    "scipy.cluster.vq": ("m.whiten(A)", "m.vq(A, A[:3])[0]"),
    "sklearn.decomposition": ("m.PCA(3, svd_solver='full').fit(X).explained_variance_",),
    "sklearn.discriminant_analysis": ("m.LinearDiscriminantAnalysis().fit(X, y).predict(X)",),
    "sklearn.linear_model": ("m.Ridge(solver='svd').fit(X, X[:, 0]).predict(X)", "m.LogisticRegression().fit(X, y).predict(X)"),
    "sklearn.mixture": ("m.GaussianMixture(2, random_state=0, init_params='random').fit(X).predict(X)",),
    "sklearn.model_selection": ("m.train_test_split(X, y, random_state=0)[0]",),
    "sklearn.naive_bayes": ("m.GaussianNB().fit(X, y).predict(X)",),
    "sklearn.preprocessing": (
        "m.StandardScaler().fit_transform(X)", "m.MinMaxScaler().fit_transform(X)", "m.Normalizer().fit_transform(X)",
        "m.PolynomialFeatures(2).fit_transform(X)", "m.LabelBinarizer().fit_transform(y)", "m.LabelEncoder().fit_transform(y)",
    ),
    "sklearn.metrics": (
        "m.accuracy_score(y, y)", "m.confusion_matrix(y, 2 - y)", "m.f1_score(y, 2 - y, average='macro')", "m.r2_score(X[:, 0], X[:, 1])",
        "m.log_loss(y > 0, p[y] * 0.9 + 0.05)", "m.mean_squared_error(X[:, 0], X[:, 1])", "m.pairwise.rbf_kernel(X[:20])",
    ),
    "array_api_extra": ("m.cov(A)", "m.pad(A, 2)", "m.nunique(y)", "m.at(v, v > 0).set(7.0, copy=True)", "m.kron(A[:2], A[:2])"),
    "einops.array_api": ("m.rearrange(A, '(h r) c -> c h r', r=4)", "m.reduce(A, '(h r) c -> h c', 'mean', r=4)"),
    "opt_einsum": ("m.contract('ij,kj,kl->il', A, A, A)",),
    "xarray": (
        "m.DataArray(A, dims=('x', 'y')).mean('x').data", "(m.DataArray(A, dims=('x', 'y')) * 2 + 1).data",
        "m.concat([m.DataArray(A, dims=('x', 'y'))] * 2, 'x').data", "m.DataArray(A, dims=('x', 'y')).T.isel(x=3).data",
        "m.DataArray(A, dims=('x', 'y')).where(lambda a: a > 0, 0.0).data", "m.Dataset({'v': (('x', 'y'), A)}).sum()['v'].data",
    ),
    "dask.array": (
        "m.from_array(A, chunks=20, asarray=False).sum().compute()", "m.from_array(A, chunks=20, asarray=False).map_blocks(abs).compute()",
    ),
}  # fmt: skip
#: Rounding differs: sums are added in another order.
TOLERANCE = 2e-4


def differs(use: str, module: Any, context: Callable[[], Any], place: Callable[[], Any]) -> str:
    """How the result of a use differs from NumPy's, or that it is no array of ours; empty if neither.

    Parameters
    ----------
    use
        The expression.
    module
        What it calls ``m``.
    context
        The setting of the library in which it is evaluated.
    place
        The device of our arrays, as a context.
    """
    from twofold import np

    def result(xp: Any) -> Any:
        names = {name: xp.asarray(a) for name, a in OPERANDS.items()}
        with context():
            return eval(use, names | {"m": module, "xp": xp})

    expected = result(numpy)
    try:
        with place():
            found = result(np)
        numpy.testing.assert_allclose(numpy.asarray(found), numpy.asarray(expected), rtol=TOLERANCE, atol=TOLERANCE)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return "" if isinstance(expected, (float, int)) or isinstance(found, np.ndarray) else f"the result is a {type(found)}"


def main(library: str, *options: str) -> None:
    """Print the uses of a library that differ, as JSON."""
    os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported
    place: Callable[[], Any] = nullcontext
    if "--gpu" in options:
        from tests.fakes import simulation

        os.environ["TWOFOLD_BACKEND_GPU"] = "cupy"
        simulation.install().devices(1)
        import twofold as mx

        place = mx.gpu
    context: Callable[[], Any] = nullcontext
    if library == "sklearn":
        import sklearn

        context = partial(sklearn.config_context, array_api_dispatch=True)
    found = {}
    for name in USES:
        if name.partition(".")[0] == library:
            module = importlib.import_module(name)
            found |= {f"{name}: {use}": said for use in USES[name] if (said := differs(use, module, context, place))}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

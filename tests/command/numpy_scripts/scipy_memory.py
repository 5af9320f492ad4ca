"""SciPy's compiled code on the memory of large arrays, and on what it gives back."""

import numpy as np

try:
    from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats
except ImportError:
    raise SystemExit(print("skipped: SciPy is not installed")) from None

N = 70_000
x = np.arange(float(N)) / N
image = (x * 2.0 + 1.0).reshape(700, 100)
print(special.erf(x * 2.0)[5], special.gamma(x + 1.0).sum(), special.softmax(x)[3], special.expit(image)[3, 4])
print(
    linalg.norm(image),
    linalg.svdvals(image)[:2],
    linalg.solve(np.eye(300) * 2.0, np.ones(300))[:2],
    linalg.expm(np.zeros((260, 260)))[3, 3],
)
print(ndimage.gaussian_filter(image, 2.0)[5, 6], ndimage.label(image > 2.0)[1], ndimage.zoom(image, 0.5).shape, ndimage.sobel(image)[4, 4])
print(signal.fftconvolve(x, np.ones(5), "same")[7], signal.lfilter([1.0], [1.0, -0.5], x)[9], signal.find_peaks(np.sin(x * 50.0))[0][:3])
print(fft.rfft(x)[3], integrate.trapezoid(x * x, x), integrate.cumulative_trapezoid(x)[-1], interpolate.interp1d(x, x * 2.0)(0.5))
print(
    stats.describe(x).variance, stats.pearsonr(x, x * x)[0], stats.ks_2samp(x, x * 0.5).statistic, stats.zscore(x)[0], stats.rankdata(x)[7]
)
s = sparse.csr_matrix(image > 2.5)
print(s.nnz, (s @ np.ones(100))[-1], (sparse.diags([x], [0]) @ x)[9], sparse.coo_matrix((x, (np.arange(N), np.arange(N)))).sum())
print(optimize.curve_fit(lambda t, a, b: a * t + b, x, x * 3.0 + 1.0)[0].round(6), spatial.cKDTree(image).query(image[5])[1])
print(spatial.distance.cdist(image[:3], image)[1, 5], optimize.minimize(lambda v: ((v - x[:3]) ** 2).sum(), np.ones(3)).x.round(4))
out = np.empty(N)
special.exp2(x, out=out)
print(out[9], linalg.blas.ddot(x, x), linalg.lapack.dgetrf(np.eye(300))[0][5, 5], linalg.cholesky(np.eye(300), overwrite_a=True)[7, 7])

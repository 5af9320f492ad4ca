"""Expressions of recorded arrays whose gradients are compared with central differences of NumPy's results. Data only.

The operands: ``x`` (2, 3, 4), ``m`` and ``n`` (3, 3), ``v`` (7,), ``w`` (4,), distinct numbers in (0.5, 1.5), ``n`` with a large diagonal;
``g`` (3, 5) with NaN, ``t`` (6,) with ties, which move together; ``z`` (2, 3), ``u`` (5,), ``q`` (3, 3) complex.
"""

import numpy

from tests.numpy.expressions import listed

STATISTICS = listed("""
    np.median(x); np.median(x, 1); np.median(x, (0, 2)); np.median(x, 2, keepdims=True); np.median(x, keepdims=True); np.median(v)
    np.median(w); np.median(t); np.percentile(x, 30); np.percentile(x, [0, 25, 60, 100], 1)
    np.percentile(x, [[10, 20], [70, 80]], (0, 1)); np.quantile(x, 0.3, 2, keepdims=True); np.quantile(v, [0.5, 1], keepdims=True)
    np.quantile(w, 0.999999999999); np.quantile(v[:1], 0.4); np.quantile(v, 0.31, weights=[1, 2, 3, 4, 5, 6, 7], method='inverted_cdf')
    np.quantile(x, 0.6, 1, weights=[1, 2, 3], method='inverted_cdf'); np.nanmedian(g); np.nanmedian(g, 0)
    np.nanmedian(g, 1, keepdims=True); np.nanpercentile(g, [20, 70], 1); np.nanquantile(g, 0.45, 0); np.nanmax(g); np.nanmin(g, 0)
    np.nanmax(g, 1, keepdims=True); np.nanmax(g, 0, initial=1.2); np.nanmin(g, 1, initial=0.8, where=[True, True, False, True, True])
    np.nancumsum(g); np.nancumsum(g, 1); np.nancumprod(g, 0); np.nancumprod(g); np.nanvar(g); np.nanvar(g, 0, ddof=0.5); np.nanstd(g, 1)
    np.nanstd(g, 1, keepdims=True); np.nanmean(g, 1); np.var(x, 1, where=x > 0.7); np.std(x, where=x > 0.6, ddof=1)
    np.var(x, 0, mean=x[:1] * 2); np.var(x, (0, 2), where=x[:1] > 0, keepdims=True); np.std(x, 2, correction=1, where=True); np.cov(m)
    np.cov(v); np.cov(v, v * v, ddof=0); np.cov(m, rowvar=False); np.cov(m, m * m, bias=True); np.cov(m, ddof=2)
    np.cov(m, fweights=[1, 2, 3]); np.cov(m, aweights=[0.5, 1, 2]); np.cov(m, aweights=w[:3], fweights=[1, 3, 2])
    np.cov(m, aweights=w[:3], ddof=0); np.corrcoef(m); np.corrcoef(v, v * v); np.corrcoef(m, rowvar=False) + m; np.trapezoid(v)
    np.trapezoid(x, axis=1); np.trapezoid(x, dx=0.5); np.trapezoid(v, np.cumsum(v)); np.trapezoid(x, w); np.trapezoid(x, x * x, axis=0)
    np.bincount([0, 2, 2, 1, 0, 5, 2], v); np.bincount([1, 1, 3, 0], weights=w, minlength=6); np.average(x, 1, keepdims=True)
    np.mean(z).imag
""")

QUANTILE_METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
STATISTICS += [f"np.quantile(x, [0.1, 0.5, 0.83], 1, method='{name}')" for name in QUANTILE_METHODS]
STATISTICS += [f"np.nanquantile(g, [0.1, 0.5, 0.83], 0, method='{name}')" for name in QUANTILE_METHODS]

SIGNALS = listed("""
    np.cross(m, m[::-1]); np.cross(m, m[0]); np.cross(m.T, m[::-1] * m, axisa=0); np.cross(m, m[::-1], axisb=0, axisc=0)
    np.cross(x, x[::-1] ** 2, axis=1); np.linalg.cross(m, m * m); np.linalg.cross(x, x[::-1], axis=1)
    np.interp(v, [0.2, 0.7, 1.1, 1.4], w); np.interp(v, np.cumsum(w) / 3, w); np.interp([0.1, 0.9, 9.0], np.cumsum(w) / 3, w)
    np.interp(v, [0.8, 1.2], [1, 3], left=5.0, right=6.0); np.interp(v, w[:1], w[1:2])
    np.interp(v * 3, [0.2, 1.7, 0.9, 1.4], w, period=2.0); np.interp(v, [0.2, 0.7, 1.1, 1.4], w, period=0.9)
    np.interp(v[2], [0.2, 1.6], w[:2]); np.gradient(v); np.gradient(v, 0.5); np.gradient(v, np.cumsum(v)); np.gradient(v, edge_order=2)
    np.gradient(v, np.cumsum(v), edge_order=2); np.gradient(x, axis=1); np.gradient(x)[2]; np.gradient(x, 2.0, 3.0, [0, 1, 3, 4])[2]
    np.gradient(x, axis=(0, 2))[1]; np.gradient(x, w[0], axis=2); np.unwrap(v * 9); np.unwrap(x * 9, axis=1); np.unwrap(v * 9, period=3.0)
    np.unwrap(v * 9, 4.0); np.ediff1d(m); np.ediff1d(v, [1.0, 2.0], w[0]); np.sinc(v); np.sinc(v - v); np.sinc((v - 1) * 1e-6)
    np.sinc(v * 0.159); np.sinc(x * 3); np.i0(v); np.i0((v - 1) * 1e-3); np.i0(v * 30); np.i0(x); np.linspace(w[0], w[1], 4)
    np.linspace(w[0], 2, 3, endpoint=False); np.linspace(m[0], m[1], 5, axis=1); np.linspace(w[0], w[1], 1); np.linspace(w[0], w[1], 0)
    np.linspace(w[0], w[1], 4, retstep=True)[1]; np.logspace(w[0], w[1], 4); np.logspace(w[0], 1, 4, base=2.0)
    np.geomspace(w[0], w[1], 4); np.geomspace(m[0], m[1], 3, endpoint=False); np.modf(v * 3)[0]; np.modf(-v * 3)[0]; np.frexp(v * 9)[0]
    np.ldexp(v, [1, 2, 3, -1, 0, 1, 2]); np.fix(v * 3) * v; np.matvec(x, w); np.matvec(m, v[:3]); np.vecmat(v[:3], x); np.vecmat(m, m)
    np.angle(v) + v; np.maximum.accumulate(v); np.minimum.accumulate(x, 1); np.fmax.accumulate(x, 2); np.logaddexp.accumulate(v)
    np.logaddexp.reduce(v); np.logaddexp2.reduce(x, 1); np.hypot.reduce(x, (0, 2)); np.subtract.reduce(v)
    np.divide.reduce(x, 1, keepdims=True); np.subtract.accumulate(v); np.divide.accumulate(x, 1); np.fmin.reduce(x, None)
    np.add.reduceat(v, [0, 3, 1, 6]); np.multiply.reduceat(x, [0, 2, 1], 1); np.maximum.reduceat(v, [0, 2, 5])
    np.logaddexp.reduceat(x, [1, 0], 2); np.subtract.reduce(v, initial=2.0)
""") + [
    f"np.{name}({a}, {b}, '{mode}')"
    for name in ("convolve", "correlate")
    for mode in ("full", "same", "valid")
    for a, b in (
        ("v", "w"),
        ("w", "v"),
        ("v", "w[:3]"),
        ("w[:3]", "v"),
        ("w", "w[::-1]"),
        ("v[:6]", "w[:1]"),
        ("w[:2]", "v[:5]"),
        ("[1, 2.0]", "v"),
    )
]

MOVES = listed("""
    np.select([v > 1.2, v > 0.8], [v * 2, v * v], 0.5); np.select([x > 1, m[0, 0] > 0], [x, w])
    np.select([np.array([True, False])], [x[0, :2, :2]], w[0]); np.choose([0, 1, 0], [m[0], m[1]])
    np.choose([[0, 1], [2, 0]], [w[0], w[1], w[:2]]); np.choose([0, 5, -1], m, mode='wrap'); np.choose([0, 5, -1], m, mode='clip')
    np.array([0, 1, 0]).choose([m[0], m[1]]); np.piecewise(v, [v < 0.8, v > 1.2], [lambda s: s * s, lambda s: s ** 3, lambda s: -s])
    np.piecewise(v, [v < 1], [2.0, lambda s: 1 / s]); np.piecewise(x, [x < 0.8, x < 1], [lambda s, k: s * k, 1.0], 3.0)
    np.piecewise(w[0], [w[0] > 0], [lambda s: s * s]); np.insert(v, 2, w[0]); np.insert(v, [0, 3], w[:2]); np.insert(m, 1, v[:3], 0)
    np.insert(m, [0, 3], 5.0, 1); np.insert(x, slice(0, 2), v[0], 2); np.insert(m, 2, w[0]); np.block([[m, m * m], [v[:6]]])
    np.block([w, 1.0, v]); np.block([[[x]], [[x * x]]]); np.partition(v, 3); np.partition(x, 1, 1); np.partition(m, [0, 2], None)
    np.partition(x, -1, 2); np.unique(t); np.unique(v); np.unique(m[[0, 1, 0]], axis=0); np.unique(t, return_counts=True)[0]
    np.unique(t, True, True)[0]; np.unique_values(v); np.union1d(v, w); np.intersect1d(v, v[::-1][:3]); np.setdiff1d(v, v[2:4])
    np.setdiff1d(v, [1.0]); np.setxor1d(v, w); np.trim_zeros(np.concatenate([[0, 0], v, [0.0]]))
    np.trim_zeros(np.concatenate([[0, 0], v, [0.0]]), 'b'); np.apply_along_axis(np.sort, 1, x)
    np.apply_along_axis(lambda s: s[0] * s, 2, x); np.apply_along_axis(np.sum, 0, m); np.apply_along_axis(lambda s: np.outer(s, s), 1, m)
    np.apply_over_axes(np.sum, x, [0, 2]); np.apply_over_axes(np.max, x, 1); np.r_[v, 1.0, w]; np.r_[w[0], 2:4, v]; np.c_[v, v * v]
    np.c_[m, m[0]]; np.r_['-1', m, m]; np.asfortranarray(m); np.require(v); np.asarray_chkfinite(v); np.vander(w)
    np.vander(w, 3, increasing=True); np.vander(w, 1) * w[0]; np.vander(w - w[0], 3); np.polyfit(v, v ** 3, 2)
    np.polyfit(np.cumsum(v), v, 1); np.polyfit(v, np.stack([v ** 2, np.cos(v)], 1), 2); np.polyfit(v, np.sin(v), 1, w=v); np.poly(w)
    np.poly(v[:1]); np.sort(np.roots(np.poly(w))); np.roots([w[0], w[1] * 9, 0, 0]); np.polyadd(v, w); np.polyadd(w, v); np.polysub(w, v)
    np.polymul(v, w); np.polymul([0, 0, w[0]], v); np.polyder(v); np.polyder(v, 2); np.polyint(v); np.polyint(w, 2, [1, 2])
    np.polyval(w, v); np.polynomial.polynomial.polyval(v, w); np.polynomial.chebyshev.chebval(v, w); np.polynomial.chebyshev.chebmul(v, w)
    np.polynomial.legendre.legval(w, [1.0, 2.0, 3.0]); np.polynomial.hermite.hermadd(v, w)
    np.polynomial.polynomial.polyval2d(v[:3], v[:3], m); np.polynomial.polynomial.polyder(v); np.polynomial.chebyshev.chebint(v)
    np.polynomial.polynomial.polyvander(v, 3); np.polynomial.polynomial.polydiv(v, w)[0]; np.polydiv(v, w)[0]; np.polydiv(v, w)[1]
    np.polydiv(w, v)[1]; np.polydiv(v, w[:1])[0]; np.kaiser(5, w[0] * 9); np.kaiser(1, w[0]) * w[1]
    np.histogram([1, 2, 3, 9.0], 3, weights=w)[0]; np.histogram([1, 2, 3, 9.0], [0, 1, 3, 4], weights=w, density=True)[0]
    np.histogram([1, 2, 3, 9.0], 4, (1, 5), weights=w)[0]; np.unique_all(t)[0]; np.unique_counts(t)[0]; np.unique_inverse(t)[0]
    np.searchsorted(v, 1.0) + v; np.digitize(v, [0.7, 1.0]) * v; np.array_split(v, 3)[1]; np.lib.stride_tricks.sliding_window_view(v, 3)
""") + [
    f"np.pad({a}, {width}, '{mode}'{more})"
    for mode, more in (
        ("constant", ", constant_values=2.0"), ("constant", ", constant_values=((1, 2),)"), ("linear_ramp", ""),
        ("linear_ramp", ", end_values=3.0"), ("maximum", ""), ("maximum", ", stat_length=2"), ("minimum", ""),
        ("mean", ""), ("mean", ", stat_length=3"), ("median", ""),
        ("median", ", stat_length=2"), ("edge", ""), ("reflect", ""), ("symmetric", ""), ("wrap", ""),
    )
    for a, width in (("v", "2"), ("m", "((1, 2), (0, 1))"), ("x", "1"))
]  # fmt: skip
MOVES += ["np.pad(v, 2, constant_values=w[0])", "np.pad(m, {0: (1, 0)}, constant_values=1.0)"]

TRANSFORMS = [
    f"{part}(np.fft.{name})"
    for name in listed("""
        fft(v); fft(u); fft(v, 4); fft(v, 10); fft(x, axis=1); fft(z, norm='ortho'); fft(z, norm='forward'); ifft(u); ifft(z, 5, 0)
        ifft(u, norm='forward'); rfft(v); rfft(w); rfft(v[:1]); rfft(x, 5, 1, 'ortho'); rfft(w, 3); rfft(w, norm='forward'); ihfft(v)
        ihfft(w, 6, norm='forward'); fft2(x); fft2(q, (4, 2)); ifft2(q, norm='ortho'); fftn(x); fftn(x, axes=(0, 2)); fftn(q, (2, 4))
        ifftn(z); ifftn(x, (3, 3), (1, 2)); rfft2(m); rfft2(x, (2, 5), norm='forward'); rfftn(x); rfftn(x, axes=(2, 0))
        rfftn(x, (3, 4), (0, 1)); fftshift(z); ifftshift(z, 1)
    """)
    for part in ("np.real", "np.imag", "np.abs")
] + listed("""
    np.fft.fftshift(v); np.fft.ifftshift(x, (0, 2)); np.fft.irfft(u); np.fft.irfft(u, 9); np.fft.irfft(u, 5); np.fft.irfft(u, 4)
    np.fft.irfft(z, axis=0, norm='ortho'); np.fft.irfft(u, norm='forward'); np.fft.irfft(u, 1); np.fft.irfft(v); np.fft.hfft(u)
    np.fft.hfft(u, 7, norm='ortho'); np.fft.irfft2(z); np.fft.irfft2(q, (3, 5), norm='forward'); np.fft.irfftn(q)
    np.fft.irfftn(q, (4, 3), (1, 0)); np.fft.irfftn(z, axes=(0, 1)); np.abs(np.fft.rfft(v)) ** 2
    np.fft.irfft(np.fft.rfft(v) * np.exp(-0.3j * np.arange(4)), 7); np.fft.irfft(np.fft.rfft(v, 10) * np.fft.rfft(w, 10), 10)
    np.fft.ifft(np.fft.fft(v) * np.fft.fft(v)).real; np.fft.ifft2(np.fft.fft2(m) * q).imag; np.log(np.abs(np.fft.fft(v)) + 1)
    np.angle(np.fft.rfft(v)[1:3])
""")

COMPLEX = listed("""
    np.abs(z); abs(z) ** 3; np.real(z); z.real; z.imag; np.imag(z * z); np.abs(1j * v); np.abs(v + 2j) * v; (z * z).real
    (z * z.conj()).real; np.abs(z * v[:3]); np.abs(z + m[:2]); np.abs(z - 1j * m[:2]); (z / (1 + z)).imag; (v[:3] / z).real; (z ** 2).imag
    (z ** 3).real; (z ** -1.5).imag; (z ** z).real; (2 ** z).imag; (v[:3] ** z).real; np.power(z, v[:3]).imag; np.exp(z).real
    np.exp(1j * v).imag; np.log(z).real; np.log(z).imag; np.angle(z); np.angle(z * z, deg=True); np.sqrt(z).imag; np.square(z).real
    np.sin(z).imag; np.cos(z).real; np.tan(z).imag; np.sinh(z).real; np.cosh(z).imag; np.tanh(z).real; np.arcsin(z).imag
    np.arccos(z).real; np.arctan(z).imag; np.arcsinh(z).real; np.arccosh(z).real; np.arctanh(z).imag; np.expm1(z).imag; np.log1p(z).real
    np.log2(z).imag; np.log10(z).real; np.conj(z).imag; np.conjugate(z * 1j).real; (-z).real; (+z).imag; np.positive(z).imag
    np.reciprocal(z).imag; np.where(m[:2] > 1, z, 1j).imag; np.where(m[:2] > 1, m[:2], z).real; z.sum().real; np.abs(z.sum(0))
    np.abs(z.mean()); np.abs(np.mean(z, 1, keepdims=True)); np.var(z); np.std(z, 0); np.abs(np.prod(z, 1)); np.abs(np.cumsum(z, 1))
    np.cumprod(z).imag; np.abs(z @ q); (m @ q).imag; (q @ m).real; np.abs(q @ v[:3]); np.dot(z, q).imag; np.abs(np.vdot(z, z * 1j))
    np.vdot(z, q[:2]).imag; np.inner(z, q).real; np.outer(z, u).imag; np.einsum('ij,kj->ik', z, q).imag; np.abs(np.tensordot(z, q, 1))
    np.kron(z, q).real; np.vecdot(z, q[:2]).imag; z.T.imag; z.reshape(-1)[::2].imag; z[1].imag; z[0, 1].imag; z[:, [0, 2, 0]].imag
    z[np.abs(z) > 0.9].imag; np.concatenate([z, m[:2]]).imag; np.stack([z, z * z]).imag; np.roll(z, 1, 1).imag; np.tile(z, 2).imag
    np.repeat(z, 2, 0).imag; np.pad(z, 1).imag; np.broadcast_to(z[0], (2, 3)).imag; np.take(z, [1, 0, 1], 1).imag; np.diag(q).imag
    np.diag(z[0]).imag; np.trace(q).imag; np.tril(q).imag; np.flip(z, 1).imag; np.diff(z).imag; np.abs(v[:2].astype(complex) * z[0, 0])
    z.real + z.imag * 1; np.array([v[0], z[0, 0]]).imag; np.array([[v[0], 1j], [z[0, 0], v[1]]]).imag; np.convolve(u, z[0]).imag
    np.convolve(v, z[0], 'same').real; np.correlate(u, z[0]).imag; np.correlate(z[0], u, 'full').real; np.cross(q, q[::-1] * 1j).imag
    np.linalg.norm(z); np.linalg.norm(z, axis=1); np.linalg.norm(u, 1); np.linalg.norm(u, 3); np.linalg.norm(u, np.inf); np.cov(q).imag
    np.cov(q, aweights=w[:3]).real; np.emath.sqrt(v - 1).imag; np.emath.log(v - 1).real; np.emath.arccos(v).imag; np.emath.sqrt(v)
    np.emath.log2(v - 1).imag; np.emath.logn(3, v); np.emath.logn(v + 1, v - 1).imag; np.emath.power(v - 1, 1.5).real
    np.emath.power(v, v); np.emath.power(v - 1, 3).real; np.float_power(z, 1.5).imag; np.vecmat(u[:3], q).imag; np.polyval(u, z).imag
    np.polymul(u, z[0]).imag; np.insert(u, 1, z[0, 0]).imag; np.select([m[0] > 1], [z[0]], 1j).imag; np.linspace(z[0, 0], z[0, 1], 4).imag
    np.sort_complex(v).real; np.sort_complex(z).imag; np.sort(z, 0).imag; np.real_if_close(z).imag; np.linalg.inv(q + 2 * np.eye(3)).imag
    np.linalg.det(q).imag; np.abs(np.linalg.det(q)); np.linalg.solve(q + 2 * np.eye(3), m).imag; np.linalg.solve(n, q).real
    np.linalg.solve(q + 2 * np.eye(3), z[0]).imag; np.linalg.matrix_power(q, -2).real; np.real_if_close(z * z.conj())
    np.add.reduce(z).imag; np.multiply.accumulate(u).imag; np.subtract.reduce(u).imag; np.abs(np.mean(z, where=m[:2] > 0.9))
    np.interp(v, [0.6, 1.0, 1.3], z[0]).imag; np.sum(z, where=m[:2] > 1).imag; np.linalg.matrix_power(q, 2).imag; np.nan_to_num(v) + v
""")

#: Functions with an operator, under their other names too.
OTHERS = listed("""
    np.absolute(x - 1); np.acos(v - 0.7); np.acosh(v + 1); np.asin(v - 0.7); np.asinh(v); np.atan(v); np.atanh(v - 0.7); np.atan2(v, 2.0)
    np.amax(x, 1); np.amin(x); np.around(v) * v; np.asarray(v); np.asanyarray(v); np.atleast_1d(w[0]); np.atleast_2d(w)
    np.column_stack([w, w]); np.concat([v, w]); np.copysign(v, -w[0]); np.cumulative_prod(v); np.cumulative_sum(v, include_initial=True)
    np.diagflat(m); np.divmod(v, 0.3)[1]; np.dsplit(x, 2)[1]; np.expand_dims(v, 0); np.fabs(v - 1); np.fliplr(m); np.flipud(m)
    np.fmod(v, 0.3); np.full(3, w[0]); np.full_like(m, w[:3]); np.heaviside([0.0, 1.0, -1.0], v[:3]); np.hsplit(x, 3)[1]
    np.matmul(m, v[:3]); np.matrix_transpose(m); np.mod(v, 0.3); np.nanprod(g, 1); np.negative(v)
    np.permute_dims(x, (2, 0, 1)); np.pow(v, 2.5); np.rad2deg(v); np.radians(v); np.ravel(x); np.remainder(v, 0.3); np.rollaxis(x, 2)
    np.vstack([w, w]); np.swapaxes(x, 0, 2); np.transpose(x); np.true_divide(v, 2); np.unstack(x)[1]; np.vsplit(x, 2)[1]; np.floor(v) * v
    np.ceil(v) * v; np.trunc(v) * v; np.rint(v) * v; np.sign(v) * v; np.floor_divide(v, 0.3) * v; np.linalg.diagonal(x)
    np.linalg.matmul(m, m); np.linalg.matrix_transpose(m); np.linalg.outer(v, w); np.linalg.tensordot(m, m, axes=1)
    np.linalg.vecdot(m, m)
""")
if "row_stack" in dir(numpy):  # up to 2.4
    OTHERS.append("np.row_stack([w, w])")

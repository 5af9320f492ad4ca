"""Expressions with equal values, dtypes and shapes in ``twofold.np`` and NumPy. Data only; `variables` creates their operands."""

import numpy

KINDS = {"f": "float32", "d": "float64", "i": "int64", "h": "int32", "u": "uint8", "b": "bool", "e": "float16"}


def variables(np):
    """The operands: a matrix, a vector and a scalar of each kind, and some of other shapes."""
    draw = numpy.random.default_rng(5)
    out = {}
    for letter, dtype in KINDS.items():
        values = draw.uniform(0.5, 4, (2, 3)) if dtype.startswith("float") else draw.integers(0, 2 if dtype == "bool" else 7, (2, 3))
        out[letter] = np.array(values.astype(dtype))
        out[letter + "1"] = np.array(values.astype(dtype)[0])
        out[letter + "0"] = np.array(values.astype(dtype)[1, 2])
    out["cube"] = np.array(draw.permutation(24).reshape(2, 3, 4).astype("float64"))
    out["square"] = np.array(draw.uniform(-1, 1, (3, 3)))
    out["gaps"] = np.array([[1.0, numpy.nan, 3.0], [numpy.inf, -2.0, numpy.nan]])
    out["none"] = np.array(numpy.zeros((0, 3)))
    out["places"] = np.array([[0, -1], [1, 0]])
    out["mask"] = np.array([[True, False, True], [False, False, True]])
    return out


def listed(text):
    """The expressions in a string, separated by semicolons and newlines."""
    return [part.strip() for line in text.splitlines() for part in line.split(";") if part.strip()]


def _both(*texts):
    return [t.replace("OP", op) for t in texts for op in ("+", "-", "*", "/", "//", "%", "**")]


ARITHMETIC = [
    *_both("f OP f", "d OP f", "f OP i1", "i OP h", "(i + 1) OP (h + 1)", "f OP 2", "2 OP f", "f OP 1.5", "(i + 1) OP 2.5", "(u + 1) OP 2"),
    *_both(
        "f0 OP f", "f0 OP 2", "(b + 1) OP 2", "e OP e", "f OP d0", "f OP [1, 2, 3]", "[1, 2, 3] OP d1", "cube OP cube[0, 0]", "none OP 1.0"
    ),
    *[f"({a} {op} {b})" for op in ("&", "|", "^") for a, b in (("b", "mask"), ("i", "h"), ("i", 3), ("u", 1))],
    *[f"{a} {op} {b}" for op in ("<", "<=", ">", ">=", "==", "!=") for a, b in (("f", "d"), ("f", 2), ("u", 300), ("u", -1), ("i1", "i"))],
    *listed("""
        i << 2; i >> 1; -f; +f; abs(-f); ~i; ~b; divmod(i + 1, 2)[1]; f @ f.T; f1 @ f1; cube @ cube[0].T; f == None; f * True; i + True
        i1 == 'a'; i1 != 'a'; f0 == 'a'
        b + b; b * 2; f * 2j; d * 1j; round(f0 * 1.0, 1); f.T + f.T; f[:, ::-1] * f[:, ::2][:, :1]; 1 / (f + 1); -f ** 2; f @ square
        i @ i.T; f + numpy.float64(1); f + numpy.float32(1); i + numpy.int8(1); numpy.ones(3) * f; numpy.float64(2) * f
        u / 300; u / -1; 300 / (u + 1); u.astype('i1') / 300; h / 2**40; i / 2**70; b / 2**64; u + 2**40; u // 300; u < 2**70; -(2**70) < i
        i != 2**63; b + 2**63; u ** -1; b ** -1; numpy.int64(2) ** i; f > numpy.float64(2); f1 // f1[1]; f % -2; i // -2; -i // 2; i % -3
    """),
    *[f"b ** {power}" for power in ("2", "True", "numpy.int64(2)", "b", "np.array(2)", "0")],
    "b0 ** 2",
    "np.power(b, 2)",
    "(b * b) ** 2",
]
_UNARY = (
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad degrees exp exp2 expm1 fabs floor isfinite "
    "isinf isnan log log10 log1p log2 logical_not negative positive rad2deg radians reciprocal rint sign signbit sin sinh sqrt square "
    "tan tanh trunc"
)
_BINARY = (
    "add arctan2 bitwise_and copysign divide equal float_power floor_divide fmax fmin fmod greater heaviside hypot lcm ldexp "
    "left_shift less logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal power "
    "remainder subtract true_divide"
)
_TO_FLOAT = ("hypot", "arctan2", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside", "float_power")
#: Integers outside an array's dtype, and mixed integer dtypes.
_BEYOND = (("u", 300), ("u", -1), ("u.astype('i1')", 300), ("h", "2**40"), ("i", "2**70"), ("b", "2**64"))
_MIXED = (("u", "u.astype('i1')"), ("u", "h"), ("u", "h.astype('i2')"), ("h", "h.astype('u4')"), ("b", "u"), ("u", "e"), ("i", "e"))
UFUNCS = [
    *[f"np.{name}({x})" for name in _UNARY.split() for x in ("f / 5", "d + 1", "f0", "i + 1", "e", "b", "u")],
    *[
        f"np.{name}({a}, {b})"
        for name in _BINARY.split()
        for a, b in (("f", "d1"), ("f", 2), ("3.0", "f"), ("i + 1", "i1 + 1"), ("h", 2), ("2", "3"), ("b", "mask"), ("u + 1", "u1 + 1"))
    ],
    *[f"np.{name}({x}, {number})" for name in _TO_FLOAT for x, number in (*_BEYOND, ("b", True))],
    *[f"np.{name}({x}, {number})" for name in ("logical_and", "fmax") for x, number in _BEYOND],
    *[f"np.{name}({x}, {y})" for name in ("hypot", "arctan2", "logaddexp", "divide", "fmax") for x, y in _MIXED],
    *[f"np.{name}(gaps)" for name in ("isnan", "isfinite", "isinf", "sign", "abs", "floor", "exp", "maximum.reduce", "nansum")],
    *listed("""
        np.fmax(gaps, 0.0); np.maximum(gaps, 0.0); np.add(f, f, dtype='float64')
        np.multiply(f, 2, where=mask, out=np.zeros((2, 3), 'f')); np.add.reduce(f); np.add.reduce(f, axis=None)
        np.multiply.reduce(cube, axis=(0, 2)); np.add.accumulate(f, 1); np.add.outer(f1, i1); np.multiply.outer(f, f1)
        np.maximum.accumulate(f, 1); np.logical_and.reduce(b, 1); np.hypot.reduce(f, 1); np.minimum.reduce(cube)
        np.add.reduceat(d1, [0, 1]); np.sqrt(f, out=np.zeros((2, 3), 'd')); np.divmod(d, 2)[0]; np.modf(d)[0]; np.frexp(d)[1]
        np.gcd(i, 6); np.exp(1); np.sqrt(2.0); np.add(1, 2); np.maximum([1, 5], [2, 3]); np.log(numpy.ones(3)); np.add(f, f, f * 0)
        np.conjugate(d * 1j); np.arctan2(300, u); np.hypot(u, 5001, dtype='f'); np.add(u, 300, dtype='i4'); np.add(u, 300, dtype='u1')
        np.float_power(f * 1j, 2); np.float_power(f, 2j); np.float_power(d * (1 + 1j), f); np.float_power(2, f * 1j)
        np.positive(b); np.add.accumulate(f0); np.maximum.accumulate(f0); np.add(f, f, out=np.zeros(5))
        np.add(f, f, where=np.zeros(5, bool))
    """),
]
_REDUCTIONS = listed("sum; prod; max; min; mean; std; var; any; all; ptp; amax; amin; count_nonzero; nansum; nanmean; nanprod")
REDUCTIONS = [
    *[f"np.{name}({x})" for name in _REDUCTIONS for x in ("f", "d", "i", "h", "u", "b * 1", "e", "cube", "f0", "f.T", "cube[:, ::-1]")],
    *[f"np.{name}(cube, axis={axis})" for name in _REDUCTIONS for axis in (0, -1, (0, 2), (-1, 0), None, (), (1,))],
    *[f"np.{name}(cube, axis=1, keepdims=True)" for name in _REDUCTIONS],
    *[
        f"np.{name}(d0{rest})"
        for name in (*_REDUCTIONS, "argmax", "argmin")
        for rest in (", axis=0", ", axis=-1", ", -1, keepdims=True", ", axis=1")
    ],
    *[
        f"cube.{name}(1)"
        for name in ("sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax", "argmin", "cumsum", "cumprod")
    ],
    *[f"np.{name}(cube{rest})" for name in ("argmax", "argmin") for rest in ("", ", 1", ", -1, keepdims=True")],
    *[
        f"np.{name}({x}{rest})"
        for name in ("cumsum", "cumprod")
        for x in ("f", "i", "b", "u")
        for rest in ("", ", 1", ", axis=0, dtype='d'")
    ],
    *[f"np.{name}(f, where=mask)" for name in ("sum", "prod", "mean", "any", "all")],
    *[f"np.{name}(i, dtype='float32')" for name in ("sum", "prod", "mean", "std", "var")],
    *listed("""
        np.sum(none); np.prod(none); np.sum(none, 0); np.any(none); np.all(none); np.max(none, axis=1); np.max(f, initial=3.0)
        np.max(f, where=mask, initial=0.0); np.min(none, 0, initial=7.0); np.sum(f, initial=10); np.var(f, ddof=1); np.std(d, 1, ddof=1)
        np.std(d, correction=1); np.sum([1, 2, 3]); np.mean([[1, 2], [3, 4]], 0); np.average(d); np.average(d, 1, [1, 2, 3])
        np.average(d, weights=f); np.average(d, 0, returned=True)[1]; np.nanmean(gaps, 1); np.nansum(gaps, 0); np.median(d)
        np.median(cube, 1); np.percentile(d, [10, 50]); np.quantile(d, 0.3, axis=1); np.cumulative_sum(d1, include_initial=True)
        np.cumulative_prod(d, axis=1); np.sum(d * 1j); np.mean(d * 1j); np.var(d * 1j); d.sum(axis=1, out=np.zeros(2)); np.nanmax(gaps)
        np.nanvar(gaps); np.argmax(f, axis=numpy.array(0)); np.argmax(f, axis=1.0); np.sum(f, axis='a')
        np.max(f0, axis=(0,)); np.ptp(f0, axis=(0,))
        np.nansum(gaps, 0, initial=2.5, where=mask); np.nanprod(gaps, 1, initial=2); np.nansum(i, initial=2, where=mask)
        np.nanmean(np.abs(gaps), 1, where=~mask); np.nanmean(i, 0, where=i > 0)
        np.cumsum(f0, 0); np.cumsum(f0, axis=-1); np.cumsum(i0, 1); np.cumprod(i0, axis=-1); f0.cumsum(0); f0.cumprod(0)
        np.cumulative_sum(f0, include_initial=True)
    """),
]
STARTS = ("3", "0", "-2", "2.5", "True", "300", "2**64", "1j", "numpy.nan", "numpy.float64(1.5)", "np.array(2)")
REDUCTIONS += [f"np.{name}({x}, 0, initial={start})" for name in ("sum", "prod", "max", "min") for x in "bufi" for start in STARTS]
REDUCTIONS += [f"np.{name}({x}, 0, initial=3, where=mask)" for name in ("sum", "prod", "max", "min") for x in "bufi"]
REDUCTIONS += [
    f"np.{name}({x}, 0, out=np.zeros(3, '{dtype}'))"
    for name in ("sum", "prod", "max", "mean", "any", "argmax", "nansum")
    for x in "bufi"
    for dtype in ("?", "u1", "i8", "f4", "f8")
]
REDUCTIONS += [f"np.cumsum({x}, 1, out=np.zeros((2, 3), '{dtype}'))" for x in "bufi" for dtype in ("?", "u1", "f8")]
REDUCTIONS += [
    f"np.{name}(np.zeros({shape}), axis={axis})" for name in ("argmax", "argmin") for shape in ("(2, 0, 3)", "(0, 0)") for axis in (0, 1)
]
REDUCTIONS += [f"np.mean({x}, 0, dtype='{dtype}')" for x in ("u * 30", "i", "f", "b") for dtype in ("i1", "u1", "i4", "?")]
REDUCTIONS += listed("""
    np.sum(np.array([6e4, 6e4], 'e'), out=np.zeros((), 'd')); np.sum(np.array([0.6, 0.6]), out=np.zeros((), 'i8'))
    np.mean(np.array([2**24, 1, 1], 'f'), out=np.zeros((), 'd')); np.sum(np.array([200, 200], 'u1'), out=np.zeros((), 'i2'))
""")
SHAPES = [
    *[f"np.rot90(cube, {k})" for k in range(-1, 5)],
    *[f"np.split({x})[{k}]" for x, k in (("f, 3, 1", 2), ("cube, [1, 2], axis=2", 2), ("f1, [5]", 1))],
    *listed("""
        f.T; cube.T; cube.transpose(1, 0, 2); cube.transpose((2, 0, 1)); np.transpose(cube, (0, -1, 1)); cube.mT
        np.matrix_transpose(cube); f.reshape(3, 2); f.reshape((3, -1)); f.reshape(-1); f.T.reshape(-1); f.reshape(3, 2, order='F')
        f.ravel('F'); cube.T.reshape(4, 6); np.reshape(f, 6); f.flatten(); f.T.flatten(); f.ravel(); np.ravel(f.T); f0.reshape(1, 1)
        none.reshape(3, 0); cube.swapaxes(0, -1); np.swapaxes(f, 0, 1); np.moveaxis(cube, 0, -1); np.moveaxis(cube, [0, 1], [-1, 0])
        np.rollaxis(cube, 2); np.rollaxis(cube, 0, 3); np.expand_dims(f, 0); np.expand_dims(f, (0, -1)); f[None].squeeze()
        np.squeeze(f[:, None], 1); np.squeeze(f0); cube[:1, :, :1].squeeze((0, -1)); np.broadcast_to(f1, (2, 3))
        np.broadcast_to(2.0, (2,)); np.broadcast_arrays(f, d1)[1]; np.atleast_1d(f0); np.atleast_2d(f1); np.atleast_3d(f)
        np.atleast_3d(f1); np.atleast_1d(1, f)[1]; np.flip(f); np.flip(cube, 1); np.flip(cube, (0, -1)); np.fliplr(f); np.flipud(f)
        np.rot90(cube, 1, (1, 2)); np.rot90(cube, 3, (2, 0)); np.array_split(cube, 3, 2)[1]; np.hsplit(f, 3)[0]; np.vsplit(f, 2)[1]
        np.dsplit(cube, 2)[1]; np.hsplit(f1, 3)[2]; np.unstack(cube, axis=1)[2]; np.concatenate([f, d]); np.concatenate([f, f], axis=1)
        np.concatenate([f, i], axis=None); np.concatenate((f, f), dtype='d'); np.concatenate(cube); np.concat([f, f], axis=-1)
        np.stack([f1, f1]); np.stack([f, d], axis=-1); np.vstack([f1, f]); np.hstack([f, f]); np.hstack([f1, 1.0]); np.dstack([f, f])
        np.dstack([f1, f1]); np.column_stack([f1, d1]); np.append(f, [[1, 2, 3]], 0); np.append(f, 1); np.tile(f, 2)
        np.tile(f, (2, 1, 2)); np.repeat(f, 2); np.repeat(f, 2, axis=1); np.repeat(f, [1, 2], axis=0); f.repeat(3, 0); np.roll(f, 1)
        np.roll(f, -2, 1); np.roll(cube, (1, 2), (0, 2)); np.roll(f, (1, 1), 1); np.pad(f, 1)
        np.pad(f, ((0, 1), (2, 0)), constant_values=3.0); np.pad(f, 2, 'edge'); np.pad(cube, 1, 'reflect'); np.pad(f1, (2, 1), 'wrap')
        np.pad(f1, 2, 'symmetric'); np.pad(f, 1, 'mean'); np.pad(f, 1, constant_values=(1, 2)); np.delete(f, 1, 1); np.delete(f, [0, 2])
        np.insert(f, 1, 5.0, axis=1); np.resize(f, (4, 2)); np.diagonal(cube); np.diagonal(square, 1); cube.diagonal(0, 1, 2)
        np.diag(f1); np.diag(square); np.diag(square, -1); np.diag(f1, 1); np.diagflat(f); np.tril(square); np.triu(square, 1)
        np.tril(cube, -1); np.tril(f1); np.tril(b); np.triu(b, 1); np.triu(u)
        np.trace(square); np.trace(cube, 1); square.trace(); np.block([[f, f], [d, d]])
        np.trim_zeros(np.array([0, 1, 0])); f.copy(); np.lib.stride_tricks.sliding_window_view(f, (2, 2)); np.ediff1d(d); f.view()
        np.rot90(f); np.shape(f); np.ndim(f); np.size(f, 1); np.size(f); len(f); f.size; f.ndim; f.nbytes; f.itemsize; f.strides
        f.T.strides; cube[:, ::2].strides; list(f1); [v.item() for v in f.flat]; f.tolist()
    """),
]
_CLOSE = ("", ", atol=1.5, rtol=0", ", rtol=0.5", ", 0.1, np.array(1.5, 'f')", ", atol=[2.0]", ", equal_nan=True")
SELECTION = [
    *[f"np.isclose({x}, {y}{rest})" for x, y in ("uh", "hu", "bi", "ue", "ef", "ff", "eb", "iu") for rest in _CLOSE],
    *[f"np.isclose({x}, {y})" for k in ("3", "2.999", "True", "-1", "300") for x, y in (("u", k), (k, "u"), ("e", k), (k, "f"), ("b", k))],
    *listed("""
        np.isclose(u, u - 1, atol=1, rtol=0); np.isclose(u.astype('i1') - 100, 100, atol=60); np.isclose(1, 1 + 1e-9)
        np.isclose(gaps, -gaps); np.isclose(numpy.inf, gaps); np.isclose([1, 2], (1, 2.1)); np.isclose(f * 1j, f)
        np.allclose(u, u + 1, atol=1); np.allclose(3, 3.0)
        np.where(mask, u, -1); np.where(mask, 300, u); np.where(mask, u, 2**64); np.where(mask, 2**63, 2); np.where(mask, h, 2**40)
        np.where(mask, f, 2**70); np.where(mask, b, 300); np.where(mask, 300, [1, 2, 3]); np.where(mask, -1, numpy.uint8(3))
        np.where(mask, u, 2.5); np.round(f * (1 + 2j), 1); np.round(d * 1j, -1); np.round(f * 1j); (d * (1 + 1j)).round(2)
        np.round(f * 1j, 1, out=f * 0j); np.round(b); np.round(b, 1); np.round(u, -1)
    """),
    *listed("""
        np.where(mask, f, d); np.where(f > 2, f, 0); np.where(mask, 1, 0); np.where(mask); np.where(mask, f1, 2.5); np.nonzero(i)
        i.nonzero(); np.flatnonzero(i); np.argwhere(i); np.take(f, [0, -1]); np.take(f, places, axis=1); np.take(f, 1, 0)
        np.take(f, [5, -9], mode='wrap'); np.take(f, [5, -9], mode='clip'); f.take([0, 1], 1)
        np.take_along_axis(f, np.argsort(f, 1), 1); np.take_along_axis(f, np.argmax(f, 0)[None], 0); np.take_along_axis(f, places, -1)
        np.compress([True, False, True], f, 1); f.compress([False, True], axis=0); np.extract(mask, f); np.clip(f, 1, 2)
        np.clip(i, 1.5, 3); np.clip(u, -1, 3)
        np.clip(u, 2, 300); np.clip(i, 2, 10**30); np.clip(f, None, 2); f.clip(1); np.clip(f, min=1.0); f.clip(max=2); np.clip(f, d1, 3)
        np.round(f, 1)
        np.around(d); np.round(i, -1); f.round(2); np.round(d, -1); np.nan_to_num(gaps)
        np.nan_to_num(gaps, nan=1.0, posinf=5.0, neginf=-5.0); np.sort(-f); np.sort(-cube, 0); np.sort(cube, None); np.argsort(-cube)
        np.argsort(-cube, axis=0); np.argsort(f, None); f.argsort(1); np.sort(gaps); np.isclose(f, f + 1e-9); np.isclose(gaps, gaps)
        np.isclose(gaps, gaps, equal_nan=True); np.allclose(f, f); np.allclose(f, d); np.array_equal(f, f); np.array_equal(f, f1)
        np.array_equal(gaps, gaps, equal_nan=True); np.array_equiv(f1, np.stack([f1, f1])); np.array_equiv(f, cube); np.diff(d)
        np.diff(cube, 2, 1); np.diff(i, axis=0); np.diff(d1, prepend=0, append=[9.0]); np.diff(b); np.unique(i)
        np.unique(i, return_counts=True)[1]; np.searchsorted(np.array([1, 2, 3.0]), d1); np.bincount(i.ravel()); np.histogram(d, 3)[0]
        np.digitize(d1, [1, 2, 3]); np.select([mask, ~mask], [f, d]); np.choose(np.array([0, 1, 0]), [f1, d1])
        np.isin(i, [1, 2]); np.interp(1.5, [1, 2], [3, 4])
        np.partition(d1, 1)[1]; np.lexsort((d1, f1)); np.cov(d); np.corrcoef(d); np.gradient(d, axis=1); np.trapezoid(d1)
        np.convolve(d1, [1, 1]); np.apply_along_axis(lambda v: v[::-1], 1, f); np.vectorize(lambda v: v + 1)(i)
        np.fromfunction(lambda a, b: a + b, (2, 3)); np.union1d(i1, [9]); np.ix_([0], [1])[1]
    """),
]
INDEXING = [
    *[f"cube[{k}]" for k in listed("0; -1; 0, 1; 0, 1, 2; ...; ..., 0; 0, ...; :, 1:; ::-1; None; :, None, 1; 1, ..., ::2; 0:0; 5:; ()")],
    *[
        f"cube[{k}]"
        for k in listed("[0, 1, 0]; [0], [1, 2]; :, [0, 2]; [0, 1], :, [1, 2]; 0, [0, 2]; places; places, 1; :, places, None; [0]")
    ],
    *[f"f[{k}]" for k in listed("mask; f > 2; ~mask; [True, False]; :, mask[0]; 0, mask[1]; True; False; np.array(1); f.argmax() // 3")],
    *[f"f.T[{k}]" for k in ("0", "1:, 0", "mask.T", "[2, 0]")],
    *listed("""
        cube.T[1:, ::-1][::2]; cube[:, ::-1].T[0]; f[np.nonzero(mask)]; f[np.newaxis, ..., 0]; cube[:, :, ::2][1].reshape(-1); f0[()]
        f0[...]; f0[None]; none[:, 1]; f[[]]; f[:, []]; i[i % 2]; cube[numpy.array([1, 0])]
    """),
]
CREATION = [
    *listed("""
        np.array([1, 2]); np.array([1.5, 2]); np.array([True]); np.array(3); np.array([[1], [2]], dtype='f'); np.array(f)
        np.array([f1, f1]); np.array([f0, 2.0]); np.array([1, 2], ndmin=3); np.array([[1], [2]], ndmax=2)
        np.array([[1], [2]], ndmax=1); np.array(f, ndmax=1); np.array([1, 2], ndmin=2, ndmax=2); np.array([1, 2], ndmin=2, ndmax=1)
        np.array(1j); np.asarray([1, 2]); np.asarray(f, dtype='d')
        np.zeros(3); np.zeros((2, 0)); np.zeros((), 'i4'); np.ones((2, 2), int); np.full((2,), 3); np.full((2, 3), f1)
        np.full(2, 1.5, 'f'); np.full(2, True); np.zeros_like(i); np.ones_like(f, dtype=bool); np.full_like(i, 2.7); np.empty((0,))
        np.zeros_like(f, shape=(2,)); np.arange(5); np.arange(1, 2, 0.3); np.arange(5.0); np.arange(3, dtype='f'); np.arange(5, 1, -2)
        np.linspace(0, 1, 5); np.identity(2); np.linspace(0, 1, 3, endpoint=False); np.linspace(1, 4, 4, dtype=int)
        np.linspace(0, 1, 5, retstep=True)[1]; np.logspace(0, 2, 3); np.geomspace(1, 8, 4); np.eye(3); np.eye(2, 3, 1); np.tri(3, 4, -1)
        np.meshgrid(f1, i1); np.meshgrid(f1, [1, 2], indexing='ij')[1]; np.meshgrid(f1, [1, 2], sparse=True); np.copy(f); f.astype(int)
        f.astype('float16'); i.astype(bool); f.astype('d'); d.astype('f'); np.ascontiguousarray(f0); np.ascontiguousarray(f.T)
        np.indices((2, 2)); np.fromiter([1, 2], int); np.frombuffer(b'abcd', 'u1'); np.vander(i1); np.hanning(4); np.astype(f, 'd')
        np.triu_indices(3)[0]; np.float32(3); np.int64(2); np.pi; np.float64; np.newaxis is None; np.result_type(f, d)
        np.can_cast('f4', 'f8'); np.promote_types('i4', 'f4'); np.finfo('f').eps; np.iinfo(np.int8).max; np.isscalar(3.0)
        np.dtype('f4'); np.ones(3).dtype
    """),
]
LINEAR = [
    *listed("""
        np.dot(f, f.T); np.dot(f1, f1); f.dot(f1); np.dot(2, f)
        np.dot(cube, cube[0].T); np.dot(cube.swapaxes(1, 2), square); np.matmul(cube, cube[0].T); np.vdot(f, f); np.vdot(d1 * 1j, d1)
        np.inner(f, d); np.inner(f, 2); np.outer(f, f1); np.outer(i, i); np.tensordot(cube, cube, ([0, 1], [0, 1]))
        np.tensordot(cube, cube.T, 1); np.tensordot(f1, i1, 0); np.einsum('ij,ij->i', f, d); np.einsum('...ij->...ji', cube)
        np.einsum('ii', square); np.einsum('ij,jk', f, square); np.einsum(f, [0, 1], f1, [1]); np.einsum(f, [27, 0]);
        np.einsum(cube, [..., 3, 5], [5, ...]); np.kron(f, i1); np.kron(f1, f); np.vecdot(f, d); np.vecdot(cube, cube, axis=1)
        np.vecdot(cube, cube[0, 0]); np.vecdot(cube, f1, axes=[1, 0]); np.vecdot(cube, f1, axes=[(1,), (0,), ()]); np.vecdot(u, u)
        np.vecdot(cube, cube, axis=0, keepdims=True); np.vecdot(cube, f1, axes=[1, 0], keepdims=True); np.vecdot(b, mask); np.vecdot(b, u)
        np.vecdot(cube, f1, axes=[1, 0, 1], keepdims=True); np.vecdot(cube, cube, axes=[1]); np.vecdot(cube, cube, axes=[1, 1], axis=1)
        np.vecdot(f * (1 + 2j), f * 1j); np.vecdot(f, f * 1j); np.vecdot(f, f, dtype='d'); np.vecdot(f, f, dtype='i8')
        np.vecdot(u, [1, 2, 3]); np.vecdot(f, f, np.zeros(2)); np.vecdot(f, f, out=np.zeros(2, 'f')); np.vecdot(f, f, out=np.zeros(2, 'i8'))
        np.vecdot(f, 2); np.vecdot(f, f, out=np.zeros(3)); np.vecdot(f, f, out=np.zeros((5, 2))); np.vecdot(f, [1]); np.vecdot(f, f, axis=2)
        np.vecdot(f, d, dtype='f', casting='safe'); np.vecdot(none[:, :0], none[:, :0]); np.linalg.vecdot(f * 1j, f * 1j); np.cross(f1, d1)
        np.linalg.norm(f); np.linalg.norm(f, axis=1); np.linalg.norm(f1, 1); np.linalg.norm(f1, np.inf)
        np.linalg.norm(cube, axis=(0, 1)); np.linalg.norm(f1, 3); np.linalg.norm(square, 2); np.linalg.norm(square, 'nuc')
        np.linalg.norm(i1); np.linalg.norm(f, keepdims=True); np.linalg.norm(f1, 0); np.linalg.norm(f, 'fro'); np.linalg.det(square)
        np.linalg.inv(square); np.linalg.solve(square, d1); np.linalg.svd(square)[1]; np.linalg.eigvalsh(square @ square.T)
        np.linalg.svd(square).S; np.linalg.qr(square)[1]; np.linalg.cholesky(square @ square.T + np.eye(3)); np.linalg.vector_norm(d)
        np.linalg.matrix_rank(square); np.fft.fft(d1); np.fft.ifft(np.fft.fft(d1)).real; np.linalg.vector_norm(d, axis=1, keepdims=True)
        np.linalg.matrix_power(square, 2); np.linalg.lstsq(square, d1)[0]; np.linalg.pinv(square)
        np.linalg.inv(cube[:, :, :3] + 9); np.linalg.inv([[1, 2], [3, 4]]); np.linalg.inv(i @ i.T + np.eye(2)); np.linalg.inv(square * 1j)
        np.linalg.inv(f); np.linalg.inv(np.ones((2, 2))); np.linalg.inv(np.zeros((0, 2, 2))); np.linalg.inv(e[:, :2])
        np.linalg.inv(a=square); np.linalg.det(cube[:, :, :3]); np.linalg.det(f1); np.linalg.slogdet(square)
        np.linalg.slogdet(-square).sign; np.linalg.slogdet(np.ones((2, 2))); np.linalg.solve(square, f.T)
        np.linalg.solve(cube[:, :, 1:] + 9 * np.eye(3), d1); np.linalg.solve(square, d); np.linalg.pinv(d); np.linalg.pinv(d.T, rcond=0.4)
        np.linalg.pinv(cube, rtol=np.array([0.1, 0.5])); np.linalg.pinv(square + square.T, hermitian=True); np.linalg.pinv(none)
        np.linalg.lstsq(d.T, d1)[1]; np.linalg.lstsq(d, d[:, 0]); np.linalg.tensorinv(cube + np.eye(24)[:6, :4].reshape(2, 3, 4), 2)
        np.linalg.tensorinv(np.eye(24).reshape(6, 4, 8, 3)); np.linalg.tensorsolve(np.eye(6).reshape(2, 6, 3) * 2, d, axes=(1,))
        np.linalg.matrix_power(i[:, :2], 5); np.linalg.matrix_power(square, -2); np.linalg.matrix_power(cube[:, :, :3], 0)
        np.linalg.matrix_power(d, 2); np.linalg.matrix_power(square, 1.5); np.linalg.multi_dot([d, square, square, d1])
        np.linalg.multi_dot([f1, square, f1]); np.linalg.multi_dot([i, i.T]); np.linalg.multi_dot([f])
        np.linalg.cholesky(-square @ square.T); np.linalg.qr(d.T, 'r'); np.linalg.cholesky(square @ square.T + np.eye(3), upper=True)
        np.linalg.qr(d.T); np.linalg.qr(d).R; np.linalg.qr(d.T, 'complete'); np.linalg.qr(cube); np.linalg.qr(f, 'raw')[1]
        np.linalg.qr(d, 'x'); np.linalg.svd(d, full_matrices=False); np.linalg.svd(d)[2]; np.linalg.svd(cube, compute_uv=False)
        np.linalg.svd(square @ square.T, hermitian=True); np.linalg.svdvals(d); np.linalg.svd(f * 1j)[1]
        np.linalg.eigh(square @ square.T); np.linalg.eigh(square, 'U'); np.linalg.eigvalsh(square, 'U'); np.linalg.eigh(square, UPLO='x')
        np.linalg.eigvals(square); np.linalg.eig(np.array([[0.0, 1], [-1, 0]])).eigenvalues; np.linalg.norm(cube, 'nuc', (0, 2))
        np.linalg.norm(cube, 2, (1, 2), True); np.linalg.norm(d, 1); np.linalg.norm(d, -1); np.linalg.norm(d, np.inf, keepdims=True)
        np.linalg.norm(d, -2); np.linalg.norm(d, 5); np.linalg.norm(d1, 'fro'); np.linalg.norm(cube, 2); np.linalg.norm(f * 1j)
        np.linalg.matrix_norm(cube, ord=2, keepdims=True); np.linalg.cond(square); np.linalg.cond(square, 1)
        np.linalg.cond(cube[:, :, :3], -2); np.linalg.cond(np.zeros((2, 2))); np.linalg.cond(np.ones((2, 2)), 'fro')
        np.linalg.norm(np.zeros((0, 3)), 2); np.linalg.norm(np.zeros((3, 0)), 1); np.linalg.norm(np.zeros((0, 0)), np.inf)
        np.linalg.norm(np.zeros((2, 0, 3)), 2, (1, 2), True); np.linalg.norm(np.zeros((0, 2, 3)), 1, (1, 2)); np.linalg.norm(none, -2)
        np.linalg.norm(np.zeros((0, 3)), 'nuc'); np.linalg.norm(np.zeros((0, 3)), -1); np.linalg.norm(np.zeros(0), np.inf)
        np.linalg.pinv(np.zeros((2, 0, 3))); np.linalg.pinv(np.zeros((0, 2, 3))); np.linalg.cond(np.zeros((0, 0))); np.linalg.cond(none, 1)
        np.linalg.trace(cube, offset=1); np.linalg.diagonal(cube); np.linalg.cross(f1, d1)
    """),
]
_BY_NUMPY = listed("""
    sum(f, axis=0); add(f, d); multiply(2, f); concatenate([f, d]); mean(f); linalg.norm(f); where(mask, f, d); exp(f); argmax(f, 1)
    stack([f, f]); median(f); add.reduce(f); add.outer(f1, f1); reshape(f, (3, 2)); clip(f, 1, 2); split(f, 3, 1); dot(f, f.T)
    unique(i); allclose(f, f); zeros_like(f)
""")
PROTOCOLS = [
    *[f"numpy.{t}" for t in _BY_NUMPY],
    *listed("""
        float(f0); int(i0); bool(f0); complex(d0); f'{f0:.3f}'; f'{d}'; str(f); str(f0); hash(i.sum()) == hash(int(i.sum()))
        {d1[0]: 2}[d1[0]]; 2.5 in (d * 0 + 2.5); max(d1) >= min(d1); sum(d1) > 0; f.item(2); [x for x in f][0]; list(range(i1[1]))
        sorted([float(v) for v in d1]); d1[i0 // 10]; repr(f); repr(d); repr(i); repr(mask); repr(none); repr(cube[0])
        repr(np.zeros(2000)); f.tobytes() == f.copy().tobytes()
    """),
]
TABLES = {
    "arithmetic": ARITHMETIC,
    "ufuncs": UFUNCS,
    "reductions": REDUCTIONS,
    "shapes": SHAPES,
    "selection": SELECTION,
    "indexing": INDEXING,
    "creation": CREATION,
    "linear": LINEAR,
    "protocols": PROTOCOLS,
}

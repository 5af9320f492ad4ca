"""What is NumPy's stays NumPy's under ``run --numpy``: real scripts print the same, warn alike, and share memory with C code."""

import os
import subprocess
import sys

import pytest

#: In front of each script. ``large`` folds.
HEAD = """
import numpy as np
N = 70_000
def large(): return np.arange(float(N))
"""

SCRIPTS = {
    "scalars": """
import json, pickle
x = large() * 0.5 + 1.0
print(type(x[3]), isinstance(x[3], float), json.dumps([x[3], float(x.sum()), x[1:3].tolist()]), hash(x[3]), {x[3]: 1}[2.5])
print(type(x.sum()), repr(x.mean()), x.argmax(), type(x.argmax()), f"{x[5]:.3f}", "%d" % x[4], round(x[3], 1), int(x[4]), x.max() == N / 2 + 0.5)
print(range(10)[np.arange(N)[4]], [1, 2, 3][np.ones(N, int).max()], type(x.item(3)), complex(x[3]), bool(x[0]), x[3] in {2.5}, divmod(x[3], 2))
print(repr(x[3]), repr(np.float32(1) * x[3]), type(x[2] + 1), type(1 + x[2]), x[2] ** 2, -x[2], x[0].dtype, x[0].shape, x[0].tobytes()[:4])
print(isinstance(x, np.ndarray), type(x) == np.ndarray, x.__class__ is np.ndarray, issubclass(type(x[3]), np.floating), np.isscalar(x[3]))
try:
    hash(x)
except TypeError as e:
    print(e)
try:
    if x == 3: pass
except ValueError as e:
    print(e)
try:
    json.dumps(x)
except TypeError as e:
    print(e)
match x[3]:
    case float(): print("a float")
print(*zip(x[:3], range(3)), sum(x[:10]), sorted(x[3:0:-1]), max(x), min(x), len(x), list(x[:2]), [*map(float, x[:3])])
""",
    "dtypes": """
s = np.zeros(N, [("a", "i4"), ("b", "f8", (2,)), ("c", "U3")])
s["a"] = np.arange(N); s["b"][5] = 1.5, 2.5; s["c"] = "abc"
print(s[5], s["b"][5], s[["a", "c"]][7], s["a"].sum(), np.sort(s, order="a")[-1]["a"], s.dtype.names, s[s["a"] > N - 3]["a"], s.nbytes)
r = np.rec.array(s); print(r.a[4], r[5].b, type(r))
d = np.arange("2000-01", "2000-03", dtype="datetime64[m]")
print(d[5], (d[9] - d[2]), (d + np.timedelta64(1, "D"))[3], d.max(), d.astype("datetime64[D]")[-1], np.isnat(d).any(), np.diff(d)[0], d.size)
o = np.array([None, "x", 3, [1]] * N, dtype=object)
print(o[:4], (o == 3).sum(), o[3] is o[3], o.size); o[1] = o; print(o[1] is o)
t = np.array(["b", "aa", "c"] * N); print(np.sort(t)[:2], np.char.upper(t)[1], t.dtype, (t == "aa").sum(), np.unique(t))
c = large() + 1j * large(); print(c[3], c.imag[4], c.conj()[5], abs(c[3:5]), c.real.sum(), (c * 2.0).dtype)
h = large().astype("f2"); print(h[100], h.dtype, (h[:5] * 2).dtype, np.longdouble(3) * large()[:2])
b = large() > 5; print((~b).sum(), b.dtype, (b & (large() < 9)).nonzero(), b[4:7], np.packbits(b)[:2], b.all(), b.any(), b.argmax())
u = np.arange(N, dtype="u1"); print((u + u)[200], (u * 2)[200], (u.astype(int) * 2)[200], (u / 2).dtype, -u[3:5], (u << 1)[200], u.sum().dtype)
i = np.arange(N); print((i // 7 % 3)[100], (i ** 2)[300], (i * 1.5)[3], (i & 5)[13], (i - 2 ** 62)[0], i.dtype.name, (i == 3.0).sum())
print(np.arange(N, dtype=">i4").sum(), np.arange(N, dtype=">f8")[3], (np.arange(N, dtype=">f8") * 2).dtype, np.bool_(True) + i[:2])
""",
    "memory": """
import ctypes, os, io, mmap, tempfile, array, struct, pickle, copy
x = large()
v = x.view(np.int64); print(v[1], v.dtype, x.view("u1")[15], x.view([("p", "f8"), ("q", "f8")])[3], x.view(np.matrix).shape)
x.shape = (700, 100); print(x.shape, x[3, 4], x.strides, x.ndim); x.shape = -1
y = large() + 1.0; y.resize(2 * N, refcheck=False); print(y.shape, y[N - 1], y[N:].sum())
m = memoryview(x); print(m.format, m.shape, m[3], m.nbytes, m.readonly); m[3] = 99.0; print(x[3], x.sum()); x[4] = 7.0; print(m[4])
f = tempfile.TemporaryFile(); x.tofile(f); f.seek(0); back = np.fromfile(f); print(back.size, (back == x).all())
w = np.ndarray((2, 3), float, x); w[0, 1] = -5.0; print(x[1], w.tolist(), np.ndarray((3,), buffer=x, offset=8, strides=(16,)).tolist())
print(np.frombuffer(x, count=3), x.tobytes()[:8] == struct.pack("d", x[0]), bytes(x[:2]) == x[:2].tobytes(), array.array("d", x)[3])
ctypes.c_double.from_address(x.ctypes.data + 16).value = 5.5; print(x[2], x.ctypes.shape[0], x.__array_interface__["typestr"])
b = io.BytesIO(); np.save(b, x); b.seek(0); z = np.load(b); print((z == x).all()); b = io.BytesIO(); np.savez(b, k=x, l=x * 2.0); b.seek(0)
with np.load(b) as file: print(file["l"][5], file.files)
p = pickle.loads(pickle.dumps(x * 2.0)); print(p[3], type(p) is np.ndarray or type(p), copy.deepcopy(x)[4], pickle.dumps(x) == pickle.dumps(np.asarray(x)))
part = x[10:20]; x += 1.0; print(part[0], np.shares_memory(part, x), part.base is not None, x.flags.owndata, x.flags.c_contiguous, x[::2].flags.contiguous)
mm = np.memmap(tempfile.TemporaryFile(), float, "w+", shape=N); mm[:] = x * 2.0; print(mm[5], type(mm), (mm + x)[4], type(mm + x))
lst = [x]; print(x.tolist() == [float(e) for e in x], sum(x.tolist()), x.item(5), x.flat[7], next(x.flat), [e for e in np.nditer(x[:2])])
x[:] = 0; print(x.any()); x.fill(3); print(x.sum(), x.dumps()[:2], x.itemsize, x.nbytes, x.size, x.base)
x.dtype = np.int64 if False else float; x.setflags(write=False)
try:
    x[0] = 1
except ValueError as e:
    print(e)
text = io.StringIO(); np.savetxt(text, x[:3]); print(text.getvalue().split()[0], np.loadtxt(io.StringIO("1 2\\n3 4"), unpack=True)[0], np.linspace(0, 1, N, retstep=True)[1])
""",
    "subclasses": """
class Unit(np.ndarray):
    def __new__(cls, values, unit="m"):
        made = np.asarray(values).view(cls); made.unit = unit; return made
    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) for x in inputs]
        return Unit(getattr(ufunc, method)(*plain, **options), self.unit)
x = large()
u = Unit(x, "km")
print(type(u + x), (x + u).unit, (u * 2.0)[3], (x * 2.0 + u)[3], type(np.sin(u)), u[5:7].unit, np.concatenate([u, x]).shape, u.sum(), type(x * u))
m = np.ma.masked_greater(x, 5.0); print(m.sum(), (m + x).count(), type(x + m), m.mean(), np.ma.masked_array(x, x > 3).filled(-1)[2:6])
print(type(np.matrix(x.reshape(700, 100)) * 2.0), type(x.reshape(700, 100) + np.matrix(np.ones((1, 100)))), np.asmatrix(x).shape)
class Lazy:
    __array_priority__ = 100
    def __radd__(self, other): return "radd", other.shape
    def __array__(self, dtype=None, copy=None): return np.ones(N)
print(x + Lazy(), (x * np.asarray(Lazy()))[4], np.add(x, np.asarray(Lazy()))[4])
class Refuses:
    __array_ufunc__ = None
    def __rmul__(self, other): return "rmul"
print(x * Refuses())
class Duck:
    def __array_function__(self, f, types, args, kwargs): return f.__name__, len(types)
print(np.concatenate([x, Duck()]), np.sum(Duck()))
f = np.vectorize(lambda a: a + 1); print(f(x)[3], np.frompyfunc(lambda a, b: a, 2, 1)(x, x)[4], np.apply_along_axis(sum, 0, x.reshape(700, 100))[3])
print(np.piecewise(x, [x < 3, x >= 3], [0, lambda v: v * 2])[2:5], np.fromfunction(lambda i, j: i + j, (300, 300))[3, 4], np.poly1d([1, 2])(x)[3])
""",
    "warnings": """
import warnings
x = large()
x / 0.0
def f(a):
    return np.log(a - 1.0)
f(x)
y = x * 1e308
with np.errstate(all="ignore"):
    x / 0.0
    np.sqrt(-x)
with np.errstate(divide="raise"):
    try:
        1.0 / x
    except FloatingPointError as e:
        print(e)
with np.errstate(invalid="call", call=lambda kind, flag: print("called", kind, flag)):
    print((np.sqrt(-x) + 1.0)[0])
class Log:
    def write(self, text): print("log", text.strip())
with np.errstate(over="log", call=Log()):
    print((x * 1e308 * 10.0)[3])
print(np.geterr()["over"])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    z = x / 0.0
    z = z + 1.0
    print(z[3])
print([(str(w.message), w.lineno, w.category.__name__) for w in seen])
warnings.simplefilter("error")
try:
    print((x / 0.0)[3])
except RuntimeWarning as e:
    print("raised", e)
try:
    np.arange(N, dtype="u1") + 300
except OverflowError as e:
    print(e)
try:
    x + np.ones(3)
except ValueError as e:
    print(e)
try:
    x[N]
except IndexError as e:
    print(e)
try:
    x.nothing
except AttributeError as e:
    print(e)
try:
    x @ np.ones(3)
except ValueError as e:
    print(e)
try:
    np.zeros((N, 2)).reshape(3, 5)
except ValueError as e:
    print(e)
try:
    np.zeros(-1)
except ValueError as e:
    print(e)
""",
    "printing": """
x = large() / 3.0
print(x); print(repr(x)); print(str(x.reshape(700, 100)), x[:3])
np.set_printoptions(precision=2, threshold=5, edgeitems=1, suppress=True); print(x, repr(x), f"{x}", "%s" % x)
with np.printoptions(formatter={"float": lambda v: "<%.1f>" % v}): print(x)
print(np.array2string(x, separator="|"), np.array_repr(x), np.array_str(x), repr(x.dtype), x.flags["C"], np.format_float_positional(x[1]))
print(x.reshape(7, -1), [x], {"k": x})
""",
    "modules": """
import numpy, numpy.linalg, numpy.random as npr, numpy.linalg as la, numpy.lib.stride_tricks, importlib, inspect, sys, numpy.fft, numpy.testing
from numpy import linalg, random, array as arr, float64
from numpy.random import default_rng, Generator
from numpy.lib.stride_tricks import sliding_window_view as windows
from numpy import *
def late():
    import numpy as inner
    from numpy.fft import fft
    return inner is np, fft(large())[0].real
print(np is numpy, late(), la is numpy.linalg, npr is np.random, np.__version__ == importlib.import_module("numpy").__version__, float64 is np.float64)
rng = default_rng(3); print(rng.random(), rng.normal(size=N)[5], isinstance(rng, Generator), rng.integers(0, 9, N)[:4], rng.choice(5), rng.permutation(N)[:2])
np.random.seed(4); print(np.random.rand(N)[3], np.random.randn(), np.random.randint(9), npr.uniform(size=3), random.choice([1, 2, 3]), npr.ranf())
s = np.random.RandomState(5); print(s.rand(N)[-1], s.normal(), windows(large(), 3)[4], la.norm(large()), np.testing.assert_allclose(large(), large()))
class Holder:
    make = np.zeros
    convert = np.asarray
    draw = np.random.rand
print(Holder().make(3), Holder().convert([1, 2]), Holder().draw(2).shape, np.zeros.__name__, np.zeros.__doc__[:5], callable(np.array), np.array(object=[1]))
print(zeros(3).sum(), exec("import numpy as n2; print(n2 is np)", {"np": np}), eval("__import__('numpy') is np"), np.einsum("i,i", large()[:5], large()[:5]))
print("numpy" in sys.modules, np.ndarray is sys.modules["numpy"].ndarray, inspect.ismodule(np), hasattr(np, "nothing"), len(dir(np)) > 500, np.__name__)
""",
}


@pytest.fixture
def both(tmp_path):
    """Run a script with Python and with the launcher: the output and error output of each."""

    def execute(text, **environment):
        script = tmp_path / "script.py"
        script.write_text(HEAD + text, encoding="utf-8")
        found = []
        for launcher in ([], ["-m", "twofold", "run", "--numpy"]):
            done = subprocess.run(
                [sys.executable, *launcher, str(script)],
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
                env=os.environ | environment,
            )
            found.append((done.returncode, done.stdout.splitlines(), done.stderr.splitlines()))
        return found

    return execute


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_and_warns_as_on_numpy(both, name):
    plain, folding = both(SCRIPTS[name])
    assert plain[0] == 0, plain[2]
    assert folding == plain

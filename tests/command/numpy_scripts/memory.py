"""Views, buffers, addresses, files and pickles of large arrays."""

import array
import copy
import ctypes
import io
import pickle
import struct
import tempfile

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


x = large()
v = x.view(np.int64)
print(v[1], v.dtype, x.view("u1")[15], x.view([("p", "f8"), ("q", "f8")])[3], x.view(np.matrix).shape)
x.shape = (700, 100)
print(x.shape, x[3, 4], x.strides, x.ndim)
x.shape = -1
y = large() + 1.0
y.resize(2 * N, refcheck=False)
print(y.shape, y[N - 1], y[N:].sum())
m = memoryview(x)
print(m.format, m.shape, m[3], m.nbytes, m.readonly)
m[3] = 99.0
print(x[3], x.sum())
x[4] = 7.0
print(m[4])
f = tempfile.TemporaryFile()
x.tofile(f)
f.seek(0)
back = np.fromfile(f)
print(back.size, (back == x).all())
w = np.ndarray((2, 3), float, x)
w[0, 1] = -5.0
print(x[1], w.tolist(), np.ndarray((3,), buffer=x, offset=8, strides=(16,)).tolist())
print(np.frombuffer(x, count=3), x.tobytes()[:8] == struct.pack("d", x[0]), bytes(x[:2]) == x[:2].tobytes(), array.array("d", x)[3])
ctypes.c_double.from_address(x.ctypes.data + 16).value = 5.5
print(x[2], x.ctypes.shape[0], x.__array_interface__["typestr"])
b = io.BytesIO()
np.save(b, x)
b.seek(0)
z = np.load(b)
print((z == x).all())
b = io.BytesIO()
np.savez(b, k=x, l=x * 2.0)
b.seek(0)
with np.load(b) as file:
    print(file["l"][5], file.files)
p = pickle.loads(pickle.dumps(x * 2.0))
print(p[3], type(p) is np.ndarray or type(p), copy.deepcopy(x)[4], pickle.dumps(x) == pickle.dumps(np.asarray(x)))
part = x[10:20]
x += 1.0
print(part[0], np.shares_memory(part, x), part.base is not None, x.flags.owndata, x.flags.c_contiguous, x[::2].flags.contiguous)
mm = np.memmap(tempfile.TemporaryFile(), float, "w+", shape=N)
mm[:] = x * 2.0
print(mm[5], type(mm), (mm + x)[4], type(mm + x))
lst = [x]
print(x.tolist() == [float(e) for e in x], sum(x.tolist()), x.item(5), x.flat[7], next(x.flat), [e for e in np.nditer(x[:2])])
x[:] = 0
print(x.any())
x.fill(3)
print(x.sum(), x.dumps()[:2], x.itemsize, x.nbytes, x.size, x.base)
x.dtype = np.int64 if False else float
x.setflags(write=False)
try:
    x[0] = 1
except ValueError as e:
    print(e)
text = io.StringIO()
np.savetxt(text, x[:3])
print(text.getvalue().split()[0], np.loadtxt(io.StringIO("1 2\n3 4"), unpack=True)[0], np.linspace(0, 1, N, retstep=True)[1])

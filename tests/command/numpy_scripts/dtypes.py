"""Structured, temporal, text, object, complex and narrow arrays."""

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


s = np.zeros(N, [("a", "i4"), ("b", "f8", (2,)), ("c", "U3")])
s["a"] = np.arange(N)
s["b"][5] = 1.5, 2.5
s["c"] = "abc"
print(s[5], s["b"][5], s[["a", "c"]][7], s["a"].sum(), np.sort(s, order="a")[-1]["a"], s.dtype.names, s[s["a"] > N - 3]["a"], s.nbytes)
r = np.rec.array(s)
print(r.a[4], r[5].b, type(r))
d = np.arange("2000-01", "2000-03", dtype="datetime64[m]")
print(
    d[5], (d[9] - d[2]), (d + np.timedelta64(1, "D"))[3], d.max(), d.astype("datetime64[D]")[-1], np.isnat(d).any(), np.diff(d)[0], d.size
)
o = np.array([None, "x", 3, [1]] * N, dtype=object)
print(o[:4], (o == 3).sum(), o[3] is o[3], o.size)
o[1] = o
print(o[1] is o)
t = np.array(["b", "aa", "c"] * N)
print(np.sort(t)[:2], np.char.upper(t)[1], t.dtype, (t == "aa").sum(), np.unique(t))
c = large() + 1j * large()
print(c[3], c.imag[4], c.conj()[5], abs(c[3:5]), c.real.sum(), (c * 2.0).dtype)
h = large().astype("f2")
print(h[100], h.dtype, (h[:5] * 2).dtype, np.longdouble(3) * large()[:2])
b = large() > 5
print((~b).sum(), b.dtype, (b & (large() < 9)).nonzero(), b[4:7], np.packbits(b)[:2], b.all(), b.any(), b.argmax())
u = np.arange(N, dtype="u1")
print((u + u)[200], (u * 2)[200], (u.astype(int) * 2)[200], (u / 2).dtype, -u[3:5], (u << 1)[200], u.sum().dtype)
i = np.arange(N)
print((i // 7 % 3)[100], (i**2)[300], (i * 1.5)[3], (i & 5)[13], (i - 2**62)[0], i.dtype.name, (i == 3.0).sum())
print(np.arange(N, dtype=">i4").sum(), np.arange(N, dtype=">f8")[3], (np.arange(N, dtype=">f8") * 2).dtype, np.bool_(True) + i[:2])

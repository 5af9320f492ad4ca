"""Subclasses and objects with protocols of their own meet large arrays."""

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


class Unit(np.ndarray):
    def __new__(cls, values, unit="m"):
        made = np.asarray(values).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) for x in inputs]
        return Unit(getattr(ufunc, method)(*plain, **options), self.unit)


x = large()
u = Unit(x, "km")
print(
    type(u + x),
    (x + u).unit,
    (u * 2.0)[3],
    (x * 2.0 + u)[3],
    type(np.sin(u)),
    u[5:7].unit,
    np.concatenate([u, x]).shape,
    u.sum(),
    type(x * u),
)
m = np.ma.masked_greater(x, 5.0)
print(m.sum(), (m + x).count(), type(x + m), m.mean(), np.ma.masked_array(x, x > 3).filled(-1)[2:6])
print(type(np.matrix(x.reshape(700, 100)) * 2.0), type(x.reshape(700, 100) + np.matrix(np.ones((1, 100)))), np.asmatrix(x).shape)


class Lazy:
    __array_priority__ = 100

    def __radd__(self, other):
        return "radd", other.shape

    def __array__(self, dtype=None, copy=None):
        return np.ones(N)


print(x + Lazy(), (x * np.asarray(Lazy()))[4], np.add(x, np.asarray(Lazy()))[4])


class Refuses:
    __array_ufunc__ = None

    def __rmul__(self, other):
        return "rmul"


print(x * Refuses())


class Duck:
    def __array_function__(self, f, types, args, kwargs):
        return f.__name__, len(types)


print(np.concatenate([x, Duck()]), np.sum(Duck()))
f = np.vectorize(lambda a: a + 1)
print(f(x)[3], np.frompyfunc(lambda a, b: a, 2, 1)(x, x)[4], np.apply_along_axis(sum, 0, x.reshape(700, 100))[3])
print(
    np.piecewise(x, [x < 3, x >= 3], [0, lambda v: v * 2])[2:5],
    np.fromfunction(lambda i, j: i + j, (300, 300))[3, 4],
    np.poly1d([1, 2])(x)[3],
)

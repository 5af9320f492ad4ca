"""Floating-point errors and exceptions."""

import warnings

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


x = large()
x / 0.0


def f(a):
    return np.log(a - 1.0)


f(x)
y = x * 1e308
print(y[3])
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
    def write(self, text):
        print("log", text.strip())


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

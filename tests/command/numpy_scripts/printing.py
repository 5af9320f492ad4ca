"""What arrays are printed as."""

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


x = large() / 3.0
print(x)
print(repr(x))
print(str(x.reshape(700, 100)), x[:3])
np.set_printoptions(precision=2, threshold=5, edgeitems=1, suppress=True)
print(x, repr(x), f"{x}", "%s" % x)
with np.printoptions(formatter={"float": lambda v: "<%.1f>" % v}):
    print(x)
print(np.array2string(x, separator="|"), np.array_repr(x), np.array_str(x), repr(x.dtype), x.flags["C"], np.format_float_positional(x[1]))
print(x.reshape(7, -1), [x], {"k": x})

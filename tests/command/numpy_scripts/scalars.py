"""Elements and reductions of large arrays are NumPy's scalars."""

import json

import numpy as np

N = 70_000


def large():
    return np.arange(float(N))


x = large() * 0.5 + 1.0
print(type(x[3]), isinstance(x[3], float), json.dumps([x[3], float(x.sum()), x[1:3].tolist()]), hash(x[3]), {x[3]: 1}[2.5])
print(
    type(x.sum()),
    repr(x.mean()),
    x.argmax(),
    type(x.argmax()),
    f"{x[5]:.3f}",
    "%d" % x[4],
    round(x[3], 1),
    int(x[4]),
    x.max() == N / 2 + 0.5,
)
print(
    range(10)[np.arange(N)[4]], [1, 2, 3][np.ones(N, int).max()], type(x.item(3)), complex(x[3]), bool(x[0]), x[3] in {2.5}, divmod(x[3], 2)
)
print(repr(x[3]), repr(np.float32(1) * x[3]), type(x[2] + 1), type(1 + x[2]), x[2] ** 2, -x[2], x[0].dtype, x[0].shape, x[0].tobytes()[:4])
print(isinstance(x, np.ndarray), type(x) == np.ndarray, x.__class__ is np.ndarray, issubclass(type(x[3]), np.floating), np.isscalar(x[3]))
try:
    hash(x)
except TypeError as e:
    print(e)
try:
    if x == 3:
        pass
except ValueError as e:
    print(e)
try:
    json.dumps(x)
except TypeError as e:
    print(e)
match x[3]:
    case float():
        print("a float")
print(*zip(x[:3], range(3)), sum(x[:10]), sorted(x[3:0:-1]), max(x), min(x), len(x), list(x[:2]), [*map(float, x[:3])])

"""Where the dialect differs from MXNet 1.9.1 on purpose; rows of docs/reference/compatibility.md say why."""

from __future__ import annotations

from typing import Any

#: Expressions with another result, with Twofold's.
VALUES: dict[str, Any] = {
    # MXNet truncates the mean of integers before it takes deviations, even where a floating-point dtype is given
    "np.std(i,dtype='float32')": {"array": "float32", "shape": [], "of": [1.7078251]},
    "np.var(i,dtype='float64',axis=0)": {"array": "float64", "shape": [3], "of": [2.25, 4.0, 1.0]},
    # MXNet truncates after each element
    "np.linalg.norm(i)": {"array": "int32", "shape": [], "of": [9]},
    # MXNet ignores the constant
    "np.pad(v,(1,2),constant_values=5)": {"array": "float32", "shape": [6], "of": [5.0, 1.0, 2.0, 3.0, 5.0, 5.0]},
    # the mean of nothing
    "np.mean(e)": {"array": "float32", "shape": [], "of": ["nan"]},
}
#: Expressions that both refuse. Where MXNet refuses for lack of a kernel, Twofold computes.
REFUSED = """
np.array(nd)
a + nd
nd + a
a == nd
np.dot(nd, a)
np.sum(nd)
mx.nd.dot(a, a)
bool(a)
float(a)
len(np.array(1))
list(np.array(1))
a + None
a == None
a + 'x'
a.reshape(4, 4)
np.concatenate([a, v])
np.stack([a, v])
np.split(v, 2)
np.sum(a, axis=2)
np.take(a, np.array([7]), axis=1)
a[5]
a['x']
a[1.5]
a @ v[:2]
np.random.choice(3, 5, replace=False)
np.linalg.inv(v)
np.sin(v, where=v > 1)
np.exp(v, foo=1)
np.sin(0.5, foo=1)
np.add(v, v, dtype='float64')
np.matmul(a, v, order='C')
np.around(v, foo=1)
np.broadcast_arrays(v, a, subok=True)
np.random.multinomial(3, [0.5, 0.5], foo=1)
np.no_such_function
npx.no_such_function
np.dtype
np.median
np.logical_and
np.random.seed
""".strip().splitlines()

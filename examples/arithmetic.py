"""The same arithmetic computed at once, and as a graph that is planned as a whole: how many bytes each needs.

Run: python examples/arithmetic.py
"""

import twofold as mx
from twofold import nd, sym

# Imperative: each line computes.
a, b = nd.arange(10, dtype="float64"), nd.ones((10,), dtype="float64") * 2
c = b * a
d = c + 1
print("imperative:", d.asnumpy())

# Symbolic: the lines compose a graph, which is then compiled for the types of the arrays it is called with.
graph = sym.Variable("b") * sym.Variable("a") + 1
f = mx.compile(graph)
print("symbolic:  ", f(a=a, b=b).asnumpy())
print(f"\nall at once, without overwriting anything:\n{f.memory_plan()}")

# A donated argument's memory may take the result.
frugal = mx.compile(graph, donate=["b"])
frugal(a=a, b=b.copy())
print(f"\nwith b donated:\n{frugal.memory_plan()}")

# The gradient of a graph is a graph.
gradients = mx.compile(graph.grad(wrt=["a", "b"]))
print("\ngradients: ", *(g.asnumpy() for g in gradients(a=a, b=b)))

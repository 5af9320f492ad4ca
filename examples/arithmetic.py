"""The same arithmetic computed eagerly and as a compiled graph, with the memory that each needs.

Run: python examples/arithmetic.py
"""

import twofold as mx
from twofold import nd, sym

# Imperative: each line computes its result.
a, b = nd.arange(10, dtype="float64"), nd.ones((10,), dtype="float64") * 2
c = b * a
d = c + 1
print("imperative:", d.asnumpy())

# Symbolic: the lines build a graph, which is compiled for the shapes and dtypes of the arguments.
graph = sym.Variable("b") * sym.Variable("a") + 1
f = mx.compile(graph)
print("symbolic:  ", f(a=a, b=b).asnumpy())
print(f"\nwithout overwriting any argument:\n{f.memory_plan()}")

# The result may reuse the memory of a donated argument.
frugal = mx.compile(graph, donate=["b"])
frugal(a=a, b=b.copy())
print(f"\nwith b donated:\n{frugal.memory_plan()}")

# The gradient of a graph is a graph.
gradients = mx.compile(graph.grad(wrt=["a", "b"]))
print("\ngradients: ", *(g.asnumpy() for g in gradients(a=a, b=b)))

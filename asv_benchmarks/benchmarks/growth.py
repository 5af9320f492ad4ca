"""How the cost of a graph grows with its size: recording, backward, compiling. Each should be linear."""

import twofold as mx
from twofold.graph.ir import drop_generation


class Graph:
    """A chain of so many operations, recorded and differentiated."""

    params = (100, 400, 1600)
    param_names = ("operations",)

    def setup(self, operations):
        self.x = mx.nd.array([1, 2, 3, 4])
        self.x.attach_grad()
        for _ in range(3):
            self.time_record_and_backward(operations)

    def time_record_and_backward(self, operations):
        with mx.autograd.record():
            y = self.x
            for _ in range(operations):
                y = y + self.x
        y.backward()

    def time_compile(self, operations):
        drop_generation()
        self.time_record_and_backward(operations)


class Symbol:
    """A symbol of so many dense layers, inferred and bound."""

    params = (10, 40, 160)
    param_names = ("layers",)

    def setup(self, layers):
        out = mx.sym.var("data")
        for _ in range(layers):
            out = mx.sym.FullyConnected(out, num_hidden=8)
        self.symbol = out

    def time_infer(self, layers):
        self.symbol.infer_shape(data=(2, 8))

    def time_bind_and_run(self, layers):
        self.symbol.simple_bind(mx.cpu(), data=(2, 8)).forward()[0].wait_to_read()

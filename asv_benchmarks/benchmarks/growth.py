"""Scaling of recording, binding, forcing and compiling with the size of a graph; each should be linear."""

import twofold as mx
from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation

#: Nodes of a graph.
NODES = (10**2, 10**3, 10**4, 10**5)


class Graph:
    """A chain of operations that is new to the process."""

    params = NODES
    param_names = ("nodes",)
    number, repeat, timeout = 1, 3, 600

    def setup(self, nodes):
        drop_generation()
        self.x = mx.nd.array([1, 2, 3, 4])
        self.x.attach_grad()
        self.symbol = mx.sym.var("x")
        for _ in range(nodes):
            self.symbol = self.symbol + 1.0

    def time_record_and_backward(self, nodes):
        with mx.autograd.record():
            y = self.x
            for _ in range(nodes):
                y = y + self.x
        y.backward()

    def time_bind(self, nodes):
        self.symbol.simple_bind(mx.cpu(), x=(4,))

    def time_bind_and_run(self, nodes):
        self.symbol.simple_bind(mx.cpu(), x=(4,)).forward()[0].wait_to_read()

    def time_force(self, nodes):
        y = mx.nd.ones(SETTINGS.defer_elements)
        for _ in range(nodes):
            y = y + 1.0
        y.wait_to_read()


class Repeated:
    """A chain of operations, recorded and differentiated repeatedly."""

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


class Symbol:
    """A symbol with many dense layers, inferred and bound."""

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

"""A 32x64x10 perceptron's step in each of Twofold's modes, and the hand-written step."""

from asv_benchmarks import networks
from asv_benchmarks.hand_written import Perceptron

WAYS = {
    "hand-written": lambda net: net.step,
    "imperative": lambda net: networks.imperative(net).step,
    "executor": lambda net: networks.executor(net).step,
    "hybridized": lambda net: networks.gluon(net, hybrid=True).step,
    "imperative, SGD": lambda net: networks.trained(networks.gluon(net, hybrid=False)),
    "hybridized, SGD": lambda net: networks.trained(networks.gluon(net, hybrid=True)),
    "hybridized, Adam": lambda net: networks.trained(networks.gluon(net, hybrid=True), *networks.adam()),
}


class Step:
    params = tuple(WAYS)
    param_names = ("way",)

    def setup(self, way):
        self.step = WAYS[way](Perceptron())
        for _ in range(3):
            self.step()

    def time_step(self, way):
        self.step()

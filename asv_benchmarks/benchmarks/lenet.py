"""LeNet's step on 64 images in each of Twofold's modes, and the hand-written step."""

from asv_benchmarks import networks
from asv_benchmarks.hand_written import LeNet

WAYS = {
    "hand-written": lambda net: net.step,
    "imperative": lambda net: networks.imperative(net).step,
    "executor": lambda net: networks.executor(net).step,
    "hybridized": lambda net: networks.gluon(net, hybrid=True).step,
}


class Step:
    params = tuple(WAYS)
    param_names = ("way",)

    def setup(self, way):
        self.step = WAYS[way](LeNet())
        for _ in range(3):
            self.step()

    def time_step(self, way):
        self.step()

    def peakmem_step(self, way):
        self.step()

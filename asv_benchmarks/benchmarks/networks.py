"""Training steps of larger networks in each of Twofold's modes: a perceptron with three layers and an LSTM with two."""

from asv_benchmarks.peers import inputs
from asv_benchmarks.peers.libraries.by_twofold import CASES

#: Batch size by network.
BATCHES = {"mlp": 64, "lstm": 32}


class Step:
    params = (tuple(BATCHES), ("imperative", "hybridized"))
    param_names = ("network", "way")

    def setup(self, network, way):
        self.case = CASES[network][way](inputs.drawn(network, BATCHES[network]))
        for _ in range(3):
            self.case.call()

    def time_step(self, network, way):
        self.case.call()


class Deep:
    """Peak memory of a step of 30 dense layers, with and without recomputation."""

    params = ("imperative", "hybridized", "recomputed")
    param_names = ("way",)

    def setup(self, way):
        self.case = CASES["deep"][way](inputs.drawn("deep", 30))

    def peakmem_step(self, way):
        self.case.call()

"""Element-wise formulas from 1,000 to 10,000,000 elements: Black-Scholes, GELU, clipping, Adam, softmax cross-entropy."""

from asv_benchmarks.peers import inputs
from asv_benchmarks.peers.libraries.by_twofold import CASES

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)


class Formula:
    """Each formula in plain imperative code and hybridized."""

    params = (("black_scholes", "gelu", "clip", "adam", "cross_entropy"), ("nd", "hybridized"), SIZES)
    param_names = ("formula", "way", "elements")

    def setup(self, formula, way, elements):
        self.case = CASES[formula][way](inputs.drawn(formula, elements))
        for _ in range(3):
            self.case.call()

    def time_formula(self, formula, way, elements):
        self.case.call()

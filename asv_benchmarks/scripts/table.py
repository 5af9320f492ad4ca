"""The scripts, the ways to run one, and what each way should reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Script:
    """One of the files in `programs`.

    Attributes
    ----------
    name, group
        The file's stem, and what it is about.
    tolerance
        Relative difference allowed between printed numbers. Twofold adds up in another order than NumPy, so last digits of sums differ.
    chain
        Whether most of its work is chains of element-wise operations on large arrays.
    smoke
        Whether it belongs to the quick selection for CI.
    """

    name: str
    group: str
    tolerance: float = 1e-9
    chain: bool = False
    smoke: bool = False

    @property
    def file(self) -> Path:
        """The script."""
        return PROGRAMS / f"{self.name}.py"


SCRIPTS = (
    Script("heat_equation", "simulation", smoke=True),
    Script("n_body", "simulation", tolerance=2e-6),
    Script("ising", "simulation", tolerance=0),
    Script("lotka_volterra", "simulation", smoke=True),
    Script("monte_carlo_options", "simulation", chain=True),
    Script("game_of_life", "simulation", tolerance=0),
    Script("sir_epidemic", "simulation", tolerance=0),
    Script("random_walks", "simulation"),
    Script("langevin", "simulation"),
    Script("pendulums", "simulation", chain=True),
    Script("gaussian_blur", "image", chain=True),
    Script("bilateral_filter", "image", chain=True),
    Script("histogram_equalization", "image", tolerance=0),
    Script("median_filter", "image", smoke=True),
    Script("connected_components", "image", tolerance=0),
    Script("mandelbrot", "image", tolerance=0),
    Script("julia_set", "image", chain=True),
    Script("logistic_regression", "learning"),
    Script("kmeans", "learning", smoke=True),
    Script("neural_network", "learning", tolerance=1e-3),
    Script("gaussian_mixture", "learning", tolerance=1e-5),
    Script("boosted_stumps", "learning"),
    Script("matrix_factorization", "learning"),
    Script("edit_distance", "dynamic programming", tolerance=0),
    Script("knapsack", "dynamic programming", tolerance=0, smoke=True),
    Script("longest_subsequence", "dynamic programming", tolerance=0),
    Script("viterbi", "dynamic programming"),
    Script("fft_filter", "signals"),
    Script("spectrogram", "signals"),
    Script("kalman_filter", "signals"),
    Script("iir_filter", "signals"),
    Script("gaussian_elimination", "linear algebra", tolerance=1e-5, smoke=True),
    Script("householder_qr", "linear algebra", tolerance=1e-5),
    Script("conjugate_gradient", "linear algebra", tolerance=1e-5),
    Script("triangular_solve", "linear algebra", tolerance=1e-7),
    Script("bootstrap", "statistics"),
    Script("group_by", "statistics", smoke=True),
    Script("sorted_join", "statistics"),
    Script("black_scholes", "statistics", chain=True, smoke=True),
    Script("z_scores", "statistics", chain=True),
    Script("polynomial", "statistics", chain=True),
)
BY_NAME = {script.name: script for script in SCRIPTS}


@dataclass(frozen=True)
class Way:
    """One way to run a script.

    Attributes
    ----------
    name, text
        Its name, and what it is.
    each, mean
        Highest ratios to NumPy's time to reach: of each script, and of their geometric mean.
    """

    name: str
    text: str
    each: float = 1.0
    mean: float = 1.0


NUMPY = Way("numpy", "NumPy")
FOLDED = Way("run", "`run --numpy`", each=1.15, mean=0.9)
REPLACED = Way("np", "`twofold.np`", each=2.0, mean=1.2)
WAYS = (NUMPY, FOLDED, REPLACED)
#: Highest ratio of a script of chains to NumPy's time.
CHAIN = 0.5

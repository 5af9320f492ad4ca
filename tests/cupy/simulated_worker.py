"""A benchmark worker on simulated GPUs: run in place of ``python -m asv_benchmarks.peers.worker``, with its arguments."""

import runpy
import sys

from tests.fakes import simulation

if __name__ == "__main__":
    simulation.install().devices(2)
    sys.argv = sys.argv[2:]  # what follows `-m`
    runpy.run_module(sys.argv[0], run_name="__main__")

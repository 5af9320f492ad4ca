"""``mx.viz``: tables and drawings of symbols, and drawings of compiled programs, their memory plans, and the traces of clusters."""

from .cluster import plot_cluster
from .drawing import Svg
from .memory import plot_memory
from .network import plot_network, print_summary
from .program import plot_program

__all__ = ["Svg", "plot_cluster", "plot_memory", "plot_network", "plot_program", "print_summary"]

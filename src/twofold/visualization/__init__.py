"""``mx.viz``: tables and drawings of networks, and drawings of programs, memory plans, traces, and the course of training."""

from .cluster import plot_cluster
from .curves import plot_training
from .drawing import Svg
from .memory import plot_memory
from .network import plot_network, print_summary
from .program import plot_program
from .timeline import plot_timeline

__all__ = ["Svg", "plot_cluster", "plot_memory", "plot_network", "plot_program", "plot_timeline", "plot_training", "print_summary"]

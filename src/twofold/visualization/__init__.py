"""``mx.viz``: tables and drawings of symbols, and drawings of compiled programs and their memory plans."""

from .drawing import Mermaid, Svg
from .memory import plot_memory
from .network import plot_network, print_summary
from .program import plot_program

__all__ = ["Mermaid", "Svg", "plot_memory", "plot_network", "plot_program", "print_summary"]

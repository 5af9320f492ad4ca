"""``mx.viz``: symbols as tables and drawings, and what they are compiled into: programs and where in memory their values live."""

from .drawing import Mermaid, Svg
from .memory import plot_memory
from .network import plot_network, print_summary
from .program import plot_program

__all__ = ["Mermaid", "Svg", "plot_memory", "plot_network", "plot_program", "print_summary"]

"""The kinds of random programs, by name."""

from .functions import Function
from .programs import Program
from .wide_programs import WideProgram

KINDS = {"statements": Program, "wide": WideProgram, "functions": Function}

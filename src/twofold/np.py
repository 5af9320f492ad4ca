"""`twofold.numpy` by its short name.

The import system gives the package itself, see `submodule_names`; tools that read files find it here.
"""

import sys

from . import numpy

# not its names: both ways to import it must give one module
sys.modules[__name__] = numpy

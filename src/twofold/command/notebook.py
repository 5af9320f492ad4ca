"""``%load_ext twofold`` in IPython and Jupyter: later cells import NumPy with large arrays folded."""

import os

from ..compat import mxnet_alias
from ..numpy_folding import importing
from .run import load_face


def load_ipython_extension(shell: object) -> None:
    """Called by ``%load_ext twofold``: ``import numpy`` in later cells, and in modules of the current folder that they import, folds.

    Names that are bound already stay what they are, so import numpy again. ``import mxnet`` imports Twofold.

    Parameters
    ----------
    shell
        IPython's shell.
    """
    mxnet_alias.install()
    importing.install(importing.Importers.beside(os.getcwd()), load_face)


def unload_ipython_extension(shell: object) -> None:
    """Called by ``%unload_ext twofold``: later imports of numpy get NumPy. Arrays that exist keep working.

    Parameters
    ----------
    shell
        IPython's shell.
    """
    importing.uninstall()

"""Keeps ``python -m twofold show FILE`` from importing modules of the working folder: a file from elsewhere may lie among them.

``python -m`` puts the working folder first on the path of modules, so that a file ``html.py`` beside a downloaded model would run in place
of the standard library's. For scripts, which `run` and `launch` start, Python's rule holds.
"""

import os
import sys

#: The programs that start scripts.
STARTING = frozenset({"run", "launch"})


def leave() -> None:
    """Take the working folder off the path of modules if this process is ``python -m twofold`` with a program that starts no script."""
    # while the package of `-m` is imported, "-m" stands for the file's name
    if sys.argv[:1] != ["-m"] or sys.flags.safe_path or not STARTING.isdisjoint(sys.argv[1:2]):
        return
    # the interpreter's own words end with the module's name, which may directly follow the letter of the option
    module = sys.orig_argv[-len(sys.argv)].removesuffix(".__main__")
    is_ours = module == "twofold" or (module.startswith("-") and module.endswith("mtwofold"))
    folder = os.getcwd()
    if is_ours and sys.path[:1] == [folder] and folder != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
        del sys.path[0]


leave()

"""Write what star imports from the modules of the real MXNet 1.9.1 give: ``tools/oracle make_star_imports.py``."""

import importlib
import json
import pkgutil
from pathlib import Path

import mxnet


def names(module):
    """The names that ``from module import *`` gives; None for a module that cannot be imported."""
    try:
        importlib.import_module(module)
    except (Exception, SystemExit):
        return None
    space = {}
    exec(f"from {module} import *", space)
    return sorted(space.keys() - {"__builtins__"})


found = {"mxnet": names("mxnet")}  # before the walk imports further modules
for module in pkgutil.walk_packages(mxnet.__path__, "mxnet."):
    found[module.name] = names(module.name)
lines = [f"{json.dumps(module)}: {json.dumps(' '.join(given))}" for module, given in sorted(found.items()) if given]
(Path(__file__).parent / "star_imports.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

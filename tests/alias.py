"""What the alias ``mxnet`` changes in a process, undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import twofold as mx
from twofold.extension_points import LOADERS
from twofold.gluon.signatures import Given


@contextmanager
def undone_at_the_end() -> Iterator[None]:
    """Undo what ``mxnet_alias.install`` and imports of ``mxnet`` do inside, but for what classes have been given."""
    loaders, finders, modules = dict(LOADERS), list(sys.meta_path), {*sys.modules}
    functions = Given.nd, Given.sym
    try:
        yield
    finally:
        LOADERS.clear()
        LOADERS.update(loaders)
        sys.meta_path[:] = finders
        Given.nd, Given.sym = functions
        for name in {*sys.modules} - modules:
            if name.partition(".")[0] == "mxnet":
                del sys.modules[name]
        for name in ("np", "npx"):
            vars(mx.nd).pop(name, None)

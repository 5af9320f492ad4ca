"""What the alias ``mxnet`` changes in a process, undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import twofold as mx
from twofold.extension_points import LOADERS


@contextmanager
def undone_at_the_end() -> Iterator[None]:
    """Undo what ``mxnet_alias.install`` does inside."""
    loaders, finders = dict(LOADERS), list(sys.meta_path)
    try:
        yield
    finally:
        LOADERS.clear()
        LOADERS.update(loaders)
        sys.meta_path[:] = finders
        for name in ("np", "npx"):
            vars(mx.nd).pop(name, None)

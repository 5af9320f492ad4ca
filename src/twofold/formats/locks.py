"""Locks of open files, by which processes tell whether a temporary file is in use.

The system unlocks the files of a process that ends, however it ends.
"""

import contextlib
import sys
from typing import BinaryIO

if sys.platform == "win32":

    def lock(file: BinaryIO) -> None:
        """Do nothing: open files can be neither removed nor renamed on Windows, which is what the locks are for elsewhere."""

    def is_locked_now(file: BinaryIO) -> bool:
        """Return False."""
        return False
else:
    import fcntl

    def lock(file: BinaryIO) -> None:
        """Wait for the lock of a file and hold it until the file is closed; do nothing where the file system has no locks."""
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)

    def is_locked_now(file: BinaryIO) -> bool:
        """Lock a file until it is closed if no other process has it locked; return whether it is locked now."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

"""Runs a part of a test in a forked process."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable


def in_child(check: Callable[[], object]) -> str:
    """Run a function in a forked process, and fail if it does; what the process wrote to stderr."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads at a fork
        child = os.fork()
    if not child:
        signal.alarm(60)  # it ends a child that hangs
        status = 3
        os.dup2(writing, 2)
        try:
            check()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, told
    return told

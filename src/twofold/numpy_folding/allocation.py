"""How the C library keeps memory that was freed: large temporaries of a script reuse it instead of mapping new pages."""

import ctypes
import os
import sys

# glibc's <malloc.h>
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
#: Bytes from which arrays are mapped: the most that glibc takes.
MAPPED = 32 << 20
#: Bytes of free memory at the end of the heap that are not returned to the system.
KEPT = 512 << 20


def keep_freed_memory() -> bool:
    """Let glibc keep freed blocks of less than `MAPPED` bytes for the next array, for all of the process; False for another C library.

    By default glibc returns the end of the heap to the system whenever 128 KB of it are free, and maps each large array separately. Then
    each temporary array consists of fresh pages, which cost up to eight times as much as computing its elements (arrays of 800 KB).
    """
    if sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names:
        return False
    try:
        if not os.confstr("CS_GNU_LIBC_VERSION"):
            return False
    except OSError:  # another C library
        return False
    mallopt = ctypes.CDLL(None).mallopt
    # Setting either of them also ends glibc's own adjustment of both.
    return bool(mallopt(M_MMAP_THRESHOLD, MAPPED) and mallopt(M_TRIM_THRESHOLD, KEPT))

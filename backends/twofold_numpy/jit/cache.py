"""Object code on disk: one file per kernel and target, verified when it is read; the least recently used files are pruned."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

#: If files take more bytes than this, the least recently used are removed until three quarters are left.
LIMIT = 64 << 20
_DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """The folder: ``$TWOFOLD_CACHE/jit``, or ``twofold/jit`` in the user's cache folder."""
    own = os.environ.get("TWOFOLD_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(own) / "jit" if own else Path(user) / "twofold" / "jit"


def load(key: str) -> bytes | None:
    """The object code stored under a key; None if the file is missing or damaged, or if another user owns it."""
    try:
        path = folder() / key
        if not path.is_file():  # opening a pipe would wait for its writer
            return None
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():  # never run code that another user has written
                return None
            content = file.read()
        # the time of the last use, which `_prune` reads: file systems often do not record reads
        os.utime(path)
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    return code if digest == _digest(key, code) else None


def store(key: str, code: bytes) -> None:
    """Store object code under a key if the folder is writable; the rename makes it atomic for other processes."""
    try:
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # in the same folder, because a rename is atomic only within a file system
        handle, name = tempfile.mkstemp(dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(key, code) + code)
            os.replace(name, place / key)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            return
        _prune(place)
    except (OSError, RuntimeError):
        return


def _digest(key: str, code: bytes) -> bytes:
    """A digest of the key, too: a file under another kernel's name is rejected."""
    return hashlib.sha256(key.encode() + code).digest()


def _prune(place: Path) -> None:
    """Remove the least recently used files if the total is over the limit."""
    with os.scandir(place) as entries:
        files = sorted((e.stat().st_mtime, e.stat().st_size, e.path) for e in entries if e.is_file())
    total = sum(size for _, size, _ in files)
    if total <= LIMIT:
        return
    for _, size, path in files:
        os.unlink(path)
        total -= size
        if total <= LIMIT * 3 // 4:
            return

"""Files kept for the next process, by key: machine code, plans. Each is verified when it is read; the least recently used are pruned."""

import contextlib
import os
import stat
from pathlib import Path

from ..formats.replacing import is_own
from ..signal_handlers import unless_signalled

#: Bytes of a digest.
_DIGEST = 32
#: The end of the names of all files that a cache writes, and so of those that it may remove: the folder may be one of the user's own.
_OWN = ".kept"
#: No link is followed, which others could make to a file of this user, and opening a pipe does not wait for its writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class DiskCache:
    """A folder of files by key.

    Parameters
    ----------
    name
        Name of the folder in ``$TWOFOLD_CACHE``, or in ``twofold`` in the user's cache folder.
    limit
        If files take more bytes than this, the least recently used are removed until three quarters are left.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name, self.limit = name, limit

    @property
    def folder(self) -> Path:
        """The folder, which may not exist yet."""
        own = os.environ.get("TWOFOLD_CACHE")
        user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(own) / self.name if own else Path(user) / "twofold" / self.name

    def path(self, key: str) -> Path:
        """The file of a key."""
        return self.folder / f"{key}{_OWN}"

    def load(self, key: str) -> bytes | None:
        """The content stored under a key; None if the file is missing, damaged, or may be written or put there by another user."""
        try:
            path = self.path(key)
            with os.fdopen(os.open(path, _READ), "rb") as file:
                facts = os.fstat(file.fileno())
                if not is_own(facts) or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    return None
                whole = file.read()
            # the time of the last use, which `_prune` reads: file systems often do not record reads
            os.utime(path)
        except unless_signalled((OSError, RuntimeError)):  # RuntimeError: no home folder
            return None
        digest, content = whole[:_DIGEST], whole[_DIGEST:]
        return content if digest == _digest(key, content) else None

    def store(self, key: str, content: bytes) -> None:
        """Store content under a key if the folder is writable; the rename makes it atomic for other processes."""
        try:
            import tempfile  # only programs that store something need it

            place = self.folder
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            # in the same folder, because a rename is atomic only within a file system
            handle, name = tempfile.mkstemp(_OWN, dir=place)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest(key, content) + content)
                os.replace(name, self.path(key))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._prune(place)
        except unless_signalled((OSError, RuntimeError)):
            return

    def _prune(self, place: Path) -> None:
        """Remove the least recently used of the cache's own files if their total is over the limit."""
        with os.scandir(place) as entries:
            own = [e for e in entries if e.name.endswith(_OWN) and e.is_file(follow_symlinks=False)]
            files = sorted((e.stat().st_mtime, e.stat().st_size, e.path) for e in own)
        total = sum(size for _, size, _ in files)
        if total <= self.limit:
            return
        for _, size, path in files:
            os.unlink(path)
            total -= size
            if total <= self.limit * 3 // 4:
                return


def _digest(key: str, content: bytes) -> bytes:
    """A digest of the key, too: a file under another key's name is rejected."""
    return bytes.fromhex(digest_of(key.encode() + content))


def digest_of(content: bytes) -> str:
    """The SHA-256 digest of bytes, in hexadecimal digits."""
    import hashlib  # it loads OpenSSL, which most programs do not need

    return hashlib.sha256(content).hexdigest()


def state_of_files(*folders: str) -> str:
    """A digest of the names, sizes and times of all files in and below some folders: it changes when a source does."""
    states: list[tuple[str, int, int]] = []
    waiting = list(folders)
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for e in entries:
                if e.is_dir():
                    if e.name != "__pycache__":
                        waiting.append(e.path)
                else:
                    found = e.stat()
                    states.append((e.path, found.st_size, found.st_mtime_ns))
    return digest_of(repr(sorted(states)).encode())

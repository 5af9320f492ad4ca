"""Files kept for the next process, by key: machine code, plans. Each is verified when it is read; the least recently used are pruned."""

import contextlib
import os
from pathlib import Path

#: Bytes of a digest.
_DIGEST = 32


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

    def load(self, key: str) -> bytes | None:
        """The content stored under a key; None if the file is missing or damaged, or if another user owns it."""
        try:
            path = self.folder / key
            if not path.is_file():  # opening a pipe would wait for its writer
                return None
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():  # never use what another user has written
                    return None
                whole = file.read()
            # the time of the last use, which `_prune` reads: file systems often do not record reads
            os.utime(path)
        except (OSError, RuntimeError):  # RuntimeError: no home folder
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
            handle, name = tempfile.mkstemp(dir=place)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest(key, content) + content)
                os.replace(name, place / key)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                return
            self._prune(place)
        except (OSError, RuntimeError):
            return

    def _prune(self, place: Path) -> None:
        """Remove the least recently used files if the total is over the limit."""
        with os.scandir(place) as entries:
            files = sorted((e.stat().st_mtime, e.stat().st_size, e.path) for e in entries if e.is_file())
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

"""Files named by URLs: copied from local caches and ``file://`` addresses, or fetched over HTTP; their checksums."""

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ..errors import FileAccessError, InvalidValue, ParameterError
from ..origin import warn
from ..progress_bars import BYTES, Progress
from .files import file_exists, folder_exists, join_path, make_folder, open_file, write_file
from .urls import is_url


def data_dir() -> str:
    """The folder of datasets and models: ``$MXNET_HOME``, or ``~/.mxnet``."""
    return os.environ.get("MXNET_HOME", str(Path.home() / ".mxnet"))


def _caches() -> Iterator[Path]:
    """The folders in which files are looked up before they are downloaded."""
    if os.environ.get("TWOFOLD_DATA"):
        yield Path(os.environ["TWOFOLD_DATA"])
    home = Path(data_dir())
    yield from (home, home / "datasets", home / "models")


def local_copy(url: str) -> Path | None:
    """The file that a URL names if this machine has it; None otherwise.

    It is the path of a ``file://`` URL, or a file of the same name in ``$TWOFOLD_DATA``, in `data_dir`, or in its folders ``datasets`` and
    ``models``.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        from urllib.request import url2pathname  # here, as it loads HTTP and OpenSSL, which few programs need

        return Path(url2pathname(unquote(parts.path)))
    name = Path(unquote(parts.path)).name
    return next((folder / name for folder in _caches() if name and (folder / name).is_file()), None)


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Whether a file has a SHA-1 checksum.

    Parameters
    ----------
    filename
        Path of the file.
    sha1_hash
        Checksum in 40 hexadecimal digits, in lower case.

    Examples
    --------
    >>> check_sha1(__file__, "not a checksum")
    False
    """
    return sha1_of(filename) == sha1_hash


def sha1_of(filename: str | os.PathLike[str]) -> str:
    """The SHA-1 checksum of a file in hexadecimal digits."""
    with open_file(filename, "rb") as file:
        return hashlib.file_digest(cast("Any", file), "sha1").hexdigest()


def fetch(url: str, target: str, verify_ssl: bool = True, sha1_hash: str | None = None) -> None:
    """Copy what a URL names into a file, which is replaced atomically: no reader ever sees a part of it.

    The bytes that arrived before a failure are kept next to the file. The next attempt requests the rest, if the server identifies the
    content (so that a change is noticed) and sends ranges.

    Raises
    ------
    FileAccessError
        If there is neither a local copy nor an answer from the server, or the content has another checksum.
    """
    import tempfile  # here and below, as they take longer to load than arrays do, and few programs download
    from http.client import HTTPException
    from urllib.error import URLError

    from .resuming import CHUNK, Counted, opened_source, partial_file

    if is_url(target):
        # all of it is here, and its checksum compared, before a byte is sent to the target
        with tempfile.TemporaryDirectory(prefix="twofold-") as folder:
            local = os.path.join(folder, "content")
            fetch(url, local, verify_ssl, sha1_hash)
            with open(local, "rb") as file:
                write_file(target, iter(partial(file.read, CHUNK), b""))
        return
    try:
        with opened_source(url, local_copy(url), verify_ssl) as source, partial_file(target, url, source) as part:
            with source.rest(part.size) as rest, Progress((), Path(target).name, rest.size, unit=BYTES, delay=1.0) as bar:
                bar.step(rest.start)
                part.take(rest._replace(file=Counted(rest.file, bar.step)))
            if sha1_hash is None or check_sha1(part.path, sha1_hash):
                part.publish(target)
                return
            found = sha1_of(part.path)
            # removed, not continued: the download is complete, but wrong
            part.remove()
    except (OSError, ValueError, HTTPException) as error:  # URLError and HTTPError are OSErrors; ValueError is an unknown kind of URL
        text = str(error.reason) if isinstance(error, URLError) else str(error)
        name = Path(urlsplit(url).path).name
        todo = f"put {name} into {data_dir()} (or set MXNET_HOME), or connect to the network"
        raise FileAccessError(f"Failed downloading url {url}", text, todo) from error
    given = f"SHA-1 {found}, not {sha1_hash}"
    raise FileAccessError(f"File {target} is downloaded but the content hash does not match", given, "check url and sha1_hash")


def retried(attempt: Callable[[], object], retries: int, say: Callable[[Exception, int], None]) -> None:
    """Call a function until it raises no FileAccessError, at most ``retries`` times more; ``say`` gets each failure but the last."""
    for left in range(retries, -1, -1):
        try:
            attempt()
            return
        except FileAccessError as error:
            if left == 0:
                raise
            say(error, left)


def download(
    url: str,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Download a file, unless it exists already; files in local caches (see `local_copy`) are copied.

    A download that was interrupted is continued, if the server can.

    Parameters
    ----------
    url
        ``http://``, ``https://``, ``file://``, or what fsspec opens, such as ``s3://``.
    path
        The file to write, or an existing folder, in which it gets its name from the URL; the current folder if None. It may be a URL.
    overwrite
        Whether to download a file that exists.
    sha1_hash
        The expected checksum in hexadecimal digits. A file with another one is downloaded again.
    retries
        Further attempts after a failure.
    verify_ssl
        Whether to verify the server's certificate.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    ParameterError
        If the URL names no file and ``path`` is None, or ``retries`` is negative.
    FileAccessError
        If the download fails, or the file has another checksum.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "numbers.txt").write_text("1 2 3")
    >>> Path(download((folder / "numbers.txt").as_uri(), folder / "copy.txt")).read_text()
    Downloading ...copy.txt from file://.../numbers.txt...
    '1 2 3'
    """
    if retries < 0:
        raise InvalidValue("Number of retries should be at least 0", str(retries), "pass 0 for a single attempt")
    name = url.rsplit("/", 1)[-1]
    if path is None and not name:
        raise ParameterError("Can't construct file-name from this URL.", url, "Please set the `path` option manually.")
    target = os.path.expanduser(name if path is None else path)
    if folder_exists(target):
        # as MXNet names it: by the text after the last slash, even if it is a query
        target = join_path(target, name)
    if file_exists(target) and not overwrite and (sha1_hash is None or check_sha1(target, sha1_hash)):
        return target
    make_folder(os.path.dirname(target) or ".")
    if not verify_ssl:
        warn("Unverified HTTPS request is being made (verify_ssl=False).")

    def attempt() -> None:
        print(f"Downloading {target} from {url}...")
        fetch(url, target, verify_ssl, sha1_hash)

    def say(error: Exception, left: int) -> None:
        print(f"download failed due to {error!r}, retrying, {left} attempt{'s' if left > 1 else ''} left")

    retried(attempt, retries, say)
    return target

"""The SHA-1 checksums of the files of published image datasets, and what is said about a file that has another one."""

from hashlib import sha1

from ....config import SETTINGS
from ....errors import FormatError
from ....origin import warn

__all__ = ["CIFAR10_SUMS", "CIFAR100_SUMS", "FASHION_MNIST_SUMS", "MNIST_SUMS", "check_published"]

#: Checksums that MXNet 1.9.1 expects (`_train_data` and its siblings of its datasets), by name of file.
MNIST_SUMS = {
    "train-images-idx3-ubyte.gz": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
    "train-labels-idx1-ubyte.gz": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
    "t10k-images-idx3-ubyte.gz": "c3a25af1f52dad7f726cce8cacb138654b760d48",
    "t10k-labels-idx1-ubyte.gz": "763e7fa3757d93b0cdec073cef058b2004252c17",
}
FASHION_MNIST_SUMS = {
    "train-images-idx3-ubyte.gz": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
    "train-labels-idx1-ubyte.gz": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
    "t10k-images-idx3-ubyte.gz": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
    "t10k-labels-idx1-ubyte.gz": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
}
CIFAR10_SUMS = {
    "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
}
CIFAR100_SUMS = {
    "train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e",
    "test.bin": "8fb6623e830365ff53cf14adec797474f5478006",
}

#: Path, name and checksum of the files that a warning has named.
_named: set[tuple[str, str, str]] = set()


def check_published(title: str, source: str, name: str, content: bytes, sums: dict[str, str]) -> None:
    """Warn, once for each file, if a file is not the published one of its name: what is trained on it compares with no published figure.

    MXNet would download it again. Files made for a test, subsets and reconstructions are read all the same.

    Parameters
    ----------
    title
        The dataset, for messages.
    source, name
        The file that the content is from, and the name that the dataset has for it. Names without a known checksum are not checked.
    content
        What the file has.
    sums
        Checksums by name.

    Raises
    ------
    FormatError
        If the checksum is another one and the setting ``strict`` is on (``TWOFOLD_STRICT=1``).
    """
    wanted = sums.get(name)
    found = sha1(content, usedforsecurity=False).hexdigest() if wanted else None
    if found == wanted:
        return
    todo = "download it again, unless you made it"
    error = FormatError(f"{title}: {name} is not the published file", f"SHA-1 {found}, not {wanted}", todo).at_path(source)
    if SETTINGS.strict:
        raise error
    if (source, name, str(found)) not in _named:
        _named.add((source, name, str(found)))
        warn(f"{error} (it is read all the same; TWOFOLD_STRICT=1 makes this an error)")

"""The networks that MXNet published: the functions that create them; their files of trained parameters, checksums and folder."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...device import Device
from ...errors import FileAccessError, FormatError, MissingFileError, ParameterError
from ...formats.archives import read_zipped
from ...formats.downloads import check_sha1, data_dir, download
from ...formats.files import file_exists, folder_entries, folder_exists, join_path, remove_file, write_file
from ...origin import warn
from ...suggestions import did_you_mean
from ..hybrid_block import HybridBlock, Naming

__all__ = ["MODELS", "NetOptions", "apache_repo_url", "get_model", "get_model_file", "load_pretrained", "purge", "short_hash"]

#: Folder of the files, unless another one is given.
MODELS = os.path.join(data_dir(), "models")
#: The server of the archives, unless ``$MXNET_GLUON_REPO`` names another one.
apache_repo_url = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"

#: SHA-1 checksums of the files by model.
CHECKSUMS: dict[str, str] = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
#: The functions that create networks, by the names of the published files; see `published`.
NETWORKS: dict[str, Callable[..., HybridBlock]] = {}

#: How many bytes a file of parameters may have; the largest that MXNet published, vgg19_bn's, has 575 million.
MOST = 1 << 30
#: A folder of files.
Root = str | os.PathLike[str]
Net = TypeVar("Net", bound=HybridBlock)
Make = TypeVar("Make", bound=Callable[..., HybridBlock])


class NetOptions(Naming, total=False):
    """The arguments that all networks take as ``**kwargs``."""

    classes: int


def short_hash(name: str) -> str:
    """The first eight digits of a model's checksum, which are part of its file's name.

    Raises
    ------
    ParameterError
        If there is no file for a model of that name.

    Examples
    --------
    >>> short_hash("resnet18_v1")
    'a0666292'
    """
    if name not in CHECKSUMS:
        raise ParameterError(f"Pretrained model for {name} is not available.", None, f"the files are {', '.join(CHECKSUMS)}")
    return CHECKSUMS[name][:8]


def get_model_file(name: str, root: Root = MODELS) -> str:
    """The path of the file of a model's trained parameters.

    The file is ``name-hash.params`` in the folder, with `short_hash`; if it is missing, the archive ``name-hash.zip`` beside it, in a local
    cache (see `download`), or on MXNet's server.

    Parameters
    ----------
    name
        A model, such as ``"resnet18_v1"``.
    root
        The folder; ``~/.mxnet/models`` or ``$MXNET_HOME/models`` by default.

    Raises
    ------
    ParameterError
        If there is no file for a model of that name.
    MissingFileError
        If the file cannot be found or downloaded.
    FormatError
        If the archive lacks the file, or the file has another checksum.
    """
    stem = f"{name}-{short_hash(name)}"
    target = join_path(root, f"{stem}.params")
    if file_exists(target):
        if check_sha1(target, CHECKSUMS[name]):
            return target
        warn(f"{target}: the content does not have the checksum {CHECKSUMS[name]}; looking for the file elsewhere")
    # atomically: another process may be reading the file of the same name
    write_file(target, [_extracted(_archive(root, stem, CHECKSUMS[name]), f"{stem}.params", CHECKSUMS[name])])
    return target


def _archive(root: Root, stem: str, checksum: str) -> str:
    """The archive of a file, downloaded into the folder if it is not there."""
    archive = join_path(root, f"{stem}.zip")
    if file_exists(archive):
        return archive
    repository = os.environ.get("MXNET_GLUON_REPO", apache_repo_url)
    url = f"{repository.rstrip('/')}/gluon/models/{stem}.zip"
    try:
        return download(url, archive, retries=0)
    except FileAccessError as error:
        todo = f"put {stem}.params (SHA-1 {checksum}) or {stem}.zip into {root}, or pass the folder that has it as root"
        raise MissingFileError(f"{stem}.params: there are no trained parameters here", f"{url}: {error.given}", todo) from error


def _extracted(archive: str, name: str, checksum: str) -> bytes:
    """The archive's member of that name, if it has the checksum; nothing else is extracted."""
    found = read_zipped(archive, name, MOST)
    actual = hashlib.sha1(found).hexdigest()
    if actual != checksum:
        raise FormatError(f"{archive}: {name} has another checksum", f"{actual}, not {checksum}", "remove it and get it again")
    return found


def load_pretrained(net: Net, name: str, pretrained: bool, ctx: Device | list[Device], root: Root) -> Net:
    """The network, with its trained parameters loaded if ``pretrained`` is set; see `get_model_file`."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net


def published(name: str) -> Callable[[Make], Make]:
    """Function decorator: `get_model` finds the function that creates a network by the name of the network's published file."""

    def enter(function: Make) -> Make:
        NETWORKS[name] = function
        return function

    return enter


def variant(
    get: Callable[..., Net], title: str, what: str, *arguments: object, name: str | None = None, **fixed: object
) -> Callable[..., Net]:
    """The function that creates one network of a family, and is entered as `published`.

    Parameters
    ----------
    get
        The function that creates all networks of the family.
    title
        The name of the published file.
    what
        Describes the network, for the docstring.
    *arguments, **fixed
        Arguments of ``get`` that the network fixes.
    name
        The function's name; that of the file, with underscores for points, if None.
    """

    def create(**kwargs: object) -> Net:
        return get(*arguments, **{**kwargs, **fixed})

    create.__name__ = create.__qualname__ = name or title.replace(".", "_")
    create.__module__ = get.__module__  # where the family's module assigns it, so that it can be pickled
    create.__doc__ = f"{what}; takes the parameters of `{get.__name__}`."
    create.__annotations__["return"] = get.__annotations__["return"]
    return published(title)(create)


def get_model(name: str, **kwargs: object) -> HybridBlock:
    """A network by name.

    Parameters
    ----------
    name
        Such as ``"resnet50_v1"``; capital letters count as small ones.
    **kwargs
        ``pretrained``, ``ctx``, ``root`` and ``classes``, as the network's own function takes them.

    Raises
    ------
    ParameterError
        If there is no network of that name, or the file of its trained parameters is not to be found.

    Examples
    --------
    >>> from twofold.gluon.model_zoo.vision import get_model
    >>> net = get_model("squeezenet1.1", classes=10)
    >>> len(list(net.collect_params().keys()))
    52
    """
    found = NETWORKS.get(name.lower())
    if found is None:
        likely = did_you_mean(name.lower(), NETWORKS, f"use one of {', '.join(sorted(NETWORKS))}")
        raise ParameterError(f"Model {name.lower()} is not supported", None, likely)
    return found(**kwargs)


def purge(root: Root = MODELS) -> None:
    """Remove all files ``*.params`` in a folder.

    Parameters
    ----------
    root
        The folder.

    Raises
    ------
    MissingFileError
        If there is no such folder.
    """
    folder = join_path(root, "")
    if not folder_exists(folder):
        raise MissingFileError("purge: there is no such folder", str(root), "pass the folder of the models")
    for name in folder_entries(folder):
        if name.endswith(".params"):
            remove_file(join_path(folder, name))

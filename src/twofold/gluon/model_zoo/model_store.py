"""The files of trained parameters that MXNet published: their names, checksums and folder."""

import hashlib
import os
import zipfile
from typing import TypeVar

from ...device import Device
from ...errors import FileAccessError, FormatError, MissingFileError, ParameterError
from ...formats.downloads import check_sha1, data_dir, download
from ...formats.files import file_exists, folder_entries, folder_exists, join_path, open_file, remove_file, write_file
from ...origin import warn
from ..block import Block

__all__ = ["MODELS", "apache_repo_url", "get_model_file", "load_pretrained", "purge", "short_hash"]

#: Folder of the files, unless another one is given.
MODELS = os.path.join(data_dir(), "models")
#: The server of the archives, unless ``$MXNET_GLUON_REPO`` names another one.
apache_repo_url = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"

#: SHA-1 checksums of the files by model.
CHECKSUMS = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}

Net = TypeVar("Net", bound=Block)


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


def get_model_file(name: str, root: str | os.PathLike[str] = MODELS) -> str:
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


def _archive(root: str | os.PathLike[str], stem: str, checksum: str) -> str:
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
    try:
        with open_file(archive, "rb") as file, zipfile.ZipFile(file) as content:
            found = content.read(name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FormatError(f"{archive}: not an archive of {name}", str(error), "remove it and get it again") from error
    actual = hashlib.sha1(found).hexdigest()
    if actual != checksum:
        raise FormatError(f"{archive}: {name} has another checksum", f"{actual}, not {checksum}", "remove it and get it again")
    return found


def load_pretrained(net: Net, name: str, pretrained: bool, ctx: Device | list[Device], root: str | os.PathLike[str]) -> Net:
    """The network, with its trained parameters loaded if ``pretrained`` is set; see `get_model_file`."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net


def purge(root: str | os.PathLike[str] = MODELS) -> None:
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

"""``python -m twofold im2rec``: makes a list of the images in a folder, and a file of records of a list.

With ``--list`` it writes lists; without, it makes a file of records and its index for each list whose name starts with the prefix. The
arguments are those of MXNet's ``im2rec.py``.
"""

import argparse
import os
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ..errors import FileAccessError, FormatError, MissingFileError, printable
from ..formats.files import file_exists, folder_entries, folder_exists, join_path, read_file, remove_file, with_suffix, write_file
from ..formats.image_lists import ListedImage, dump_image_list, read_image_list
from ..formats.images import Picture, dump_image, load_image
from ..formats.recordio import dump_record
from ..formats.records import ArrayRecord
from ..image.geometry import Map
from ..progress_bars import progress
from ..recordio.labeled import IRHeader, pack

EXTENSIONS = (".jpeg", ".jpg", ".png")
#: Images in flight for each thread: enough to keep all of them busy, and few in memory.
AHEAD = 4
LINEAR = 1
Waiting = deque[tuple[ListedImage, Future[bytes]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the program."""
    parser.add_argument("prefix", help="path and beginning of the names of lists and records")
    parser.add_argument("root", help="folder of the images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="make lists instead of records")
    lists.add_argument("--exts", nargs="+", default=list(EXTENSIONS), metavar=".EXT", help="what names of images end with")
    lists.add_argument("--chunks", type=int, default=1, help="number of lists")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="share of the images in the list to train with")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="share of the images in the list to test with")
    lists.add_argument("--recursive", action="store_true", help="go through all folders; each has a label of its own")
    lists.add_argument("--no-shuffle", dest="shuffle", action="store_false", help="keep the images in order")
    records = parser.add_argument_group("records")
    records.add_argument("--pass-through", action="store_true", help="store the files as they are")
    records.add_argument("--resize", type=int, default=0, help="length of the shorter side; 0 leaves images as they are")
    records.add_argument("--center-crop", action="store_true", help="cut out the square in the center")
    records.add_argument("--quality", type=int, default=95, help="of a JPEG 1 to 100, effort of compressing a PNG 0 to 9")
    records.add_argument("--num-thread", type=int, default=1, help="number of images to work on at the same time")
    records.add_argument("--color", type=int, default=1, choices=[-1, 0, 1], help="1 colors, 0 gray, -1 as in the file")
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"], help="format of stored images")
    records.add_argument("--pack-label", action="store_true", help="store all labels of an image instead of the first")


def execute(given: argparse.Namespace) -> int:
    """Make the lists or records; return 1 if there were no images, or an image was left out."""
    if given.list:
        return _make_lists(given)
    start = os.path.basename(given.prefix)
    folder = given.prefix.removesuffix(start)
    lists = [folder + name for name in folder_entries(folder or ".") if name.startswith(start) and name.endswith(".lst")]
    if not lists:
        raise MissingFileError(f"im2rec: no list {given.prefix}*.lst", todo="make one with --list")
    return max(_make_records(path, given) for path in lists)


# ------------------------------------------------------------------------------------------------------------------- lists


def _make_lists(given: argparse.Namespace) -> int:
    if not folder_exists(given.root):
        raise MissingFileError(f"im2rec: no folder {given.root}", todo="pass the folder of the images")
    images = list(_found(given.root, given.recursive, tuple(ext.lower() for ext in given.exts)))
    if given.shuffle:
        random.Random(100).shuffle(images)  # MXNet's seed
    size = -(-len(images) // given.chunks)
    for chunk in range(given.chunks):
        part = images[chunk * size : (chunk + 1) * size]
        name = f"{given.prefix}_{chunk}" if given.chunks > 1 else given.prefix
        # each rounded down, as in MXNet; the rest is for validation
        test, train = int(len(part) * given.test_ratio), int(len(part) * given.train_ratio)
        if given.train_ratio == 1:
            _write_list(f"{name}.lst", part)
            continue
        if given.test_ratio:
            _write_list(f"{name}_test.lst", part[:test])
        if given.train_ratio + given.test_ratio < 1:
            _write_list(f"{name}_val.lst", part[test + train :])
        _write_list(f"{name}_train.lst", part[test : test + train])
    return 0 if images else 1


def _found(root: str, recursive: bool, extensions: tuple[str, ...]) -> Iterator[ListedImage]:
    """The images in a folder, with the number of the folder as the label if folders are searched recursively."""
    number = label = 0
    for folder, names in _folders(root, "", recursive):
        files = [name for name in names if os.path.splitext(name)[1].lower() in extensions and file_exists(join_path(root, folder + name))]
        for name in files:
            yield ListedImage(number, [float(label)], folder + name)
            number += 1
        # a folder without images of its own has no label, so labels are consecutive
        if files and recursive:
            print(printable(f"{folder.rstrip('/') or '.'} {label}"))
            label += 1


def _folders(root: str, folder: str, recursive: bool) -> Iterator[tuple[str, list[str]]]:
    """A folder within another one and the names in it; then the folders in it, if all are gone through."""
    names = folder_entries(join_path(root, folder))
    yield folder, names
    for name in names if recursive else ():
        if folder_exists(join_path(root, folder + name)):
            yield from _folders(root, f"{folder}{name}/", recursive)


def _write_list(path: str, images: Sequence[ListedImage]) -> None:
    write_file(path, dump_image_list(images))
    print(f"{path}: {len(images)} images")


# ----------------------------------------------------------------------------------------------------------------- records


def _make_records(path: str, given: argparse.Namespace) -> int:
    """Make the records of a list. Both files get their names only when they are whole."""
    images = read_image_list(path, root=given.root)
    index: list[bytes] = []
    left_out: list[str] = []
    records = with_suffix(path, ".rec")
    with progress(title=os.path.basename(path), total=len(images)) as bar:
        write_file(records, _before_removal(with_suffix(path, ".idx"), _records(images, given, index, left_out, bar.step)))
        write_file(with_suffix(path, ".idx"), index)
    for text in left_out:
        print(printable(f"left out: {text}"))
    print(f"{records}: {len(images) - len(left_out)} images")
    return 1 if left_out else 0


def _before_removal(index_file: str, records: Iterator[bytes]) -> Iterator[bytes]:
    """The records; then the old index is removed, which must not be found beside them if this program is killed before it writes theirs."""
    # `write_file` takes the last of the records before it renames the new file over the old one
    yield from records
    remove_file(index_file)


def _records(
    images: Sequence[ListedImage], given: argparse.Namespace, index: list[bytes], left_out: list[str], step: Callable[[], None]
) -> Iterator[bytes]:
    """The records in the order of the list, made by threads some images ahead."""
    offset = 0
    with ThreadPoolExecutor(max(given.num_thread, 1)) as pool:
        waiting: Waiting = deque()
        for image in images:
            waiting.append((image, pool.submit(_record, image, given)))
            if len(waiting) < AHEAD * max(given.num_thread, 1):
                continue
            # the threads' records are written in the order of submission, so offsets are known
            offset, record = _next(waiting, offset, index, left_out, step)
            yield record
        while waiting:
            offset, record = _next(waiting, offset, index, left_out, step)
            yield record


def _next(waiting: Waiting, offset: int, index: list[bytes], left_out: list[str], step: Callable[[], None]) -> tuple[int, bytes]:
    image, result = waiting.popleft()
    try:
        record = dump_record(result.result())
        index.append(f"{image.number}\t{offset}\n".encode())
    except (FormatError, FileAccessError) as error:
        # an image that cannot be read takes no place, and the numbers of the others stay
        record = b""
        left_out.append(str(error))
    step()
    return offset + len(record), record


def _record(image: ListedImage, given: argparse.Namespace) -> bytes:
    """The content of an image's record."""
    path = join_path(given.root, image.name)
    data = read_file(path)
    # a number goes into the header itself, an array after it
    label = np.array(image.labels, "float32") if given.pack_label else image.labels[0]
    header = IRHeader(0, label, image.number, 0)
    if given.pass_through:
        return pack(header, data)
    try:
        return pack(header, dump_image(_changed(data, given), given.encoding, given.quality))
    except FormatError as error:
        raise error.at_path(path) from None


def _changed(data: bytes, given: argparse.Namespace) -> ArrayRecord:
    """An image in the form in which it is stored."""
    pixels = load_image(data, {-1: None, 0: 1, 1: 3}[given.color])
    if not given.resize and not given.center_crop:
        return pixels
    channels = (*(pixels.shape or ()), 1)[2]
    picture = Picture.of(pixels)
    change = Map(picture.width, picture.height)
    if given.center_crop:
        side = min(change.width, change.height)
        change.crop((change.width - side) // 2, (change.height - side) // 2, side, side)
    if given.resize:
        change.resize_short(given.resize)
    found = change.applied(picture, LINEAR, 0)
    return ArrayRecord("uint8", found.shape if channels > 1 else found.shape[:2], found.tobytes())

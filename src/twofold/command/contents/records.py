"""Files of records: their number and sizes, and the contents of the first or of some records."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...errors import FormatError, MissingDependency
from ...formats.recordio import RecordReader, load_index
from ...formats.thumbnails import image_facts, is_image, thumbnail
from ...image.detection import split_label
from ...recordio.labeled import HEADER, unpack
from .content import Content, Fact, Sample, Selection, Table, selected, spread
from .inspected_file import InspectedFile

#: Records that are parsed, in addition to those that are shown; and how many different values a table lists.
EXAMINED, LISTED = 256, 20
#: Headers of records that are no labeled data would name ids beyond these limits.
MOST_LABELS, LARGEST_ID = 1 << 20, 1 << 48
#: Bytes of a record that is not labeled data that are shown.
SHOWN_BYTES = 60
Objects = Sequence[tuple[float, float, float, float, float]]


def read_records(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Count the records, and look into some of them."""
    reader = RecordReader(source.file)
    damaged: list[FormatError] = []
    offsets = _offsets(source, reader, content, damaged)
    content.facts["whole records" if damaged else "records"] = len(offsets)
    if damaged:
        content.facts["damaged places"] = len(damaged)
    _look_into(reader, offsets, content, selection)
    if damaged:
        raise damaged[0]


def _offsets(source: InspectedFile, reader: RecordReader, content: Content, damaged: list[FormatError]) -> "array[int]":
    """Where the whole records are: by the index if the file is far away, by their headers otherwise."""
    index = source.beside(".rec", ".idx")
    entries = sorted(offset for _, offset in load_index(index)) if index is not None else []
    # every header would be a request of its own
    if index is not None and not source.is_local:
        content.facts["index"] = f"{len(entries)} keys; the records are counted by it"
        return array("q", entries)
    offsets = array("q", reader.offsets(damaged.append))
    if offsets and not damaged:
        # without damage the records fill the file, so each ends where the next begins
        sizes = np.diff(np.array([*offsets, source.size]))
        content.facts["bytes of a record"] = f"{sizes.min()} to {sizes.max()}, {sizes.mean():.0f} on average"
    if index is not None:
        agrees = entries == offsets.tolist()
        content.facts["index"] = f"{len(entries)} keys; {'it agrees' if agrees else 'it does not belong to these records'}"
    return offsets


def _look_into(reader: RecordReader, offsets: "array[int]", content: Content, selection: Selection) -> None:
    chosen = selected(len(offsets), selection)
    examined = [_record(reader, offsets[k]) for k in spread(len(offsets), EXAMINED)]
    if not examined:
        return
    # all or none: a file of other bytes may have a record that looks as if it had a label
    labeled = [_labeled(data) for data in examined]
    are_labeled = all(found is not None for found in labeled)
    content.facts["content"] = "data with labels" if are_labeled else "bytes"
    if len(examined) < len(offsets):
        content.facts["looked into"] = f"{len(examined)} records, evenly spaced"
    if are_labeled:
        _count([found for found in labeled if found is not None], content)
    for k in chosen:
        data = _record(reader, offsets[k])
        found = _labeled(data) if are_labeled else None
        content.samples.append(_bytes_sample(k, data) if found is None else _labeled_sample(k, found, content, selection))


def _record(reader: RecordReader, offset: int) -> bytes:
    reader.offset = offset
    return reader.read() or b""


def _labeled(data: bytes) -> tuple[HEADER, bytes] | None:
    """The header and data of a record that looks as if it had a label; None for other bytes."""
    try:
        header, rest = unpack(data)
    except FormatError:
        return None
    finite = np.isfinite(np.asarray(header.label)).all()
    return (header, rest) if header.flag <= MOST_LABELS and max(header.id, header.id2) < LARGEST_ID and finite else None


def _count(labeled: Sequence[tuple[HEADER, bytes]], content: Content) -> None:
    """Tables of the labels, and of the images' formats and sizes."""
    widths = Counter(np.size(header.label) for header, _ in labeled)
    content.facts["numbers in a label"] = ", ".join(map(str, sorted(widths)))
    if set(widths) == {1}:
        labels = Counter(float(np.ravel(header.label)[0]) for header, _ in labeled)
        content.tables.append(_counted("Labels", "label", Counter({f"{label:g}": n for label, n in sorted(labels.items())})))
    try:
        kinds, sizes = zip(*(_format(data) for _, data in labeled), strict=True)
    except MissingDependency as error:
        content.facts["images"] = str(error)
        return
    for side, name in enumerate(("width", "height")):
        known = [size[side] for size in sizes if size is not None]
        if known:
            content.facts[f"{name} in pixels"] = f"{min(known)} to {max(known)}" if min(known) < max(known) else known[0]
    content.tables.append(_counted("Formats", "format", Counter(kinds)))


def _counted(title: str, head: str, counts: Counter[str]) -> Table:
    rows: list[tuple[Fact, ...]] = list(counts.most_common(LISTED))
    rest = counts.total() - sum(counts[str(name)] for name, _ in rows)
    rows += [(f"{len(counts) - len(rows)} others", rest)] if rest else []
    return Table(title, (head, "records"), rows)


def _format(data: bytes) -> tuple[str, tuple[int, int] | None]:
    """The format of an image, and its width and height."""
    if not is_image(data):
        return "no image", None
    try:
        found = image_facts(data)
    except FormatError:
        return "damaged image", None
    return f"{found.format} {found.mode}", (found.width, found.height)


def _bytes_sample(number: int, data: bytes) -> Sample:
    return Sample(number, {"bytes": len(data), "content": repr(data[:SHOWN_BYTES])[2:-1] + ("…" if len(data) > SHOWN_BYTES else "")})


def _labeled_sample(number: int, found: tuple[HEADER, bytes], content: Content, selection: Selection) -> Sample:
    header, data = found
    facts: dict[str, Fact] = {"label": _label_text(header.label), "id": header.id, "bytes": len(data)}
    boxes = objects_of(np.ravel(np.asarray(header.label, np.float64)), selection.boxes)
    if boxes:
        facts["objects"] = len(boxes)
    if not is_image(data):
        return Sample(number, facts | {"content": repr(data[:SHOWN_BYTES])[2:-1]}, boxes=boxes)
    try:
        picture = thumbnail(data)
    except FormatError as error:
        return Sample(number, facts, boxes=boxes, fault=str(error))
    except MissingDependency:
        return Sample(number, facts, boxes=boxes)
    facts["image"] = f"{picture.format} {picture.width}x{picture.height} {picture.mode}"
    return Sample(number, facts, (picture.data, *picture.shown), boxes)


def _label_text(label: object) -> str:
    values = [f"{value:g}" for value in np.ravel(np.asarray(label)).tolist()]
    return " ".join(values) if len(values) <= LISTED else f"{' '.join(values[:LISTED])} … ({len(values)} numbers)"


def objects_of(label: np.ndarray, asked: bool) -> Objects:
    """The objects of a label with a head and objects, as for detection; none for other labels.

    Parameters
    ----------
    label
        The numbers.
    asked
        Whether the user says that they are boxes. Otherwise they count as boxes only if all lie in the image.
    """
    try:
        head, objects = split_label(label)
    except (FormatError, ValueError, OverflowError):
        # five numbers an object without a head, if the user says that the labels are boxes
        if not asked or not label.size or label.size % 5:
            return ()
        head, objects = label[:0], label.reshape(-1, 5)
    sides = objects[:, 1:5]
    # The first two numbers of a head are counts, so they are integers. Boxes may extend a little beyond the image, because of rounding.
    are_shares = bool(len(objects)) and math.isclose(float(np.sum(head[:2] % 1)), 0) and sides.min() >= -0.01 and sides.max() <= 1.01
    return [tuple(row[:5]) for row in objects.tolist()] if asked or are_shares else ()

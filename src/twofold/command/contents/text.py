"""Files of text: indices, lists of images, CSV and LibSVM. For a large file, only its first rows and its number of lines are read."""

import re
from collections import Counter
from itertools import compress

import numpy as np

from ...errors import FormatError
from ...formats.image_lists import load_image_list
from ...formats.recordio import load_index
from .content import Content, Fact, Selection, Table
from .inspected_file import InspectedFile

#: Bytes of a file of rows that are parsed, and the numbers of a row that are shown.
PARSED, SHOWN_NUMBERS = 1 << 20, 12
#: Labels that a table lists.
LISTED = 20
# Every repetition is possessive: a text that almost matches is refused in one pass, instead of after trying all ways to divide it.
EXPONENT = rb"(?:[eE][-+]?\d++)?+"
NUMBER = rb"[-+]?(?>\d++\.?+\d*+" + EXPONENT + rb"|\.\d++" + EXPONENT + rb"|nan|inf)"
INDEX_LINE = re.compile(rb"[^\t\r\n]++\t\d++[ \t]*+\r?\n?")
LIST_LINE = re.compile(rb"\d++(?:\t" + NUMBER + rb"(?=\t))++\t[^\t\r\n]++\r?\n?")
LABELS = NUMBER + rb"(?::" + NUMBER + rb")?+(?:[, ]" + NUMBER + rb"(?!:))*+"
LIBSVM_LINE = re.compile(LABELS + rb"(?:\s++qid:\d++)?+(?:\s++\d++:" + NUMBER + rb")++\s*+(?:#.*+\s*+)?+")
CSV_LINE = re.compile(NUMBER + rb"(?:\s*+,\s*+" + NUMBER + rb")*+\s*+,?+\s*+", re.IGNORECASE)


def _first_line(head: bytes) -> bytes:
    return next((line for line in head.splitlines(keepends=True) if line.strip()), b"")


def looks_like_index(head: bytes) -> bool:
    """Whether the first line is a key, a tab and an offset."""
    return INDEX_LINE.fullmatch(_first_line(head)) is not None


def looks_like_list(head: bytes) -> bool:
    """Whether the first line consists of a number, labels and a name, separated by tabs."""
    return LIST_LINE.fullmatch(_first_line(head)) is not None


def looks_like_libsvm(head: bytes) -> bool:
    """Whether the first line is a label and pairs of index and value."""
    return LIBSVM_LINE.fullmatch(_first_line(head)) is not None


def looks_like_csv(head: bytes) -> bool:
    """Whether the known part of the first line consists of numbers separated by commas."""
    # a line longer than the head may end within a number, so it is compared up to the last comma
    return CSV_LINE.fullmatch(_first_line(head[: head.rfind(b",") + 1 or None] if b"\n" not in head else head)) is not None


def read_index(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Keys and offsets of a file of records."""
    entries = load_index(source.read(0, source.size))
    content.facts["keys"] = len(entries)
    if not entries:
        return
    offsets = [offset for _, offset in entries]
    content.facts["offsets"] = f"{min(offsets)} to {max(offsets)}" + ("" if offsets == sorted(offsets) else ", not in order")
    twice = len(entries) - len({key for key, _ in entries})
    if twice:
        content.facts["keys that occur again"] = twice
    content.tables.append(Table("First entries", ("key", "offset"), entries[: selection.count]))


def read_list(source: InspectedFile, content: Content, selection: Selection) -> None:
    """A list of images."""
    rows: list[tuple[Fact, ...]] = []
    widths: Counter[int] = Counter()
    labels: Counter[float] = Counter()
    try:
        for image in load_image_list(source.read(0, source.size)):
            widths[len(image.labels)] += 1
            labels[image.labels[0]] += 1
            if len(rows) < selection.count:
                rows.append((image.number, " ".join(f"{label:g}" for label in image.labels), image.name))
    finally:  # a damaged line is shown after those before it
        content.facts["images"] = widths.total()
        content.facts["numbers in a label"] = ", ".join(map(str, sorted(widths)))
        if set(widths) == {1}:
            most = [(f"{label:g}", count) for label, count in labels.most_common(LISTED)]
            content.facts["different labels"] = len(labels)
            content.tables.append(Table("Labels", ("label", "images"), most))
        content.tables.append(Table("First images", ("number", "label", "name"), rows))


def read_csv(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Numbers with commas between."""
    lines = _lines(source, content)
    rows = [[field.strip() for field in line.decode(errors="replace").rstrip().removesuffix(",").split(",")] for line in lines]
    widths = Counter(map(len, rows))
    content.facts["columns"] = ", ".join(map(str, sorted(widths)))
    columns = min(max(widths), SHOWN_NUMBERS)
    more = ["…"] if max(widths) > SHOWN_NUMBERS else []
    shown = [(k, *(row + [""] * columns)[:columns], *(more if len(row) > columns else [""] * len(more))) for k, row in enumerate(rows)]
    content.tables.append(Table("First rows", ["row", *map(str, range(columns)), *more], shown[: selection.count]))
    wrong = next((k for k, row in enumerate(rows) if not all(map(_is_number, row))), None)
    if wrong is not None or len(widths) > 1:
        line = wrong if wrong is not None else next(k for k, row in enumerate(rows) if len(row) != len(rows[0]))
        reason = "has something that is no number" if wrong is not None else f"has {len(rows[line])} numbers, the first has {len(rows[0])}"
        raise FormatError(f"line {line + 1} of a CSV file {reason}", lines[line][:80].decode(errors="replace").strip())


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read_libsvm(source: InspectedFile, content: Content, selection: Selection) -> None:
    """Labels, with optional weights and queries, and pairs of index and value. Text after ``#`` is left out."""
    rows: list[tuple[Fact, ...]] = []
    counts, largest = [], -1
    for number, line in enumerate(_lines(source, content), 1):
        fields = line.partition(b"#")[0].decode(errors="replace").split()
        if not fields:
            continue
        # several labels, and a query, may come before the pairs
        is_head = [k == 0 or ":" not in field or field.startswith("qid:") for k, field in enumerate(fields)]
        heads = list(compress(fields, is_head))
        pairs = [field for field, head in zip(fields, is_head, strict=True) if not head]
        try:
            largest = max([largest, *(int(pair.partition(":")[0]) for pair in pairs)])
        except ValueError as error:
            raise FormatError(f"line {number} of a LibSVM file: {error}", line[:80].decode(errors="replace").strip()) from None
        counts.append(len(pairs))
        if len(rows) < selection.count:
            shown = pairs[:SHOWN_NUMBERS] + (["…"] if len(pairs) > SHOWN_NUMBERS else [])
            rows.append((len(counts) - 1, " ".join(heads), " ".join(shown)))
    if not counts:
        raise FormatError("a LibSVM file without a row", None)
    content.facts["largest index"] = largest
    content.facts["values in a row"] = f"{min(counts)} to {max(counts)}, {np.mean(counts):.1f} on average"
    content.tables.append(Table("First rows", ("row", "label", "values"), rows))


def _lines(source: InspectedFile, content: Content) -> list[bytes]:
    """The lines at the start of the file that are not empty; notes how many lines there are in all."""
    data = source.read(0, PARSED)
    lines = [line for line in data.splitlines(keepends=True) if line.strip()]
    if source.size <= PARSED:
        content.facts["rows"] = len(lines)
        return lines
    content.facts["looked into"] = f"the first {PARSED} bytes"
    source.file.seek(0)
    content.facts["lines"] = sum(piece.count(b"\n") for piece in iter(lambda: source.file.read(PARSED), b""))
    # the last line may continue after the part that was read
    return lines[:-1] or lines

"""Batches of every iterator over several epochs."""

from __future__ import annotations

import os
import struct
import tempfile
from typing import Any

import numpy as np

from tests.oracle_programs import fails

ROWS = np.arange(10).reshape(5, 2)
LABELS = np.arange(5)


def _description(desc: Any) -> Any:
    return [desc.name, list(desc.shape), np.dtype(desc.dtype).name, desc.layout]


def _epochs(iterator: Any, count: int = 2) -> Any:
    """Descriptions, and the contents of each batch over a number of epochs."""
    epochs = []
    for _ in range(count):
        epochs.append([[list(batch.data), list(batch.label), batch.pad, batch.bucket_key] for batch in iterator])
        iterator.reset()
    described = [[_description(d) for d in listed] for listed in (iterator.provide_data, iterator.provide_label)]
    return [described, iterator.batch_size, epochs]


def descriptions(mx: Any) -> Any:
    d = mx.io.DataDesc
    listed = d.get_list([("a", (1, 2))], [("a", "int32")]) + d.get_list([("a", (1, 2))], None)
    axes = [d.get_batch_axis(layout) for layout in ("NCHW", "TNC", None, "CHW", "", "N")]
    pairs = [d("a", (2, 3)) == ("a", (2, 3)), tuple(d("a", (2, 3))), d("a", (2, 3), "int32", "NC").layout]
    return [axes, pairs, [_description(x) for x in listed], repr(d("a", (2, 3), np.float32))]


def batches(mx: Any) -> Any:
    batch = mx.io.DataBatch([mx.nd.array([[1, 2]])], [mx.nd.array([1])], pad=1, index=3, bucket_key=2)
    plain = mx.io.DataBatch([mx.nd.array([1])])
    failing = [fails(lambda: mx.io.DataBatch(mx.nd.array([1]))), fails(lambda: mx.io.DataBatch([mx.nd.array([1])], mx.nd.array([1])))]
    return [str(batch), str(plain), plain.label, plain.pad, plain.index, batch.bucket_key, failing]


def padded(mx: Any) -> Any:
    return [_epochs(mx.io.NDArrayIter(ROWS, LABELS, size)) for size in (1, 2, 3, 5, 6, 12)]


def discarded(mx: Any) -> Any:
    return [_epochs(mx.io.NDArrayIter(ROWS, LABELS, size, last_batch_handle="discard")) for size in (2, 3, 5, 6)]


def rolled_over(mx: Any) -> Any:
    return [_epochs(mx.io.NDArrayIter(ROWS, LABELS, size, last_batch_handle="roll_over"), 4) for size in (2, 3, 5)]


def shuffled(mx: Any) -> Any:
    found = []
    for handle in ("pad", "discard", "roll_over"):
        np.random.seed(3)  # noqa: NPY002  (the seed that programs set)
        found.append(_epochs(mx.io.NDArrayIter(ROWS, LABELS, 2, shuffle=True, last_batch_handle=handle), 3))
    return found


def names_and_kinds_of_sources(mx: Any) -> Any:
    it = mx.io.NDArrayIter
    return [
        _epochs(it(ROWS, None, 2), 1),
        _epochs(it([ROWS, LABELS], [LABELS, ROWS], 2), 1),
        _epochs(it({"b": ROWS, "a": LABELS}, {"z": LABELS, "y": ROWS}, 2), 1),
        _epochs(it([ROWS], [LABELS], 2, data_name="d", label_name="l"), 1),
        _epochs(it({"q": ROWS}, LABELS, 2, layout="NC"), 1),
        _epochs(it(mx.nd.array(ROWS, dtype="int32"), mx.nd.array(LABELS), 2), 1),
        _epochs(it(ROWS.astype("int32"), LABELS.astype("uint8"), 2), 1),
        fails(lambda: it(None, LABELS, 2)),
        fails(lambda: it([], LABELS, 2)),
        fails(lambda: it("x", LABELS, 2)),
    ]


def an_iterator_by_hand(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, LABELS, 2)
    steps = [it.cursor, it.num_data, it.num_source]
    while it.iter_next():
        steps.append([it.cursor, it.getdata(), it.getlabel(), it.getpad(), it.getindex()])
    steps.append([it.iter_next(), fails(it.next)])
    it.hard_reset()
    return [*steps, it.cursor, it.next().data]


def steps_through_incomplete_batches(mx: Any) -> Any:
    """`iter_next` advances to an incomplete batch that `next` leaves out; its rows are those that are left."""
    found = []
    for count, size in ((7, 3), (2, 5)):
        for handle in ("pad", "discard", "roll_over"):
            it = mx.io.NDArrayIter(np.arange(float(count)), np.arange(float(count)), size, last_batch_handle=handle)
            for _ in range(2):
                while it.iter_next():
                    found.append([handle, *([x.asnumpy().tolist() for x in get()] for get in (it.getdata, it.getlabel)), it.getpad()])
                it.reset()
    return found


def roll_over_ends_with_a_hard_reset(mx: Any) -> Any:
    it = mx.io.NDArrayIter(ROWS, LABELS, 2, last_batch_handle="roll_over")
    list(it)
    it.hard_reset()
    return _epochs(it, 2)


def resized(mx: Any) -> Any:
    def source() -> Any:
        return mx.io.NDArrayIter(ROWS, LABELS, 2)

    longer = mx.io.ResizeIter(source(), 4)
    first = longer.next()
    facts = [longer.cur, longer.size, longer.getpad(), longer.getdata(), longer.getlabel(), first.pad]
    return [facts, _epochs(mx.io.ResizeIter(source(), 4), 2), _epochs(mx.io.ResizeIter(source(), 2, reset_internal=False), 3)]


def prefetched(mx: Any) -> Any:
    def source(shift: int = 0, **names: str) -> Any:
        return mx.io.NDArrayIter(ROWS + shift, LABELS + shift, 2, **names)

    two = mx.io.PrefetchingIter(
        [source(), source(100, data_name="q", label_name="z")],
        rename_data=[{"data": "d1"}, {"q": "d2"}],
        rename_label=[{"softmax_label": "l1"}, {"z": "l2"}],
    )
    return [_epochs(mx.io.PrefetchingIter(source()), 2), _epochs(two, 2)]


def _digits(mx: Any, folder: str, **parameters: Any) -> Any:
    images = np.repeat(np.arange(20), 12).reshape(20, 4, 3).astype("uint8")
    names = [os.path.join(folder, name) for name in ("images", "labels")]
    with open(names[0], "wb") as file:
        file.write(struct.pack(">IIII", 2051, 20, 4, 3) + images.tobytes())
    with open(names[1], "wb") as file:
        file.write(struct.pack(">II", 2049, 20) + np.arange(20).astype("uint8").tobytes())
    return mx.io.MNISTIter(image=names[0], label=names[1], silent=True, **parameters)


def digits(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return [
            _epochs(_digits(mx, folder, batch_size=6, shuffle=False)),
            _epochs(_digits(mx, folder, batch_size=7, shuffle=False, flat=True), 1),
            [_epochs(_digits(mx, folder, batch_size=3, shuffle=False, num_parts=3, part_index=k), 1) for k in range(3)],
            _epochs(_digits(mx, folder, batch_size=3, shuffle=False, data_name="d", label_name="l"), 1),
            fails(lambda: mx.io.MNISTIter(image=os.path.join(folder, "nope"), label=os.path.join(folder, "labels"))),
        ]


def a_user_written_iterator(mx: Any) -> Any:
    class Counter(mx.io.DataIter):
        def __init__(self) -> None:
            super().__init__(1)
            self.at = 0
            self.provide_data = [mx.io.DataDesc("data", (1,))]
            self.provide_label = []

        def reset(self) -> None:
            self.at = 0

        def iter_next(self) -> bool:
            self.at += 1
            return self.at < 4

        def getdata(self) -> Any:
            return [mx.nd.array([self.at])]

        def getlabel(self) -> Any:
            return []

        def getpad(self) -> int:
            return 0

    return [_epochs(Counter()), _epochs(mx.io.ResizeIter(Counter(), 5), 1), _epochs(mx.io.PrefetchingIter(Counter()))]

"""Files of records, with and without an index, and labeled records."""

from __future__ import annotations

import os
import pickle
import random
import tempfile
from typing import Any

import numpy as np

from tests.oracle_programs import fails

MAGIC = (0xCED7230A).to_bytes(4, "little")
#: Contents with the magic number at multiples of four bytes, where they are divided, and elsewhere.
CONTENTS = [
    b"",
    b"a",
    b"abcd",
    MAGIC,
    b"a" + MAGIC,
    MAGIC + MAGIC,
    b"abcd" + MAGIC + b"x",
    MAGIC + b"abcde" + MAGIC,
    b"abcd" + MAGIC,
    MAGIC + b"a",
    MAGIC + b"abcd" + MAGIC,
    b"a" + MAGIC + b"bcd" + MAGIC + MAGIC[:3],
]


def _many() -> list[bytes]:
    draw = random.Random(5)
    return [b"".join(draw.choices([MAGIC, b"a", b"abcd", MAGIC[:2]], k=draw.randint(0, 12))) for _ in range(200)]


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def files_written(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.rec")
        files = []
        for contents in [[c] for c in CONTENTS] + [_many()]:
            file = mx.recordio.MXRecordIO(path, "w")
            for content in contents:
                file.write(content)
            file.close()
            file = mx.recordio.MXRecordIO(path, "r")
            read = [file.read() for _ in contents]
            files.append([_bytes(path).hex(), read == contents, file.read(), file.read()])
        return files


def reading_again(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.rec")
        file = mx.recordio.MXRecordIO(path, "w")
        for content in CONTENTS[:3]:
            file.write(content)
        modes = [file.is_open, file.writable, fails(file.read)]
        file.close()
        file.close()
        modes += [file.is_open, fails(lambda: file.write(b"x"))]
        file = mx.recordio.MXRecordIO(path, "r")
        read = [file.read(), file.read()]
        file.reset()
        read += [file.read()]
        other = pickle.loads(pickle.dumps(file))
        read += [other.read(), other.read()]
        failing = [
            fails(lambda: other.write(b"x")),
            fails(lambda: mx.recordio.MXRecordIO(path, "a")),
            fails(lambda: mx.recordio.MXRecordIO(path + "x", "r")),
        ]
        file.close()
        failing.append(fails(file.read))
        file.open()
        return modes, [r.hex() for r in [*read, file.read()]], failing


def emptied_writer(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
        file = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
        file.write(b"no key")
        file.write_idx(5, b"five")
        file.reset()
        state = [len(file.idx), list(file.keys)]
        file.write_idx(6, b"six")
        file.close()
        return state, _bytes(rec).hex(), _bytes(idx).decode(), file.keys


def indexed(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
        file = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
        places = []
        for key in range(4):
            places.append(file.tell())
            file.write_idx(10 * key, b"r%d" % key)
        file.write_idx(0, b"again")
        file.write_idx(2.5, b"of another key")
        failing = [fails(lambda: file.write_idx("s", b"")), fails(lambda: file.read_idx(0)), fails(lambda: file.seek(0))]
        state = [file.idx, file.keys]
        file.close()
        index = _bytes(idx).decode()
        file = mx.recordio.MXIndexedRecordIO(idx, rec, "r")
        state += [file.idx, file.keys]
        read = [file.read_idx(k) for k in (10, 0, 30)]
        file.seek(20)
        read += [file.read(), file.read()]
        file.reset()
        read.append(file.read())
        failing += [fails(lambda: file.read_idx("10")), fails(lambda: file.read_idx(99)), fails(file.tell), fails(lambda: file.write(b""))]
        other = pickle.loads(pickle.dumps(file))
        read += [other.read_idx(20), other.read()]
        text = mx.recordio.MXIndexedRecordIO(idx, rec, "r", key_type=str)
        return places, index, state, [r.decode() for r in [*read, text.read_idx("10")]], text.keys, failing


def indexes_in_other_forms(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
        file = mx.recordio.MXRecordIO(rec, "w")
        for key in range(4):
            file.write(b"r%d" % key)
        file.close()
        found = []
        for text in ("0\t0\n\n1\t12\n", "0\t0\n1\tx\n", "0 0\n", "0\t0\t5\n7\t12", " 3 \t 12 \n", "", "x\t0\n"):
            with open(idx, "w") as out:
                out.write(text)
            try:
                file = mx.recordio.MXIndexedRecordIO(idx, rec, "r")
            except Exception:
                found.append("raises")
            else:
                found.append([file.keys, [file.read_idx(k).decode() for k in file.keys]])
        return found


def data_set(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        rec, idx = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
        file = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
        for key in (4, 2, 9):
            file.write_idx(key, b"r%d" % key)
        file.close()
        data = mx.gluon.data.RecordFileDataset(rec)
        return len(data), [data[k].decode() for k in (0, 1, 2, -1)], fails(lambda: data[3])


def labeled(mx: Any) -> Any:
    R = mx.recordio
    headers = [
        (0, 1, 2, 3),
        (5, 1.5, 2, 3),
        (0, [1, 2], 2, 3),
        (7, np.array([1, 2, 3.0]), 2, 2**63),
        (0, (1,), 1, 1),
        (0, np.float64(3), 1, 1),
        (0, np.array([[1, 2], [3, 4]]), 1, 1),
        (0, np.array([], "float32"), 1, 1),
        (-1, True, 1, 1),
    ]
    results = []
    for header in headers:
        packed = R.pack(R.IRHeader(*header), b"abc")
        assert R.pack(header, b"abc") == packed
        found, data = R.unpack(packed)
        writable = found.label.flags.writeable if found.flag else None
        results.append([packed.hex(), found.flag, found.label, found.id, found.id2, data.decode(), writable])
    wrong = [(0, "x", 1, 1), (0, 1, -1, 1), (0, 1, 1, 2**64), (0, 1, 1)]
    failing = [fails(lambda h=h: R.pack(h, b"")) for h in wrong]
    failing += [fails(lambda: R.pack(headers[0], "text")), fails(lambda: R.unpack(b"abc"))]
    return results, failing, repr(R.IRHeader(*headers[0])), R.IRHeader._fields


def jpegs(mx: Any) -> Any:
    R, draw = mx.recordio, np.random.RandomState(0)
    image = np.clip(np.cumsum(draw.randint(-20, 21, (12, 17, 4)), 0) + 100, 0, 255).astype("uint8")
    images = [image[..., :3], image[..., 0], image[..., :1], image, image[..., :3].astype("float32") * 1.25, image[..., :3].astype("int32")]
    packed = [R.pack_img((0, 3.0, 1, 0), each, **kw) for each in images for kw in ({}, {"quality": 60, "img_fmt": ".JPEG"})]
    packed += [R.pack_img((0, [1, 2.0], 1, 0), images[0], quality=q) for q in (0, 1, 100, 200)]
    pixels = [[R.unpack_img(p, iscolor)[1] for iscolor in (-1, 0, 1)] for p in packed[:4]]
    return [p.hex() for p in packed], [[[p.shape, str(p.dtype), p] for p in row] for row in pixels]


def lossless_images(mx: Any) -> Any:
    R, draw = mx.recordio, np.random.RandomState(1)
    image = draw.randint(0, 256, (5, 7, 4)).astype("uint8")
    results = []
    for each in (image[..., :3], image[..., 0], image):
        for form in (".png", ".bmp"):
            header, found = R.unpack_img(R.pack_img((0, [1, 2.0], 9, 0), each, quality=3, img_fmt=form))
            results.append([header.label, header.id, found.shape, found if form == ".png" else found[..., :3]])
        results.append(R.unpack_img(R.pack_img((0, 1, 9, 0), each, quality=3, img_fmt=".png"), 1)[1])
    failing = [fails(lambda f=f: R.pack_img((0, 1.0, 1, 0), image, img_fmt=f)) for f in (".gif", "png", ".nothing")]
    return results, failing[1:], R.unpack_img(R.pack((0, 1.0, 1, 0), b"no image"))[1]

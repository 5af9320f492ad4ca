"""``mx.recordio``: files of records, with or without an index, and records of labeled data and images."""

from .files import MXIndexedRecordIO, MXRecordIO
from .labeled import HEADER, IRHeader, pack, pack_img, unpack, unpack_img

__all__ = ["HEADER", "IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

"""``mx.contrib.text``: counting words, numbering them, and word vectors from files."""

from . import embedding, vocab
from . import tokens as utils

__all__ = ["embedding", "utils", "vocab"]

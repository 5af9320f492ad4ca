"""``mxnet.contrib.text._constants``: the checksums of published word vectors, under the names that programs import."""

from ..contrib.text import embedding
from ..gluon.model_zoo import model_store

APACHE_REPO_URL = model_store.apache_repo_url
#: The index of tokens that a vocabulary does not have.
UNKNOWN_IDX = 0
# MXNet's names say the opposite: its "files" are archives
GLOVE_PRETRAINED_FILE_SHA1 = embedding.PUBLISHED["GloVe archives"]
GLOVE_PRETRAINED_ARCHIVE_SHA1 = embedding.PUBLISHED["GloVe files"]
FAST_TEXT_FILE_SHA1 = {f"{name}.vec": sums[0] for name, sums in embedding.PUBLISHED["fastText files and archives"].items()}
FAST_TEXT_ARCHIVE_SHA1 = {f"{name}.zip": sums[1] for name, sums in embedding.PUBLISHED["fastText files and archives"].items()}


def __dir__() -> list[str]:
    return [name for name in globals() if name.isupper()]

"""Import times in new interpreters."""


def timeraw_import_twofold():
    return "import twofold"


def timeraw_import_and_add():
    return "import twofold as mx; mx.nd.ones((2,)) + 1"


def timeraw_import_numpy():
    return "import numpy"

"""``mxnet.log``: Python's logging, with MXNet's ``get_logger``."""

import logging
import sys
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]


def get_logger(name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING) -> logging.Logger:
    """A logger that writes to a file or to standard error.

    Parameters
    ----------
    name
        Its name; the root logger if None.
    filename, filemode
        The file and its mode, by default ``"a"``; without a file, standard error.
    level
        The minimum level.
    """
    logger = logging.getLogger(name)
    if name is not None and not logger.handlers:
        handler = logging.FileHandler(filename, filemode or "a") if filename else logging.StreamHandler(sys.stderr)
        handler.setFormatter(
            logging.Formatter("%(levelname).1s%(asctime)s %(process)d %(pathname)s:%(lineno)d] %(message)s", "%m%d %H:%M:%S")
        )
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


getLogger = get_logger

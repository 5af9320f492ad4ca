"""``gluon.model_zoo``: definitions of published networks, and the files of their trained parameters."""

from . import model_store, vision

__all__ = ["model_store", "vision"]

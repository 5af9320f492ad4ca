"""``mx.model``: checkpoints, and what callbacks are told."""

from .checkpoint import BatchEndParam, load_checkpoint, load_params, save_checkpoint

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

"""``mx.mod``: trainable models: a symbol, its parameters on one or more devices, and an optimizer."""

from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .composed_modules import SequentialModule
from .module import Module
from .python_modules import PythonLossModule, PythonModule

__all__ = ["BaseModule", "BucketingModule", "Module", "PythonLossModule", "PythonModule", "SequentialModule"]

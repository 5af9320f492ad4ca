from .. import ops
from .array import ndarray
from . import indexing, operators
from .creation import *
from .creation import array

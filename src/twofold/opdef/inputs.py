"""What a rule's annotation of an array input means: aliases for common facts of `Input`, as `opdef.params` has them for parameters.

``bias: Bias = None`` says that the bias is present unless ``no_bias`` is set. Inputs without an annotation have no such facts.
"""

from typing import Annotated, Any

from .spec import Input

#: Indices, conditions, lengths: their dtype is independent of the other inputs'.
Index = Annotated[Any, Input(own_dtype=True)]
#: Present unless the parameter ``no_bias`` is set.
Bias = Annotated[Any, Input(present=("no_bias", False))]
#: Present if the parameter ``use_sequence_length`` is set.
SequenceLength = Annotated[Any, Input(present=("use_sequence_length", True))]

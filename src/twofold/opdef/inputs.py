"""Facts about an operator's array inputs, and aliases of common ones; rules annotate their inputs with these.

``bias: Bias = None`` says that the bias is present unless ``no_bias`` is set. Inputs without an annotation have no such facts.
"""

from dataclasses import dataclass
from typing import Annotated, Any

#: `Input.present` of a required input that comes after an optional one.
ALWAYS = ("", None)


@dataclass(frozen=True)
class Input:
    """An array input of an operator; rules declare these properties by annotations.

    Attributes
    ----------
    name
        The name of the rule's argument.
    optional
        Whether it may be omitted.
    auxiliary
        Whether it is an auxiliary state.
    present
        (parameter, value): a symbol has this optional input if the parameter has that value. None: only if it is passed. `ALWAYS`: a
        symbol always has it.
    initial
        The initializer of the variable that a symbol creates for it, as MXNet's JSON text.
    own_dtype
        Whether its dtype is independent of those of the other inputs.
    dtype_param
        The parameter that determines its dtype if no array does.
    wide
        Whether it is float32 for 16-bit data.
    """

    name: str = ""
    optional: bool = False
    auxiliary: bool = False
    present: tuple[str, object] | None = None
    initial: str | None = None
    own_dtype: bool = False
    dtype_param: str | None = None
    wide: bool = False

    @property
    def injected(self) -> bool:
        """Whether the front end supplies it: ``rng``, six uint64 words that select a random stream (see ``ops.random_bits``)."""
        return self.name == "rng"


#: Indices, conditions, lengths, arrays of which only the shape counts: their dtype is independent of the other inputs'.
Index = Annotated[Any, Input(own_dtype=True)]
#: Present unless the parameter ``no_bias`` is set.
Bias = Annotated[Any, Input(present=("no_bias", False))]
#: Present if the parameter ``use_sequence_length`` is set.
SequenceLength = Annotated[Any, Input(present=("use_sequence_length", True))]

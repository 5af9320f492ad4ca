"""Why operations on large arrays do not wait, in the words in which `explain` prints it."""

KINDS = "these dtypes or operands"
LAYOUT = "an operand is not in row-major order"
LOOKED_AT = "a NumPy array looks at an operand's memory"
ERRORS = "errstate"
WARNS = "may warn while the program collects warnings or makes them errors"
ENGINE = "the setting engine is naive"
NEVER_JOINED = "its results were never part of a chain"
IN_PLACE = "in place, with nothing pending or somebody looking"
OPTIONS = "out=, where= or other options"
LIBRARY = "a library's line"
PLAIN = "a large operand is NumPy's own array"
GATHERED = "an array as index"
WRITTEN = "written by index"
COPIED = "copied, as no view has that shape"
HANDED_OUT = "memory handed to compiled code or a library"


def numpys(name: str) -> str:
    """The reason for a function that never waits."""
    return f"{name} does not fold"


def of_dtype(dtype: object) -> str:
    """The reason for arrays that are NumPy's own."""
    return f"arrays of {dtype} do not fold"

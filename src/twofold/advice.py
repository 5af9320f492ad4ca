"""What to do about an uncaught error of Python's own that a use of the package has caused: a changed text, or a note."""

import re
from linecache import getline
from types import TracebackType

from .suggestions import attribute_here, operand_here
from .wrong_arguments import explanation_of, named_in

#: Python's text about operands, with the names of their classes.
OPERANDS = re.compile(r"unsupported operand type\(s\) for .+: '(\w+)' and '(\w+)'")
#: A call of a size or a shape.
CALLED_SIZE = re.compile(r"([\w.]+)\.(size|shape)\(")
#: The start of a ``with`` statement over a name that is not called.
UNCALLED = re.compile(r"\s*with\s+([\w.]+)\s*(?::|as\b)")


def advise(error: BaseException, trace: TracebackType | None) -> None:
    """Add to an error what to do about it, if that is known.

    Parameters
    ----------
    error
        The uncaught error: its text changes, or it gets a note.
    trace
        Its traceback.
    """
    if isinstance(error, AttributeError) and error.name is not None:
        if (advice := attribute_here(error.obj, error.name)) and advice not in str(error):
            error.add_note(advice)
    elif isinstance(error, TypeError) and trace is not None:
        if text := explanation_of(error, trace):
            error.args = (text,)
        elif note := _of_json(error, trace) or _of_with(error, trace) or _of_size(error, trace) or _of_operands(error, trace):
            error.add_note(note)


def _of_json(error: TypeError, trace: TracebackType) -> str:
    """Advice for an array in ``json.dumps``."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    # the parameter of `JSONEncoder.default`
    refused = trace.tb_frame.f_locals.get("o")
    if not str(error).endswith("is not JSON serializable") or not type(refused).__module__.startswith("twofold."):
        return ""
    return "write float(x) or int(x) for an array of one element, and x.tolist() for others"


def _of_operands(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``x * self.weight``, where the weight is a parameter and no array."""
    kinds = OPERANDS.fullmatch(str(error))
    while trace.tb_next is not None:
        trace = trace.tb_next
    # the operands themselves are gone with the expression, but one of them is an attribute or variable of the frame
    names = trace.tb_frame.f_locals
    owned = getattr(names.get("self"), "__dict__", {})
    near = [value for value in (*names.values(), *owned.values()) if kinds and type(value).__name__ in kinds.groups()]
    return next((advice for value in near if (advice := operand_here(value))), "")


def _of_size(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``x.size(0)`` and ``x.shape()``, methods in other libraries."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    call = CALLED_SIZE.search(getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals))
    if call is None or not str(error).endswith("object is not callable"):
        return ""
    owner = named_in(trace.tb_frame, call[1].split("."))
    is_ours = type(owner).__module__.startswith("twofold.")
    return f"{call[2]} is no method: write {call[1]}.shape, or {call[1]}.shape[0] for one size" if is_ours else ""


def _of_with(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``with autograd.record:``, which lacks its parentheses."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    line = UNCALLED.match(getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals))
    if line is None or "context manager protocol" not in str(error):
        return ""
    found = named_in(trace.tb_frame, line[1].split("."))
    return f"call it: with {line[1]}():" if str(getattr(found, "__module__", "")).startswith("twofold.") and callable(found) else ""

"""What to do about an uncaught error of Python's own that a use of the package has caused: a changed text, or a note."""

import re
import sys
from inspect import getattr_static
from linecache import getline
from types import FrameType, FunctionType, MemberDescriptorType, ModuleType, TracebackType

from .origin import is_inside
from .suggestions import attribute_here, import_here, operand_here
from .wrong_arguments import explanation_of, named_in

#: Python's texts about operands, and about items of a parameter, with the names of their classes.
OPERANDS = re.compile(r"unsupported operand type\(s\) for .+: '(\w+)' and '(\w+)'|'(Parameter)' object is not (?:subscriptable|iterable)")
#: Python's text about a name that a module does not have.
NOT_IMPORTED = re.compile(r"cannot import name '(\w+)' from")
#: A call of an attribute.
CALLED = re.compile(r"([\w.]+)\.(\w+)\(")
#: An assignment to an attribute.
ASSIGNED = re.compile(r"\s*([\w.]+)\.(\w+)\s*=[^=]")
#: A use of a gradient.
GRADIENT = re.compile(r"([\w.]+)\.grad\b")
#: A call of a function that takes sizes as arguments, with a tuple of them.
SIZES_IN_TUPLE = re.compile(r"\b(randn?)\((\([\d, ]+\))\)")
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
        advice = attribute_here(error.obj, error.name) or _of_method(error.obj, error.name) or (trace and _of_gradient(error, trace))
        if advice and advice not in str(error):
            error.add_note(advice)
            error.name = None  # Python would suggest the nearest name, a private one perhaps
    elif isinstance(error, AttributeError) and trace is not None:
        if advice := _of_assignment(trace):
            error.add_note(advice)
    elif isinstance(error, ImportError):
        if (advice := _of_import(error)) and advice not in str(error):
            error.add_note(advice)
    elif isinstance(error, TypeError) and trace is not None:
        if text := explanation_of(error, trace):
            error.args = (text,)
        elif note := next((note for advice_of in _OF_TYPE_ERRORS if (note := advice_of(error, trace))), ""):
            error.add_note(note)
    elif isinstance(error, ValueError) and (note := _of_one_element(error, trace)):
        error.add_note(note)


def _of_assignment(trace: TracebackType) -> str:
    """Advice for ``x.requires_grad = True``: Python does not say of which object an attribute cannot be set."""
    frame, line = _last(trace)
    found = ASSIGNED.match(line)
    owner = named_in(frame, found[1].split(".")) if found else None
    return attribute_here(owner, found[2]) if found and type(owner).__module__.startswith("twofold.") else ""


def _of_import(error: ImportError) -> str:
    """Advice for ``from twofold.gluon.nn import Linear`` and ``import twofold.optim``."""
    module, name = error.name or "", NOT_IMPORTED.match(str(error))
    if isinstance(error, ModuleNotFoundError):
        module, _, missing = module.rpartition(".")
    else:
        missing = name[1] if name else ""
    found = sys.modules.get(module)
    return import_here(found, missing) if missing and found is not None and module.partition(".")[0] == "twofold" else ""


def _of_json(error: TypeError, trace: TracebackType) -> str:
    """Advice for an array in ``json.dumps``."""
    # the parameter of `JSONEncoder.default`
    refused = _last(trace)[0].f_locals.get("o")
    if not str(error).endswith("is not JSON serializable") or not type(refused).__module__.startswith("twofold."):
        return ""
    return "write float(x) or int(x) for an array of one element, and x.tolist() for others"


def _of_operands(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``x * self.weight``, where the weight is a parameter and no array."""
    kinds = OPERANDS.fullmatch(str(error))
    # the operands themselves are gone with the expression, but one of them is an attribute or variable of the frame
    names = _last(trace)[0].f_locals
    owned = getattr(names.get("self"), "__dict__", {})
    near = [value for value in (*names.values(), *owned.values()) if kinds and type(value).__name__ in kinds.groups()]
    return next((advice for value in near if (advice := operand_here(value))), "")


def _of_called(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``x.size(0)``, ``x.shape()`` or ``x.T()``: attributes that are no methods, as they are in other libraries."""
    if not str(error).endswith("object is not callable"):
        return ""
    frame, line = _last(trace)
    for call in CALLED.finditer(line):
        owner = named_in(frame, call[1].split("."))
        if isinstance(owner, ModuleType) and isinstance(getattr(owner, call[2], None), ModuleType):
            return attribute_here(owner, call[2])
        is_data = isinstance(getattr_static(type(owner), call[2], None), (property, MemberDescriptorType))
        if is_data and type(owner).__module__.startswith("twofold."):
            instead = f"{call[1]}.shape, or {call[1]}.shape[0] for one size" if call[2] in ("size", "shape") else f"{call[1]}.{call[2]}"
            return f"{call[2]} is no method: write {instead}"
    return ""


def _of_method(found: object, name: str) -> str:
    """Advice for ``weight.data.shape``, an attribute of a method that is not called."""
    if not isinstance(found, FunctionType) or not found.__module__.startswith("twofold."):
        return ""
    # methods have the attributes of their functions, whose names begin with that of the class
    is_method = re.fullmatch(r"\w+\.\w+", found.__qualname__)
    return f"{found.__name__} is a method: write {found.__name__}().{name}" if is_method else ""


def _of_gradient(error: AttributeError | TypeError, trace: TracebackType) -> str:
    """Advice for the gradient of an array that has none."""
    if "NoneType" not in str(error):
        return ""
    frame, line = _last(trace)
    for use in GRADIENT.finditer(line):
        owner = named_in(frame, use[1].split("."))
        if type(owner).__module__.startswith("twofold.") and getattr(owner, "grad", 0) is None:
            return f"{use[1]}.grad is None without a call of {use[1]}.attach_grad() in front of what is recorded"
    return ""


def _last(trace: TracebackType) -> tuple[FrameType, str]:
    """The innermost frame of a traceback, and its line of source."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame, getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals)


def _of_with(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``with autograd.record:``, which lacks its parentheses."""
    frame, text = _last(trace)
    line = UNCALLED.match(text)
    if line is None or "context manager protocol" not in str(error):
        return ""
    found = named_in(frame, line[1].split("."))
    return f"call it: with {line[1]}():" if str(getattr(found, "__module__", "")).startswith("twofold.") and callable(found) else ""


def _of_batches(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``next(loader)`` and ``loader[0]``."""
    is_loader = re.fullmatch(r"'DataLoader' object is not (?:an iterator|subscriptable)", str(error))
    return "its first batch is next(iter(loader)); for all of them write for batch in loader:" if is_loader else ""


def _of_one_element(error: Exception, trace: TracebackType | None) -> str:
    """Advice for ``float(x)`` and ``y[0] = x`` with a NumPy array of shape (1,), which NumPy converted up to version 2.3."""
    is_refused = any(str(found).startswith("only 0-dimensional arrays") for found in (error, error.__cause__))
    advice = "NumPy 2.4 and later convert only 0-d arrays: write x.item(), or install an earlier version, pip install 'numpy<2.4'"
    return advice if is_refused else ""


def _of_sizes(error: TypeError, trace: TracebackType) -> str:
    """Advice for ``np.random.rand((2, 3))``."""
    call = SIZES_IN_TUPLE.search(_line_of_user(trace))
    return f"pass the sizes one by one: {call[1]}{call[2]}" if call and "'tuple' object" in str(error) else ""


def _line_of_user(trace: TracebackType) -> str:
    """The line of source that called the package; the last one of a traceback outside it."""
    while trace.tb_next is not None and not is_inside(trace.tb_next.tb_frame):
        trace = trace.tb_next
    return getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals)


_OF_TYPE_ERRORS = (_of_json, _of_with, _of_called, _of_operands, _of_gradient, _of_batches, _of_sizes, _of_one_element)

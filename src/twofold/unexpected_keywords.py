"""What an uncaught error about an unexpected keyword argument says: the name that the program called, and the nearest argument.

Python names the function that it could not call. This may be the constructor of a private base class, which the program never named.
What the program called is found when the error is shown, from the instructions of its line, so that calls cost nothing.
"""

import re
import sys
from collections.abc import Callable
from dis import Instruction, get_instructions
from inspect import CO_VARARGS, CO_VARKEYWORDS, getattr_static
from types import FrameType, ModuleType, TracebackType

from .origin import is_inside
from .suggestions import argument_here, arguments_of

#: Python's text, to which Python 3.13 adds a suggestion.
UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'(?:\. Did you mean '\w+'\?)?")

#: What was called, and its name for messages.
Called = tuple[Callable[..., object], str]


def explanation_of(error: TypeError, trace: TracebackType) -> str:
    """What to say instead of Python's text; empty for other errors, and if the program called no function of the package.

    Parameters
    ----------
    error
        The uncaught error.
    trace
        Its traceback.
    """
    found = UNEXPECTED.fullmatch(str(error))
    if found is None:
        return ""
    function, argument = found.groups()
    links = [trace]
    while links[-1].tb_next is not None:
        links.append(links[-1].tb_next)
    depth = len(links)
    # frames of the package that have only passed the program's argument on; otherwise the mistake is not the program's
    while len(links) > 1 and is_inside(links[-1].tb_frame) and argument in _extra_arguments(links[-1].tb_frame):
        links.pop()
    if is_inside(links[-1].tb_frame):
        return ""
    called = _called(links[-1].tb_frame, links[-1].tb_lasti)
    if called is None and len(links) == depth:  # Python's text names what the program called
        called = _public(function)
    if called is None or not _is_ours(called[0]) or argument in arguments_of(called[0]):
        return ""
    return f"{called[1]}: there is no argument {argument!r}; {argument_here(argument, called[0])}"


def _extra_arguments(frame: FrameType) -> dict[str, object]:
    """The keyword arguments that a function has no parameters for."""
    code = frame.f_code
    if not code.co_flags & CO_VARKEYWORDS:
        return {}
    # `**kwargs` is the last of the parameters, behind `*args`
    position = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)
    return frame.f_locals.get(code.co_varnames[position], {})


def _called(frame: FrameType, position: int) -> Called | None:
    """What an instruction calls, if the program names it in the form ``a.b.c(…)``; None for others, such as ``a().b(…)``."""
    instructions = [i for i in get_instructions(frame.f_code) if i.offset <= position]
    begin = _begin(instructions[-1])
    found: object = None
    owner: object = None
    # the instructions of a call begin where its name does, unlike those of its arguments
    for i in [i for i in instructions[:-1] if _begin(i) == begin]:
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            owner, found = found, None if found is None else _attribute(found, i.argval)
        elif i.opname.startswith("LOAD_") and i.opname != "LOAD_CONST":  # constant arguments in front of ``**`` have the call's place
            found = next((scope[i.argval] for scope in (frame.f_locals, frame.f_globals) if i.argval in scope), None)
        elif i.opname.startswith("CALL"):
            found = None
    if not callable(found) or not hasattr(found, "__name__"):
        return None
    is_method = owner is not None and not isinstance(owner, (ModuleType, type))
    return found, f"{type(owner).__name__}.{found.__name__}" if is_method else found.__name__


def _begin(instruction: Instruction) -> tuple[int | None, int | None]:
    places = instruction.positions
    return (places.lineno, places.col_offset) if places else (None, None)


def _attribute(owner: object, name: str) -> object:
    """An attribute; of an object only one that is found without running code of the program."""
    if isinstance(owner, (ModuleType, type)):
        return getattr(owner, name, None)
    return getattr_static(owner, name, None)


def _public(function: str) -> Called | None:
    """A function or a public class's method by its qualified name; a class itself for its constructor."""
    name, _, method = function.partition(".")
    modules = [module for key, module in list(sys.modules.items()) if key.partition(".")[0] == "twofold"]
    found = next((vars(module)[name] for module in modules if name in vars(module)), None)
    if name.startswith("_") or found is None or not method:
        return None
    return (found, name) if method == "__init__" else (getattr(found, method), function)


def _is_ours(called: Callable[..., object]) -> bool:
    """Whether a function, or a class's constructor, is the package's."""
    function = called.__init__ if isinstance(called, type) else called
    # functions written in C may have no module
    return str(getattr(function, "__module__", None)).partition(".")[0] == "twofold"

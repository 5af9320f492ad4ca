"""What an uncaught error about wrong arguments says: the name that the program called, and the arguments that this takes.

Python names the function that it could not call. This may be the constructor of a private base class or a block's ``hybrid_forward``,
which the program never named. What the program called is found when the error is shown, from the instructions of its line, so that calls
cost nothing.
"""

import ast
import gc
import re
import sys
from collections.abc import Callable, Sequence
from dis import Instruction, get_instructions
from inspect import getattr_static, signature
from linecache import getlines
from types import FrameType, FunctionType, ModuleType, TracebackType

from .origin import is_inside
from .suggestions import argument_here, arguments_of, did_you_mean
from .syntax_trees import syntax_tree

#: Python's text, to which Python 3.13 adds a suggestion.
UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'(?:\. Did you mean '\w+'\?)?")

#: Python's texts about arguments by position.
MISSING = re.compile(r"([\w.<>]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)")
TOO_MANY = re.compile(
    r"([\w.<>]+)\(\) (?:takes .+ positional arguments? but .+ given|takes at most .+ given\)|got multiple values for argument '\w+')"
)
#: The text of functions written in Cython, such as NumPy's samplers, about missing ones.
TOO_FEW = re.compile(r"([\w.<>]+)\(\) takes at least (\d+) positional arguments? \((\d+) given\)")
#: Parameters of ``hybrid_forward`` that blocks pass themselves.
WEIGHTS = ("weight", "bias", "gamma", "beta", "running_mean", "running_var", "alpha")
#: The methods that run a block, which a program calls as a function.
RUNS = ("forward", "hybrid_forward")

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
    links = [trace]
    while links[-1].tb_next is not None:
        links.append(links[-1].tb_next)
    while len(links) > 1 and links[-1].tb_frame.f_code.co_filename.endswith(".pyx"):  # NumPy's samplers
        links.pop()
    found = UNEXPECTED.fullmatch(str(error))
    if found is None:
        return _of_positions(str(error), links)
    function, argument = found.groups()
    depth = len(links)
    # frames of the package that have only passed the program's argument on; otherwise the mistake is not the program's
    passing = links[-1].tb_frame
    while len(links) > 1 and is_inside(links[-1].tb_frame) and _passes_on(links[-1].tb_frame, argument):
        passing = links.pop().tb_frame
    is_wrapped = is_inside(links[-1].tb_frame)
    called = _wrapper_of(function, links) if is_wrapped else _called(links[-1].tb_frame, links[-1].tb_lasti)
    if is_wrapped and called is None:
        return ""
    if called is None:  # of an array that has no name, as in `x.T.sum(…)`; otherwise Python's text names what the program called
        called = _public(function) if len(links) == depth else _method_of_first(passing, function)
    if called is None or not _is_ours(called[0]) or argument in arguments_of(called[0]):
        return ""
    return f"{called[1]}: there is no argument {argument!r}; {argument_here(argument, called[0])}"


def _of_positions(text: str, links: list[TracebackType]) -> str:
    """The text about arguments that are missing or too many."""
    found = MISSING.fullmatch(text) or TOO_MANY.fullmatch(text) or TOO_FEW.fullmatch(text)
    if found is None:
        return ""
    function, last = found[1], links[-1].tb_frame
    missing = found[2] if found.re is MISSING else ""
    if is_inside(last) and (called := _wrapper_of(function, links)):
        if found.re is TOO_FEW:
            missing = " and ".join(map(repr, arguments_of(called[0])[int(found[3]) : int(found[2])]))
        return _of_call(called, missing)
    # a function of the program was called by Twofold: the mistake is in its parameters
    if is_inside(last):
        if function == "Initializer.__call__" and last.f_code.co_name == "apply":
            return "Block.apply: an initializer is no function of blocks; call initialize(init), or collect_params().initialize(init)"
        if type(last.f_locals.get("self")).__name__ == "HybridLambda" and not function.endswith("hybrid_forward"):
            return "HybridLambda: the function cannot be called with F and the inputs; write its parameters as in lambda F, x: …"
        kind = _block_of(last, function)
        if kind is not None and function.endswith("hybrid_forward") and _lacks_functions(kind):
            return f"{kind.__name__}.hybrid_forward: its first parameter must be F, mx.nd or mx.sym; write def hybrid_forward(self, F, x)"
        own = [*getattr(last.f_locals.get("self"), "_reg_params", ())]
        if kind is not None and (name := _parameter_among(kind, missing, own)):
            todo = did_you_mean(name, own, f"write self.{name} = self.params.get({name!r}, shape=…) in __init__")
            return f"{kind.__name__}: hybrid_forward takes {name!r}, and the block has no parameter of this name; {todo}"
        if kind is None:
            todo = "Twofold calls it with these: write its parameters as its base class has them, or as what it was passed to says"
            return f"{text}; {todo}" if _is_of_program(last, links[-1].tb_lasti, function) else ""
        inputs = _inputs_of(kind)
        if not inputs:
            return ""
        what = f"{missing} is missing" if missing else f"it takes {len(inputs)} input{'s' * (len(inputs) > 1)}"
        return f"{kind.__name__}: {what}; call it with {', '.join(inputs)}"
    # a function of Twofold was called by the program: the mistake is in the call
    called = _called(last, links[-1].tb_lasti) or _public(function)
    if called is None or not _is_ours(called[0]):
        return ""
    names = arguments_of(called[0])
    if missing and (unknown := [name for name in _keywords(last, links[-1].tb_lasti) if name not in names]):
        return f"{called[1]}: there is no argument {unknown[0]!r}; {argument_here(unknown[0], called[0])}"
    return _of_call(called, missing)


def _of_call(called: Called, missing: str) -> str:
    """The text about a call by position."""
    what = f"{missing} {'are' if ' and ' in missing else 'is'} missing" if missing else "there are too many arguments"
    names = arguments_of(called[0])
    if "." in called[1] and names[:1] == ["a"]:  # a method that is the function with the array as its first argument
        del names[0]
    return f"{called[1]}: {what}; it takes {', '.join(names) or 'none'}"


def _wrapper_of(function: str, links: list[TracebackType]) -> Called | None:
    """The function of the package that the program called, if it has only passed its arguments to one of the same name, such as NumPy's."""
    outer = next((link for link in reversed(links) if not is_inside(link.tb_frame)), None)
    called = None if outer is None else _called(outer.tb_frame, outer.tb_lasti)
    return called if called is not None and _is_ours(called[0]) and called[0].__name__ == function else None


def _block_of(frame: FrameType, function: str) -> type | None:
    """The class of the block whose method could not be called; None for other functions."""
    name = function.rpartition(".")[2]
    kind = type(frame.f_locals.get("self"))
    is_block = any(base.__module__ == "twofold.gluon.block" for base in kind.__mro__)
    return kind if is_block and name in RUNS and hasattr(kind, name) else None


def _lacks_functions(kind: type) -> bool:
    """Whether a program's ``hybrid_forward`` has no parameter for the functions, which it may call something else than F."""
    return "F" not in signature(kind.hybrid_forward).parameters


def _parameter_among(kind: type, missing: str, own: Sequence[str]) -> str:
    """The first missing argument of ``hybrid_forward`` that is named as parameters are, or nearly as one that it lacks; else empty."""
    names = re.findall(r"'(\w+)'", missing) if hasattr(kind, "hybrid_forward") else []
    taken = signature(kind.hybrid_forward).parameters if names else {}
    unused = [name for name in own if name not in taken]
    return next((n for n in names if n.endswith(WEIGHTS) or did_you_mean(n, unused, "")), "")


def _inputs_of(kind: type) -> list[str]:
    """The names of a block's required inputs: parameters of its ``forward``, or of ``hybrid_forward`` without its functions and weights."""
    forward = getattr(kind, "forward", None)
    is_hybrid = getattr(forward, "__module__", None) == "twofold.gluon.hybrid_block"  # which calls the class's `hybrid_forward`
    given = list(signature(getattr(kind, RUNS[is_hybrid])).parameters.values()) if callable(forward) else []
    return [p.name for p in given if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in ("self", "F", *WEIGHTS)]


def _passes_on(frame: FrameType, argument: str) -> bool:
    """Whether a function has an argument by name only among others that it passes on, such as its ``**kwargs``."""
    code = frame.f_code
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return argument not in own and any(isinstance(value, dict) and argument in value for value in frame.f_locals.values())


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


def _keywords(frame: FrameType, position: int) -> list[str]:
    """The names of the arguments that a call passes by name, read from its source; none where there is no source."""
    places = next((i.positions for i in get_instructions(frame.f_code) if i.offset == position), None)
    first, last, begin, end = places or (None,) * 4
    if first is None:
        return []
    lines = [line.encode() for line in getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]]
    if not lines:
        return []
    lines[-1] = lines[-1][:end]  # before the first line is cut, which may be the same one
    text = b"".join([lines[0][begin:], *lines[1:]]).decode(errors="replace")
    try:
        call = syntax_tree(f"({text})", mode="eval").body
    except SyntaxError:
        return []
    return [k.arg for k in call.keywords if k.arg is not None] if isinstance(call, ast.Call) else []


def _method_of_first(frame: FrameType, function: str) -> Called | None:
    """The method of this name of the frame's first argument; None if that has none."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_varnames else None
    if not code.co_argcount and isinstance(first, tuple):  # `*args`
        first = next(iter(first), None)
    found = _attribute(type(first), function)
    return (found, f"{type(first).__name__}.{function}") if callable(found) else None


def named_in(frame: FrameType, names: list[str]) -> object:
    """What a dotted name means in a frame; None if it means nothing."""
    found = next((scope[names[0]] for scope in (frame.f_locals, frame.f_globals) if names[0] in scope), None)
    for name in names[1:]:
        found = None if found is None else _attribute(found, name)
    return found


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
    if name.startswith("_") or not method:
        return None
    modules = [module for key, module in list(sys.modules.items()) if key.partition(".")[0] == "twofold"]
    # modules also import others' classes of the name, such as `inspect.Parameter`
    classes = [kind for module in modules if isinstance(kind := vars(module).get(name), type)]
    found = next((kind for kind in classes if kind.__module__.partition(".")[0] == "twofold" and hasattr(kind, method)), None)
    if found is None:
        return None
    return (found, name) if method == "__init__" else (getattr(found, method), function)


def _is_of_program(frame: FrameType, position: int, function: str) -> bool:
    """Whether a function that the package could not call is the program's, given its qualified name."""
    called = _called(frame, position)
    found = [called[0]] if called is not None else [f for f in gc.get_objects() if type(f) is FunctionType and f.__qualname__ == function]
    return bool(found) and not any(map(_is_ours, found))


def _is_ours(called: Callable[..., object]) -> bool:
    """Whether a function, or a class's constructor, is the package's."""
    function = called.__init__ if isinstance(called, type) else called
    # functions written in C may have no module; those that stand for NumPy's, such as `np.fft.fft`, name NumPy's
    modules = (getattr(function, "__module__", None), getattr(function, "__globals__", {}).get("__name__"))
    return any(str(module).partition(".")[0] == "twofold" for module in modules)

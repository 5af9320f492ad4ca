"""The exceptions of Twofold: one hierarchy, in which every class also derives from the built-in that callers expect.

::

    MXNetError (RuntimeError)
    ├── ShapeError (ValueError)                 shapes that do not match
    │   ├── WrongShape (AssertionError)         one of those that MXNet asserts
    │   ├── NoSuchAxis (AxisError, IndexError)  an axis out of range
    │   └── NoMatrices (LinAlgError)            no matrices, or none that are square
    ├── DTypeError (TypeError)                  element types, or types of arguments
    │   ├── WrongType (AssertionError)          one of those that MXNet asserts
    │   ├── NotAnArray (AttributeError)         another object among arrays
    │   └── UnsupportedDType                    a dtype that NumPy has and Twofold lacks
    ├── StorageError (TypeError)                sparse arrays where only dense ones can be
    ├── ParameterError (ValueError)             a parameter of an operator, layer or optimizer
    │   ├── InvalidValue (AssertionError)       one of those that MXNet asserts
    │   ├── WrongArgument (TypeError)           an argument of another kind than the function takes
    │   ├── NotSupported (NotImplementedError)  a value that NumPy takes and MXNet's function does not
    │   ├── ZeroStep (ZeroDivisionError)        a range whose step is 0
    │   ├── NoSamples (ZeroDivisionError)       a training step of a batch of size 0
    │   ├── ZeroWeights (ZeroDivisionError)     a weighted mean whose weights add up to 0
    │   ├── TooLarge (OverflowError)            a number too large for the computer's integers
    │   ├── UnknownKey (KeyError)               a key or name that a table does not have
    │   ├── ShapesNotInferred                   shapes of a block's parameters that do not follow from its inputs
    │   └── LinearAlgebraError (LinAlgError)    a matrix that is singular, or has no such decomposition
    ├── OperatorError (AttributeError)          no operator of that name
    ├── IndexingError (IndexError)              an index out of range or of an unsupported kind
    │   └── WholeArrayOnly (TypeError, ValueError)  a part of a sparse array that can only be read or assigned whole
    ├── UnboundArgumentError (KeyError)         a graph argument without an array
    ├── DeviceError                             a context that does not exist, or arrays on different ones
    │   ├── UnknownDevice (KeyError)            a kind of device that does not exist
    │   ├── FixedDevice (AttributeError)        the context of an array is changed
    │   ├── DeviceOutOfMemory (MemoryError)     the device is out of memory
    │   └── BackendUnavailable                  no array library for that kind of device is installed
    ├── NotReady (AssertionError)               a method called before the one that it needs
    ├── Undefined (NotImplementedError)         a method that a subclass must define
    ├── AutogradError                           recording and gradients
    │   └── NoReverseMode                       a gradient through what has derivatives in forward mode only
    ├── DeferredInitializationError             a parameter whose shape is not known yet
    ├── EngineError                             the scheduler, its lanes and its worker processes
    ├── ClusterError                            the processes of a distributed store, their messages and transports
    │   ├── ClusterTimeout (TimeoutError)       a process that did not answer before a deadline
    │   ├── ProcessGone                         a process that has died, or the connection to it
    │   └── MessageLost                         a message that arrived although an earlier one did not
    ├── KernelCompileError                      a generated kernel that the device's compiler rejected
    ├── FileAccessError (OSError)               a file that cannot be read or written
    │   └── MissingFileError (FileNotFoundError)  no file of that name
    ├── FormatError (ValueError)                a file that is damaged or in another format
    ├── MissingDependency (ImportError)         an optional package that is not installed
    ├── LaunchError                             a program that `twofold run` cannot start
    ├── UnsupportedMethod                       a method that this kind of object cannot support
    │   ├── NotImplementedForSymbol             an array's method called on a symbol
    │   └── NotSupportedForSparseNDArray        a dense array's method called on a sparse one
    └── InternalError                           a broken invariant of Twofold itself: please report it

A message has three parts, *what* failed, what was *given*, and what *to do*::

    raise ShapeError("dot: lhs and rhs do not match", "lhs (2, 3), rhs (4, 5)", "make lhs.shape[-1] equal rhs.shape[0]")

    ShapeError: dot: lhs and rhs do not match: given lhs (2, 3), rhs (4, 5); make lhs.shape[-1] equal rhs.shape[0]

Every error can be pickled, so that errors raised in a worker process reach the parent intact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy

from .signal_handlers import is_from_signal_handler


def printable(text: str, kept: str = "") -> str:
    """Text in which control characters but those in ``kept`` are written as escapes: a name in a file must not command a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class MXNetError(RuntimeError):
    """The base class of all errors of this library.

    Parameters
    ----------
    what
        What failed; the whole message if nothing else is passed.
    given
        What was given, shown by its ``repr`` unless it is a string.
    todo
        What to do about it.
    """

    #: The name of the Gluon layer in which it was raised, if any.
    layer: str | None = None
    #: The node of a symbol whose shapes it is about, if any.
    node: str | None = None

    def __init__(self, what: str = "", given: object = None, todo: str | None = None) -> None:
        self.what, self.todo = what, todo
        self.given = given if given is None or isinstance(given, str) else repr(given)  # text only: an error must pickle
        message = printable(self._message(), kept="\n\t")
        super().__init__(message)
        self.args = (message,)  # OSError of Python 3.14 leaves them empty
        if todo and isinstance(self, AttributeError):
            self.obj = None  # else Python sets it and the name, and prints a suggestion of its own after ours

    def _message(self) -> str:
        what_and_given = f"{self.what}: given {self.given}" if self.given else self.what
        return f"{what_and_given}; {self.todo}" if self.todo else what_and_given

    def __str__(self) -> str:
        return str(self.args[0])  # the built-in bases differ: KeyError quotes the message, and others add fields of their own

    def __reduce__(self) -> tuple[object, ...]:
        # several built-in bases pickle their own arguments instead of these
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[MXNetError], args: tuple[object, ...], fields: dict[str, object]) -> MXNetError:
    """Rebuild a pickled error without running its constructor, whose arguments differ from class to class."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class ShapeError(MXNetError, ValueError):
    """Shapes do not match, or a shape is invalid."""


class DTypeError(MXNetError, TypeError):
    """An element type, or the type of an argument, is not accepted."""


class NotAnArray(DTypeError, AttributeError):
    """An object that is no array stands among arrays; MXNet looks for an array's handle."""


class UnsupportedDType(DTypeError):
    """A dtype that is not supported here, and that NumPy has."""


class StorageError(MXNetError, TypeError):
    """A sparse array was given, or asked for, where only dense ones can be, such as in a graph."""


class ParameterError(MXNetError, ValueError):
    """A parameter of an operator, layer, optimizer or iterator is unknown, missing or out of range."""


class InvalidValue(ParameterError, AssertionError):
    """A value that MXNet's Python code rejects with ``assert``."""


class WrongArgument(ParameterError, TypeError):
    """An argument is of another kind than the function takes."""


class NotSupported(ParameterError, NotImplementedError):
    """A value of an argument that NumPy takes and MXNet's functions of the same name do not."""


class NoSamples(ParameterError, ZeroDivisionError):
    """A training step of a batch without samples, by whose number gradients are divided."""


class ZeroWeights(ParameterError, ZeroDivisionError):
    """A weighted mean whose weights add up to 0."""


class ZeroStep(ParameterError, ZeroDivisionError):
    """A range whose step is 0."""


class TooLarge(ParameterError, OverflowError):
    """A size, or another number, is too large for the computer's integers."""


class UnknownKey(ParameterError, KeyError):
    """A table has no such key or name."""


class WrongShape(ShapeError, AssertionError):
    """A shape that MXNet's Python code rejects with ``assert``."""


class NoSuchAxis(ShapeError, numpy.exceptions.AxisError):
    """An array has no such axis."""

    axis = ndim = None  # the base has slots for these, which are not pickled


class NoMatrices(ShapeError, numpy.linalg.LinAlgError):
    """An array does not hold matrices, or not the square ones that are needed."""


class WrongType(DTypeError, AssertionError):
    """A type that MXNet's Python code rejects with ``assert``."""


class NotReady(MXNetError, AssertionError):
    """A method was called before one that it needs; MXNet raises AssertionError for this."""


class Undefined(MXNetError, NotImplementedError):
    """A subclass does not define a method that it must define."""


class ShapesNotInferred(ParameterError):
    """The shapes of a block's parameters do not follow from those of its inputs."""


class LinearAlgebraError(ParameterError, numpy.linalg.LinAlgError):
    """A matrix is singular, not positive definite, or its decomposition does not converge."""


class OperatorError(MXNetError, AttributeError):
    """There is no operator of that name."""


class IndexingError(MXNetError, IndexError):
    """An index is out of range, or of a kind that the array does not support."""


class WholeArrayOnly(IndexingError, TypeError, ValueError, AssertionError):
    """A part of a sparse array was asked for or assigned to; what MXNet raises depends on the index."""


class UnboundArgumentError(MXNetError, KeyError):
    """An argument or auxiliary state of a graph has no array."""


class DeviceError(MXNetError):
    """A context does not exist, or the operands of an operation are on different contexts."""


class UnknownDevice(DeviceError, KeyError):
    """There is no device of that kind or number."""


class FixedDevice(DeviceError, AttributeError):
    """The context of an array is changed."""


class DeviceOutOfMemory(DeviceError, MemoryError):
    """A device is out of memory."""


class BackendUnavailable(DeviceError):
    """No array library is installed for that kind of device."""


class AutogradError(MXNetError):
    """Recording or gradients failed: nothing was recorded, the graph was freed, or a recorded array was written to."""


class NoReverseMode(AutogradError):
    """A gradient in reverse mode passes through an operation that has derivatives in forward mode only."""


class DeferredInitializationError(MXNetError):
    """The array of a parameter was requested before its shape is known."""


class EngineError(MXNetError):
    """The scheduler failed: a lane or a worker process died, or was used where it cannot be."""


class ClusterError(MXNetError):
    """A process of a distributed store is gone, or sent an invalid message."""


class ClusterTimeout(ClusterError, TimeoutError):
    """A process of a distributed store did not answer before a deadline."""

    def __new__(cls, *args: object, **kwargs: object) -> ClusterTimeout:
        """Hide the arguments from OSError, as `FileAccessError` does."""
        return OSError.__new__(cls)


class ProcessGone(ClusterError):
    """A process of a cluster has died, or the connection to it. ``process`` is its number, if that is known."""

    process: int = -1


class MessageLost(ClusterError):
    """A message of a distributed store arrived although an earlier one did not."""


class KernelCompileError(MXNetError):
    """The device's compiler rejected a generated kernel."""


class FileAccessError(MXNetError, OSError):
    """A file cannot be read or written."""

    def __new__(cls, *args: object, **kwargs: object) -> FileAccessError:
        """Hide the arguments from OSError, which would interpret two of them as an error number and its text."""
        return OSError.__new__(cls)


class MissingFileError(FileAccessError, FileNotFoundError):
    """There is no file of that name."""


class FormatError(MXNetError, ValueError):
    """A file is damaged or in another format.

    Parameters
    ----------
    reason
        What is wrong.
    given, todo
        As in `MXNetError`.
    offset
        Offset in the file, in bytes.
    path
        The file; `at_path` adds it once the name is known.
    """

    def __init__(
        self, reason: str = "", given: object = None, todo: str | None = None, *, offset: int | None = None, path: str | None = None
    ) -> None:
        self.offset, self.path = offset, path
        super().__init__(reason, given, todo)

    @property
    def reason(self) -> str:
        """What is wrong, without position, given and to-do."""
        return self.what

    def at_path(self, path: object) -> FormatError:
        """Return the same error with the path of the file, unless it already has one."""
        return FormatError(self.what, self.given, self.todo, offset=self.offset, path=self.path or str(path))

    def _message(self) -> str:
        place = "" if self.offset is None else f"byte {self.offset}: "
        return f"{self.path}: {place}{super()._message()}" if self.path else place + super()._message()


class MissingDependency(MXNetError, ImportError):
    """An optional package is needed and is not installed.

    Parameters
    ----------
    what, given, todo
        As in `MXNetError`; `of` composes them.
    package
        Name of the package, as imported.
    """

    def __init__(self, what: str = "", given: object = None, todo: str | None = None, *, package: str | None = None) -> None:
        self.package = package
        super().__init__(what, given, todo)

    @classmethod
    def of(cls, package: str, purpose: str, install: str) -> MissingDependency:
        """Return the error for a package that could not be imported.

        Parameters
        ----------
        package
            Name of the package, as imported.
        purpose
            What needs it, such as ``"reading s3:// URLs"``.
        install
            What to install, such as ``"twofold[safetensors]"``.
        """
        what = f"{purpose} needs the package {package!r}, which is not installed"
        return cls(what, todo=f"run: pip install '{install}'", package=package)


class LaunchError(MXNetError):
    """``twofold run`` cannot start a program. Its user gets one line instead of a traceback."""


class UnsupportedMethod(MXNetError):
    """A method was called on a kind of object that cannot support it.

    Parameters
    ----------
    function
        The method, or its name.
    alias
        Another name of it, such as the operator that calls it.
    args
        The arguments of the call; their types are shown.
    """

    receiver = "this object"
    advice: str | None = None

    def __init__(self, function: Callable[..., object] | str = "", alias: str | None = None, *args: object) -> None:
        name = function if isinstance(function, str) else function.__name__
        also = f" (also known as {alias!r})" if alias else ""
        types = ", ".join(type(arg).__name__ for arg in args)
        super().__init__(f"{name}{also} is not supported for {self.receiver}", types and f"arguments of types {types}", self.advice)


class NotImplementedForSymbol(UnsupportedMethod):
    """A method that needs an array's values was called on a symbol, which has none."""

    receiver = "Symbol"
    advice = "values exist only when a graph runs: compute with functions of F or mx.sym, or do not hybridize the block"


class NotSupportedForSparseNDArray(UnsupportedMethod):
    """A method of dense arrays was called on a sparse one."""

    receiver = "SparseNDArray"


class InternalError(MXNetError):
    """An invariant of Twofold itself is broken: a bug in Twofold, not in the calling program."""


#: What to do about an error that another one has caused, which is shown with it.
SEE_CAUSE = "see the cause above"

#: Built-in exceptions of array libraries and the system, and the error for each; any other becomes an `EngineError`.
_MATCHING: tuple[tuple[type[BaseException], type[MXNetError]], ...] = (
    (MemoryError, DeviceOutOfMemory),
    (numpy.exceptions.AxisError, NoSuchAxis),
    (IndexError, IndexingError),
    (TypeError, DTypeError),
    (ValueError, ParameterError),
    (OverflowError, TooLarge),
    (OSError, FileAccessError),
)


def own_error(what: str, error: BaseException) -> MXNetError:
    """Convert an exception to an error of this library: unchanged if it is one, else by its built-in class.

    The caller says what failed, and makes the exception the cause: ``raise own_error(what, error) from error``. That of a signal handler,
    such as the end of a time limit, is raised again instead: the program expects its own class.
    """
    if isinstance(error, MXNetError):
        return error
    if is_from_signal_handler(error):
        raise error
    if isinstance(error, numpy.linalg.LinAlgError):
        return LinearAlgebraError(f"a matrix cannot be decomposed or inverted: {error}", None, "check its values")
    kind = next((own for builtin, own in _MATCHING if isinstance(error, builtin)), EngineError)
    return kind(what, f"{type(error).__name__}: {error}", SEE_CAUSE)


__all__ = sorted(name for name, value in vars().items() if isinstance(value, type) and issubclass(value, MXNetError))

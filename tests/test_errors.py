"""The exception tree: three-part messages, the built-in each class stands for, and pickling."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest

from twofold import errors
from twofold.errors import (
    DeviceOutOfMemory,
    DTypeError,
    FormatError,
    IndexingError,
    MissingDependency,
    MissingFileError,
    MXNetError,
    NotImplementedForSymbol,
    NotSupportedForSparseNDArray,
    OperatorError,
    ParameterError,
    ShapeError,
    UnboundArgumentError,
)

CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MXNetError)]
BUILTINS = {
    ShapeError: ValueError,
    DTypeError: TypeError,
    ParameterError: ValueError,
    OperatorError: AttributeError,
    IndexingError: IndexError,
    UnboundArgumentError: KeyError,
    DeviceOutOfMemory: MemoryError,
    MissingFileError: FileNotFoundError,
    FormatError: ValueError,
    MissingDependency: ImportError,
}


def test_a_message_has_what_given_and_todo():
    error = ShapeError("dot: shapes do not match", "lhs (2, 3), rhs (4, 5)", "transpose one of them")
    assert str(error) == "dot: shapes do not match: given lhs (2, 3), rhs (4, 5); transpose one of them"


def test_given_values_are_shown_by_repr_unless_strings():
    assert str(ShapeError("bad shape", (2, 3))) == "bad shape: given (2, 3)"


def test_given_can_be_omitted():
    assert str(MXNetError("no device", todo="use cpu()")) == "no device; use cpu()"


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if not issubclass(cls, errors.UnsupportedMethod)])
def test_a_single_string_is_the_message(cls: type[MXNetError]):
    assert str(cls("all of it")) == "all of it"


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_an_mxnet_error(cls: type[MXNetError]):
    assert issubclass(cls, MXNetError)
    assert issubclass(cls, RuntimeError)


@pytest.mark.parametrize(("cls", "builtin"), BUILTINS.items())
def test_an_error_is_caught_as_the_builtin_it_stands_for(cls: type[MXNetError], builtin: type[Exception]):
    assert issubclass(cls, builtin)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_errors_round_trip_through_pickle(cls: type[MXNetError], protocol: int):
    error = cls("what")
    copy = pickle.loads(pickle.dumps(error, protocol))
    assert (type(copy), str(copy), vars(copy)) == (cls, str(error), vars(error))


def test_an_error_given_an_object_that_cannot_be_pickled_is_pickled():
    error = ShapeError("bad shape", lambda: None)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_format_error_says_where():
    error = FormatError("no array starts here", "0x1", offset=24, path="a.params")
    assert str(error) == "a.params: byte 24: no array starts here: given 0x1"


def test_a_format_errors_path_can_be_set_later():
    error = FormatError("cut off", offset=3, todo="copy it again").at_path("a.params")
    assert str(error) == "a.params: byte 3: cut off; copy it again"
    assert (error.reason, error.offset, error.path) == ("cut off", 3, "a.params")


def test_a_known_path_is_kept():
    assert FormatError("cut off", path="inner").at_path("outer").path == "inner"


def test_a_missing_dependency_names_what_to_install():
    error = MissingDependency.of("fsspec", "opening s3:// addresses", "fsspec")
    assert str(error) == "opening s3:// addresses needs the package 'fsspec', which is not installed; run: pip install 'fsspec'"
    assert error.package == "fsspec"


def test_a_method_that_symbols_do_not_have_is_named_with_its_arguments():
    assert str(NotImplementedForSymbol("asnumpy", None, 1)) == (
        "asnumpy is not supported for Symbol: given arguments of types int; values exist only when a graph runs: "
        "compute with functions of F or mx.sym, or do not hybridize the block"
    )


def test_a_method_may_be_given_itself_and_its_alias():
    def reshape() -> None: ...

    assert str(NotSupportedForSparseNDArray(reshape, "view")) == "reshape (also known as 'view') is not supported for SparseNDArray"


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = [line for line in (errors.__doc__ or "").splitlines() if "── " in line]
    names = [line.partition("── ")[2].split()[0] for line in drawn]
    depths = [line.index("── ") for line in drawn]
    assert sorted(names) == sorted({kind.__name__ for kind in CLASSES} - {"MXNetError"})
    for (parent, depth), (child, deeper) in pairwise(zip(names, depths, strict=True)):
        if deeper > depth:
            assert issubclass(getattr(errors, child), getattr(errors, parent))

"""``CSRNDArray`` and ``RowSparseNDArray``: arrays of `mx.nd` that store only some of their elements or rows."""

import warnings
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from ..backend.sparse import increasing
from ..device import Device, interned
from ..dtype import NUMPY, dtype_name
from ..errors import (
    DTypeError,
    MissingDependency,
    NotSupported,
    NotSupportedForSparseNDArray,
    ParameterError,
    ShapeError,
    WholeArrayOnly,
)
from ..imperative.array import adopted, from_host
from ..imperative.cell import Value, wrap
from ..imperative.row_gradients import GradientCell, RowVariable
from ..imperative.storage import CELLS, CLASSES, SparseArray, SparseValue, by_storage, converted, dense_array, densified, sparse_array
from ..imperative.tape import Variable, check_request
from ..imperative.transfer import on_device
from ..imperative.write import mark
from ..opdef import Sparse
from ..ops import sparse_storage
from ..ops.storage_rules import stored_of
from .array import NDArray
from .new_arrays import full, zeros
from .types import DTypeLike


class BaseSparseNDArray(NDArray, SparseArray):
    """Base of the sparse arrays. Operators that have a form for sparse operands compute with the stored elements or rows alone."""

    __slots__ = ()
    _stype: ClassVar[str]
    _is_sparse = True
    _content: SparseValue

    def __init_subclass__(cls) -> None:
        if "_stype" in vars(cls):  # which a class that a program derives has not
            CLASSES[cls._stype] = cls

    @property
    def stype(self) -> str:
        """Storage type: ``"csr"`` or ``"row_sparse"``."""
        return self._stype

    @property
    def context(self) -> Device:
        """The device that the array is on."""
        return self._content.device

    ctx = device = context

    @property
    def data(self) -> NDArray:
        """A copy of the stored values: the elements (n,) of a csr matrix, the rows (n, …) of a row-sparse array."""
        return self._content.sparse.values.copy()

    @property
    def indices(self) -> NDArray:
        """A copy of the indices, int64 (n,): the column of each stored element, or the number of each stored row."""
        return CELLS.structure(np.copy, self._content.sparse.indices)[0]

    def wait_to_read(self) -> None:
        """Wait until the stored values are computed.

        Raises
        ------
        MXNetError
            If computing it failed.
        """
        for part in self._content.sparse.parts:
            part.wait_to_read()

    def wait_to_write(self) -> None:
        """Wait until no pending operation reads the stored values."""
        for part in self._content.sparse.parts:
            part.wait_to_write()

    def _rebind(self, v: object) -> None:
        self._content = v if isinstance(v, SparseValue) else converted(wrap(NDArray, v), self._stype)._content
        variable = getattr(self, "_gradient", None)
        if variable is not None:
            _mark_values(self._content, variable)

    def _promote(self, content: object) -> Value:
        """A dense copy for graphs, which have no other storage. The array itself stays sparse."""
        return dense_array(self)._capture()

    def _view(self, *chain: Any) -> Any:
        return dense_array(self)._view(*chain)

    def _with_values(self, values: NDArray) -> Any:
        return sparse_array(self._content.sparse.with_values(values), checked=self._content.checked)

    # gradients

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Mark the stored values as variables: `backward` stores the gradient in ``grad``, an array of the same storage type.

        Parameters
        ----------
        grad_req
            As `Array.attach_grad`.
        stype
            The storage type of the gradient: the array's own if None. Another one is ``"default"``.
        """
        check_request(grad_req)
        own = stype or self._stype
        self._attach(zeros(self.shape, self.context, self._dtype) if own == "default" else self._zeros_in(own), grad_req)

    def _attach(self, grad: object, grad_req: str) -> None:
        kind = RowVariable if self._stype == "row_sparse" else Variable
        self._gradient = kind(GradientCell(self, grad), grad_req)
        _mark_values(self._content, self._gradient)

    def _stored_head(self, grad: Any) -> tuple[Any, Any]:
        """The stored values as a head of `backward`, and the head gradient; None means ones."""
        stored = self._content.sparse
        if grad is None:
            return stored.values, None
        if grad.shape != self.shape:
            given = f"{grad.shape} for {self.shape}"
            raise ShapeError("backward: the head gradient's shape differs", given, "pass one of the head's shape")
        return stored.values, stored_of(CELLS, densified(grad), stored)

    @property
    def grad(self) -> Self:
        """The gradient; None if this array is not a variable."""
        g = getattr(self, "_gradient", None)
        found: Any = None if g is None else g.cell.grad
        return found

    # conversion

    def asnumpy(self) -> np.ndarray:
        """A dense NumPy array with the elements."""
        return self._content.dense()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """NumPy's conversion protocol: a dense copy."""
        return self._content.dense().astype(dtype or self.dtype, copy=False)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Any:
        """The array cast to a dtype (float32 if None); the array itself if it has that dtype and ``copy`` is false."""
        name = "float32" if dtype is None else dtype_name(dtype)
        if name == self._dtype and not copy:
            return self
        return self._with_values(self._content.sparse.values.astype(name))

    def copy(self) -> Any:
        """A copy on the same device."""
        return self._with_values(self._content.sparse.values.copy())

    def copyto(self, other: Any) -> Any:
        """Copy into another array, casting to its dtype, or into a new array on a device.

        Returns
        -------
        NDArray
            The array written to; False if it is this one.

        Raises
        ------
        ShapeError
            If the other array's shape differs.
        DTypeError
            If the target is neither an array nor a context, or an array of another sparse storage type.
        """
        if isinstance(other, Device):
            is_here = other == self.context
            moved = [p.copy() if is_here else wrap(NDArray, on_device(p, other)) for p in self._content.sparse.parts]
            return sparse_array(Sparse(self._stype, self.shape, *moved), checked=self._content.checked)
        if other is self:
            warnings.warn("copyto: an array is copied to itself", RuntimeWarning, stacklevel=2)
            return False
        if not isinstance(other, NDArray) or other.stype not in ("default", self._stype):
            given = f"stype {other.stype}" if isinstance(other, NDArray) else type(other).__name__
            raise DTypeError("copyto does not support destination NDArray", given, f"pass a dense array, or one of stype {self._stype}")
        if other.shape != self.shape:
            raise ShapeError("copyto: shapes differ", f"{self.shape} into {other.shape}", "pass an array of the same shape")
        if other.stype == "default":
            other[:] = dense_array(self)
        else:
            # through a copy on the target's device, so that the two arrays share no parts
            other._rebind(self.copyto(other.context).astype(other.dtype)._content)
        return other

    def detach(self) -> Any:
        """The same array without its recorded history."""
        return self._with_values(self._content.sparse.values.detach().copy())

    def check_format(self, full_check: bool = True) -> None:
        """Raise unless the stored parts form a valid array of this storage type.

        Parameters
        ----------
        full_check
            Also check every index: in range, sorted, without duplicates.

        Raises
        ------
        ShapeError, IndexingError
            If it is not.
        """
        if full_check:
            self._content.check([p.asnumpy() for p in self._content.sparse.parts], ordered=True)

    def as_np_ndarray(self) -> NoReturn:
        """Not possible: arrays of ``mx.np`` are dense."""
        raise ParameterError(f"cannot convert ndarray of stype {self._stype} to numpy ndarray", None, "call tostype('default') first")

    def asscalar(self) -> Any:
        """The element of an array of size 1, as a NumPy scalar.

        Raises
        ------
        NotSupported
            If the size is not 1.
        """
        if self.size != 1:
            raise NotSupported("asscalar: a sparse array is no scalar", f"shape {self.shape}", "convert it with tostype('default')")
        return super().asscalar()

    def reshape(self, *shape: object, **options: object) -> NoReturn:
        """Not supported for sparse arrays.

        Raises
        ------
        NotSupportedForSparseNDArray
            Always.
        """
        raise NotSupportedForSparseNDArray("reshape", None, *shape)

    # Python protocols

    def __setitem__(self, key: object, value: object) -> None:
        if key is not Ellipsis and (not isinstance(key, slice) or key != slice(None)):
            raise WholeArrayOnly(f"{type(self).__name__} only supports [:] for assignment", repr(key), "assign to x[:]")
        if value is not self:
            self._assign(value)

    def _assign(self, value: object) -> None:
        """Take over the elements of an array."""
        is_array = isinstance(value, (NDArray, np.ndarray, np.generic, int, float))
        try:
            source = value if isinstance(value, NDArray) else from_host(NDArray, np.asarray(value, self.dtype), self.context)
        except (TypeError, ValueError):
            source = None
        if source is None or (source.shape != self.shape and not is_array):
            raise DTypeError("assignment: the value is not array-like", type(value).__name__, "assign an array")
        if source.shape != self.shape:
            raise ShapeError("assignment: shapes differ", f"{source.shape} into {self.shape}", "assign an array of the same shape")
        if source.stype not in ("default", self._stype):
            raise DTypeError("copyto does not support destination NDArray", f"stype {self._stype}", "convert it with tostype('default')")
        self._rebind(converted(source, self._stype).copyto(self.context).astype(self.dtype)._content)

    def __iadd__(self, other: object) -> "BaseSparseNDArray":
        return self._updated(self + other)

    def __isub__(self, other: object) -> "BaseSparseNDArray":
        return self._updated(self - other)

    def __imul__(self, other: object) -> "BaseSparseNDArray":
        return self._updated(self * other)

    def __itruediv__(self, other: object) -> "BaseSparseNDArray":
        return self._updated(self / other)

    def _updated(self, new: object) -> "BaseSparseNDArray":
        self._rebind(converted(new, self._stype)._content)
        return self

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        parts = [p.asnumpy() for p in self._content.sparse.parts]
        return _restored, (self._stype, self.shape, parts, self._dtype, self.context)


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row format: `data`, `indices` (columns) and `indptr`.

    Row k has the elements ``data[indptr[k]:indptr[k + 1]]`` in the columns ``indices[indptr[k]:indptr[k + 1]]``. Make one with
    `csr_matrix` or ``tostype("csr")``.

    Examples
    --------
    >>> import twofold as mx
    >>> a = mx.nd.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]]).tostype("csr")
    >>> a.data.asnumpy().tolist(), a.indices.asnumpy().tolist(), a.indptr.asnumpy().tolist()
    ([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3])
    >>> mx.nd.sparse.dot(a, mx.nd.ones((3, 1))).asnumpy().ravel().tolist()
    [3.0, 0.0, 3.0]
    """

    __slots__ = ()
    _stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """A copy of the row pointers, int64 (rows + 1,)."""
        return CELLS.structure(np.copy, self._content.sparse.indptr)[0]

    def asscipy(self) -> Any:
        """A copy as a ``scipy.sparse.csr_matrix``.

        Raises
        ------
        MissingDependency
            If SciPy is not installed.
        """
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise MissingDependency.of("scipy", "asscipy", "twofold[sparse]") from None
        values, indices, indptr = (np.array(p) for p in self._content.hosts())
        return csr_matrix((values, indices, indptr), shape=self.shape, dtype=self.dtype)

    def __getitem__(self, key: object) -> "CSRNDArray":
        """Rows: ``a[k]`` as a matrix of one row, ``a[begin:end]``; ``a[:]`` is the array itself.

        Raises
        ------
        ParameterError
            For several axes, a step, or any other kind of index.
        """
        if not self._content.checked:
            self._content.hosts()  # raises for parts that do not fit together
        if isinstance(key, tuple):
            raise ParameterError("Multi-dimension indexing is not supported", repr(key), "index rows only")
        if not isinstance(key, (int, np.integer, slice)):
            raise ParameterError(f"Undefined behaviour for {key}", type(key).__name__, "index with an integer or a slice")
        if isinstance(key, slice):
            if key == slice(None):
                return self
            if key.step not in (None, 1):
                raise ParameterError("CSRNDArray only supports continuous slicing on axis 0", repr(key), "leave out the step")
            begin, end, _ = key.indices(self.shape[0])
        else:
            begin = int(key) + (self.shape[0] if key < 0 else 0)
            end = begin + 1
        end = min(max(begin, end), self.shape[0])
        begin = min(begin, end)
        indptr = self._content.sparse.indptr
        first, last = (int(indptr[k].asscalar()) for k in (begin, end))
        parts = self._content.sparse
        part = Sparse(
            "csr", (end - begin, *self.shape[1:]), parts.values[first:last], parts.indices[first:last], indptr[begin : end + 1] - first
        )
        return sparse_array(part, checked=self._content.checked)


class RowSparseNDArray(BaseSparseNDArray):
    """An array that stores only some of its rows (slices along axis 0): `data`, and their numbers `indices`.

    Gradients of embeddings are such arrays. Make one with `row_sparse_array` or ``tostype("row_sparse")``.

    Examples
    --------
    >>> import twofold as mx
    >>> a = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))
    >>> a.retain(mx.nd.array([4])).asnumpy()[4].tolist()
    [3.0, 4.0]
    """

    __slots__ = ()
    _stype = "row_sparse"
    _variable = RowVariable

    def __getitem__(self, key: object) -> "RowSparseNDArray":
        """``a[:]``, the array itself.

        Raises
        ------
        WholeArrayOnly
            For any other index.
        """
        if isinstance(key, slice) and key == slice(None):
            return self
        raise WholeArrayOnly("RowSparseNDArray only supports [:] for __getitem__", repr(key), "convert it with tostype('default')")

    def _assign(self, value: object) -> None:
        if isinstance(value, (int, float, np.generic)):  # every row is stored then
            self._rebind(with_every_row(full(self.shape, value, self.context, self.dtype))._content)
        else:
            super()._assign(value)

    def retain(self, indices: NDArray) -> "RowSparseNDArray":
        """The rows with the given numbers (n,). A row that is not stored becomes a stored row of zeros."""
        return by_storage(sparse_storage.retain.bind(True), (self, indices))[0]


def _mark_values(content: SparseValue, variable: Variable) -> None:
    """Make the stored values a variable, also after updates of the rows."""
    values = content.sparse.values
    values._gradient = variable
    mark(values, variable)


def with_every_row(dense: NDArray) -> RowSparseNDArray:
    """A row-sparse array that stores every row of a dense one, as the weights of a model do."""
    numbers = adopted(NDArray, np.arange(dense.shape[0]), dense.context)
    return sparse_array(Sparse("row_sparse", dense.shape, dense, numbers), checked=True)


def retained(array: RowSparseNDArray, numbers: NDArray) -> RowSparseNDArray:
    """The rows of a row-sparse array with the given numbers, of any shape, each once, in increasing order."""
    return array.retain(adopted(NDArray, increasing(numbers.asnumpy().astype(np.int64)), numbers.context))


def _restored(stype: str, shape: tuple[int, ...], parts: list[np.ndarray], dtype: str, device: Device) -> Any:
    values, *others = parts
    cells = [from_host(NDArray, p, interned(device)) for p in (values.view(NUMPY[dtype]), *others)]
    return sparse_array(Sparse(stype, shape, *cells))

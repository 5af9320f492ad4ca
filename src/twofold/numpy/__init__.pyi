"""Written by ``make stubs`` from the tables of functions."""

# ruff: noqa: I001

from collections.abc import Sequence
from typing import Any

from ..ndarray.types import ArrayLike
from . import linalg as linalg
from . import random as random
from .array import ndarray as ndarray
from .fallback import vectorize as vectorize
from .ufuncs import ufunc as ufunc
from .archives import load as load
from .archives import savez as savez
from .archives import savez_compressed as savez_compressed
from .constructor import frombuffer as frombuffer
from .conversions import asanyarray as asanyarray
from .conversions import asfortranarray as asfortranarray
from .conversions import require as require
from .creation import arange as arange
from .creation import array as array
from .creation import asarray as asarray
from .creation import ascontiguousarray as ascontiguousarray
from .creation import copy as copy
from .creation import empty as empty
from .creation import empty_like as empty_like
from .creation import eye as eye
from .creation import from_dlpack as from_dlpack
from .creation import full as full
from .creation import full_like as full_like
from .creation import geomspace as geomspace
from .creation import identity as identity
from .creation import linspace as linspace
from .creation import logspace as logspace
from .creation import meshgrid as meshgrid
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import tri as tri
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .fixed_sizes import unique as unique
from .linear import dot as dot
from .linear import einsum as einsum
from .linear import inner as inner
from .linear import kron as kron
from .linear import outer as outer
from .linear import polyval as polyval
from .linear import tensordot as tensordot
from .linear import vdot as vdot
from .linear import vecdot as vecdot
from .means import average as average
from .means import mean as mean
from .means import nanmean as nanmean
from .means import std as std
from .means import var as var
from .parts import append as append
from .parts import array_split as array_split
from .parts import column_stack as column_stack
from .parts import concat as concat
from .parts import concatenate as concatenate
from .parts import dsplit as dsplit
from .parts import dstack as dstack
from .parts import hsplit as hsplit
from .parts import hstack as hstack
from .parts import roll as roll
from .parts import row_stack as row_stack
from .parts import split as split
from .parts import stack as stack
from .parts import unstack as unstack
from .parts import vsplit as vsplit
from .parts import vstack as vstack
from .reductions import all as all
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import any as any
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import count_nonzero as count_nonzero
from .reductions import cumprod as cumprod
from .reductions import cumsum as cumsum
from .reductions import cumulative_prod as cumulative_prod
from .reductions import cumulative_sum as cumulative_sum
from .reductions import max as max
from .reductions import min as min
from .reductions import nanprod as nanprod
from .reductions import nansum as nansum
from .reductions import prod as prod
from .reductions import ptp as ptp
from .reductions import sum as sum
from .selecting import allclose as allclose
from .selecting import argwhere as argwhere
from .selecting import around as around
from .selecting import array_equal as array_equal
from .selecting import array_equiv as array_equiv
from .selecting import clip as clip
from .selecting import compress as compress
from .selecting import diff as diff
from .selecting import extract as extract
from .selecting import flatnonzero as flatnonzero
from .selecting import isclose as isclose
from .selecting import nan_to_num as nan_to_num
from .selecting import nonzero as nonzero
from .selecting import round as round
from .selecting import take as take
from .selecting import take_along_axis as take_along_axis
from .selecting import where as where
from .shapes import atleast_1d as atleast_1d
from .shapes import atleast_2d as atleast_2d
from .shapes import atleast_3d as atleast_3d
from .shapes import broadcast_arrays as broadcast_arrays
from .shapes import broadcast_to as broadcast_to
from .shapes import delete as delete
from .shapes import diag as diag
from .shapes import diagflat as diagflat
from .shapes import diagonal as diagonal
from .shapes import expand_dims as expand_dims
from .shapes import flip as flip
from .shapes import fliplr as fliplr
from .shapes import flipud as flipud
from .shapes import imag as imag
from .shapes import isscalar as isscalar
from .shapes import matrix_transpose as matrix_transpose
from .shapes import may_share_memory as may_share_memory
from .shapes import moveaxis as moveaxis
from .shapes import ndim as ndim
from .shapes import pad as pad
from .shapes import permute_dims as permute_dims
from .shapes import ravel as ravel
from .shapes import real as real
from .shapes import repeat as repeat
from .shapes import reshape as reshape
from .shapes import rollaxis as rollaxis
from .shapes import rot90 as rot90
from .shapes import shape as shape
from .shapes import shares_memory as shares_memory
from .shapes import size as size
from .shapes import squeeze as squeeze
from .shapes import swapaxes as swapaxes
from .shapes import trace as trace
from .shapes import transpose as transpose
from .shapes import tril as tril
from .shapes import triu as triu
from .sort_order import argsort as argsort
from .sort_order import sort as sort

class _Single(ufunc):
    def __call__(self, *args: Any, out: Any = None, **options: Any) -> ndarray: ...

abs: _Single
absolute: _Single
acos: _Single
acosh: _Single
add: _Single
arccos: _Single
arccosh: _Single
arcsin: _Single
arcsinh: _Single
arctan: _Single
arctan2: _Single
arctanh: _Single
asin: _Single
asinh: _Single
atan: _Single
atan2: _Single
atanh: _Single
bitwise_and: _Single
bitwise_count: _Single
bitwise_invert: _Single
bitwise_left_shift: _Single
bitwise_not: _Single
bitwise_or: _Single
bitwise_right_shift: _Single
bitwise_xor: _Single
cbrt: _Single
ceil: _Single
conj: _Single
conjugate: _Single
copysign: _Single
cos: _Single
cosh: _Single
deg2rad: _Single
degrees: _Single
divide: _Single
divmod: ufunc
equal: _Single
exp: _Single
exp2: _Single
expm1: _Single
fabs: _Single
float_power: _Single
floor: _Single
floor_divide: _Single
fmax: _Single
fmin: _Single
fmod: _Single
frexp: ufunc
gcd: _Single
greater: _Single
greater_equal: _Single
heaviside: _Single
hypot: _Single
invert: _Single
isfinite: _Single
isinf: _Single
isnan: _Single
isnat: _Single
lcm: _Single
ldexp: _Single
left_shift: _Single
less: _Single
less_equal: _Single
log: _Single
log10: _Single
log1p: _Single
log2: _Single
logaddexp: _Single
logaddexp2: _Single
logical_and: _Single
logical_not: _Single
logical_or: _Single
logical_xor: _Single
matmul: _Single
matvec: _Single
maximum: _Single
minimum: _Single
mod: _Single
modf: ufunc
multiply: _Single
negative: _Single
nextafter: _Single
not_equal: _Single
positive: _Single
pow: _Single
power: _Single
rad2deg: _Single
radians: _Single
reciprocal: _Single
remainder: _Single
right_shift: _Single
rint: _Single
sign: _Single
signbit: _Single
sin: _Single
sinh: _Single
spacing: _Single
sqrt: _Single
square: _Single
subtract: _Single
tan: _Single
tanh: _Single
true_divide: _Single
trunc: _Single
vecmat: _Single

def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> ndarray: ...
def tile(A: ArrayLike, reps: int | Sequence[int]) -> ndarray: ...
def __getattr__(name: str) -> Any: ...

"""Einstein summation with NumPy's subscripts: implicit results, ellipses and repeated indices, in terms of the primitive."""

import string

from ..errors import ParameterError, ShapeError
from ..opdef import op
from .creation import diagonal


def explicit_terms(subscripts, ndims):
    """The letters of each operand and of the result, with unused letters for ellipses and an explicit result.

    Raises
    ------
    ParameterError
        If the subscripts are malformed or do not fit the operands' numbers of dimensions.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ParameterError(
            "einsum: the numbers of operands and terms differ", f"{subscripts!r} for {len(ndims)}", "pass one term for each"
        )
    # the primitive has no ellipses: they are replaced by letters that occur nowhere else
    unused = [c for c in string.ascii_letters if c not in subscripts]
    # the widest ellipsis decides; narrower ones align with its last axes, as in broadcasting
    wide = max((n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True) if "..." in t), default=0)
    ellipsis = "".join(unused[:wide])
    spelled = [_spelled(t, n, ellipsis, subscripts) for t, n in zip(terms, ndims, strict=True)]
    result = right.replace("...", ellipsis) if arrow else _implicit(spelled, ellipsis)
    # NumPy, too, refuses to sum over the axes of an ellipsis silently
    lost = arrow and ellipsis and "..." not in right
    if lost or len(set(result)) < len(result) or not set(result) <= set("".join(spelled)):
        todo = "name indices of the operands, each once, and ... if an operand has it"
        raise ParameterError("einsum: the result's indices are wrong", repr(subscripts), todo)
    return spelled, result


def _implicit(terms, ellipsis):
    """The implicit result: the indices of the ellipses, then those that occur once, sorted."""
    letters = "".join(terms)
    return ellipsis + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in ellipsis))


def _spelled(term, ndim, ellipsis, subscripts):
    """A term with its ellipsis replaced by the last of the letters that stand for it."""
    named = term.replace("...", "", 1)
    own = ndim - len(named) if "..." in term else 0
    if own < 0 or len(named) + own != ndim or (named and not named.isalpha()):
        raise ParameterError(
            "einsum: a term does not match its operand", f"{term!r} of {subscripts!r} for {ndim} dimensions", "name one index for each axis"
        )
    return term.replace("...", ellipsis[len(ellipsis) - own :], 1)


def without_repeats(xp, x, term):
    """An operand with each index once: the diagonals of axes that share a letter, as last axes."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            a, b = [k for k, c in enumerate(term) if c == letter][:2]
            if x.shape[a] != x.shape[b]:
                raise ShapeError("einsum: an index has two sizes", f"{letter}: {x.shape[a]} and {x.shape[b]}", "make them equal")
            # the diagonal moves to the end, and so does its letter
            x = diagonal(xp, x, 0, a, b)
            term = "".join(c for k, c in enumerate(term) if k not in (a, b)) + letter
    return x, term


@op("_npi_einsum", count_param="num_args")
def einstein_sum(xp, *data, subscripts: str = "", optimize: int = 0):
    """Sum of products by Einstein's convention, as ``numpy.einsum``.

    ``optimize`` has no effect: the order of contractions is always chosen by cost.
    """
    terms, right = explicit_terms(subscripts, [len(x.shape) for x in data])
    operands = [without_repeats(xp, x, t) for x, t in zip(data, terms, strict=True)]
    return xp.einsum(*[x for x, _ in operands], subscripts=",".join(t for _, t in operands) + "->" + right)


@einstein_sum.sample
def _(draw):
    a, b = draw.real((2, 3)), draw.real((3, 4))
    return [
        draw(a, b, subscripts="ij,jk"),
        draw(draw.real((3, 2, 3)), subscripts="iji->j"),
        draw(draw.real((2, 2, 3)), b, subscripts="...j,jk->...k"),
    ]

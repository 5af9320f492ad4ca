"""Samples: the shapes, ranges and parameters on which the generated tests and benchmarks run an operator. Pure descriptions.

A sample rule is attached to its operator and returns the results of ``draw``::

    @sigmoid.sample
    def _(draw):
        return draw(draw.real((3, 4), low=-100, high=100))
"""

from dataclasses import dataclass, field

from .rules import Rule
from .spec import Op


@dataclass(frozen=True)
class Drawn:
    """One array to draw: uniform in [low, high); integers if ``whole``; pairwise distinct values if ``distinct``.

    ``then`` computes the operand from the drawn numbers, with NumPy: ``lambda np, x: x @ x.T`` for a positive definite matrix.
    """

    shape: tuple[int, ...]
    low: float
    high: float
    dtype: str | None = None
    whole: bool = False
    distinct: bool = False
    then: Rule | None = None


@dataclass(frozen=True)
class Sample:
    """Inputs (None: omitted), parameters, and the checks of the results.

    Attributes
    ----------
    inputs, params
        One description per array input; parameters, scalars included.
    gradient
        Whether numeric gradients must agree (False if the function has steps or defines its own gradient).
    tolerance
        Factor on the usual tolerances; ``why`` gives the reason.
    """

    inputs: tuple[Drawn | None, ...]
    params: dict[str, object] = field(default_factory=dict)
    gradient: bool = True
    tolerance: float = 1.0
    why: str = ""


class Draw:
    """Draws operands for sample rules; calling it with inputs and parameters creates the `Sample`."""

    def real(
        self,
        shape: tuple[int, ...],
        low: float = -2.0,
        high: float = 2.0,
        dtype: str | None = None,
        distinct: bool = False,
        then: Rule | None = None,
    ) -> Drawn:
        """Real numbers, in the dtype under test if ``dtype`` is None. ``distinct`` keeps sorting and maxima differentiable.

        ``then(np, x)`` computes the operand from the numbers drawn.
        """
        return Drawn(shape, low, high, dtype, distinct=distinct, then=then)

    def integer(self, shape: tuple[int, ...], low: int, high: int, dtype: str | None = "float32") -> Drawn:
        """Integers in [low, high); float32 by default, like MXNet's indices; in the dtype under test if None."""
        return Drawn(shape, low, high, dtype, whole=True)

    def __call__(self, *inputs: Drawn | None, gradient: bool = True, tolerance: float = 1.0, why: str = "", **params: object) -> Sample:
        """The sample with these inputs (None: omitted), parameters, and checks of the results."""
        return Sample(inputs, params, gradient, tolerance, why)


def samples_of(op: Op) -> list[Sample]:
    """All samples of an operator; a rule may return one or a list."""
    out: list[Sample] = []
    for rule in op.samples:
        got = rule(Draw())
        out += got if isinstance(got, list) else [got]
    return out

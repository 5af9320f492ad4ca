"""The parts of complex numbers, and conjugates. Gradients follow the convention of `graph.gradient`."""

from ..opdef import primitive

#: The dtype of the parts of complex numbers, and that of the numbers.
PART = {"complex64": "float32", "complex128": "float64"}
WHOLE = {part: whole for whole, part in PART.items()}


def _with_imaginary_part(np, data):
    found = np.zeros(data.shape, WHOLE[data.dtype.name])
    found.imag = data  # a product with 1j would make NaN of infinity
    return found


@primitive(host_only=True, reference=lambda np, data: np.real(data).copy(), complex_gradient=True, linear="joint", batch="leading")
def real_part(xp, data):
    """The real parts of complex numbers; real numbers do not change."""


@primitive(host_only=True, reference=lambda np, data: np.imag(data).copy(), complex_gradient=True, linear="joint", batch="leading")
def imaginary_part(xp, data):
    """The imaginary parts of complex numbers; zeros for real ones."""


@primitive(host_only=True, reference=_with_imaginary_part, floats=tuple(WHOLE), complex_gradient=True, linear="joint", batch="leading")
def imaginary_number(xp, data):
    """The complex numbers with real part 0 and these imaginary parts."""


@primitive(host_only=True, reference=lambda np, data: np.conjugate(data), complex_gradient=True, linear="joint", batch="leading")
def conjugate(xp, data):
    """Complex conjugates; real numbers do not change."""


real_part.type(lambda data: (data.shape, PART.get(data.dtype, data.dtype)))
imaginary_part.type(lambda data: (data.shape, PART.get(data.dtype, data.dtype)))
imaginary_number.type(lambda data: (data.shape, WHOLE[data.dtype]))
conjugate.type(lambda data: (data.shape, data.dtype))
# A gradient g means the change Re(g · dz). Im z = Re(-iz) gives -i · dout; of ix it is Re(g · i · dx) = -Im(g) · dx.
real_part.grad(lambda xp, dout: dout)
imaginary_part.grad(lambda xp, dout: xp.imaginary_number(-dout))
imaginary_number.grad(lambda xp, dout: -xp.imaginary_part(dout))
conjugate.grad(lambda xp, dout: xp.conjugate(dout))


def _cases(result):
    """Conformance cases with numbers of known parts a and b: ``result(np, a, b)`` is the result."""

    def rule(make):
        for part, whole in WHOLE.items():
            a, b = make.array([[1, -2.5], [0.5, 3]], part), make.array([[-1, 0.5], [2, 0]], part)
            yield make(
                (a + b * make.np.array(1j)).astype(make.kind(whole)), want=lambda x, a=a, b=b: result(make.np, a, b).astype(x.real.dtype)
            )

    return rule


def _whole_cases(result):
    """The same for results that are complex."""

    def rule(make):
        for case in _cases(lambda np, a, b: a)(make):
            x = case.operands[0]
            yield make(x, want=lambda x: result(x.real, x.imag).astype(x.dtype))

    return rule


real_part.cases(_cases(lambda np, a, b: a))
imaginary_part.cases(_cases(lambda np, a, b: b))
conjugate.cases(_whole_cases(lambda a, b: a - b * 1j))


@imaginary_number.cases
def _(make):
    for part, whole in WHOLE.items():
        yield make(make.array([1, -2.5, 0], part), want=lambda x, whole=whole: (x * 1j).astype(make.kind(whole)))

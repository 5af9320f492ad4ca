"""An error of a deferred operation names the line of the user's code that issued it."""

import inspect

import pytest

import twofold as mx
from twofold import nd
from twofold.errors import MXNetError
from twofold.graph.tables import drop_generation
from twofold_numpy.namespace import NumpyNamespace

BIG = (300, 300)


def broken(*args, **params):
    raise ArithmeticError("on purpose")


@pytest.fixture
def sorting_fails(monkeypatch: pytest.MonkeyPatch):
    drop_generation()
    monkeypatch.setattr(NumpyNamespace, "argsort", staticmethod(broken))
    yield
    drop_generation()


def line(number: int) -> int:
    """The number of the line that many after the first line of the calling function."""
    frame = inspect.currentframe().f_back
    return frame.f_code.co_firstlineno + number


def notes_of(array) -> list[str]:
    with pytest.raises(MXNetError) as caught:
        array.asnumpy()
    return caught.value.__notes__


def test_the_error_names_the_line_that_issued_the_operation(sorting_fails):
    x = nd.ones(BIG)
    y = x * 2
    z = nd.argsort(y)
    w = z + 1
    where = line(3)
    for array in (z, w):
        (note,) = notes_of(array)
        assert note == f"issued at {__file__}:{where}, in test_the_error_names_the_line_that_issued_the_operation"
    assert (y.asnumpy() == 2).all()


def test_the_first_failing_operation_is_named(sorting_fails):
    x = nd.ones(BIG)
    _first, second = (
        nd.argsort(x * 3),
        nd.argsort(x * 5),
    )
    assert f":{line(3)}," in notes_of(second)[0]


def test_the_line_of_a_custom_layer_is_named(sorting_fails):
    class Sorts(mx.gluon.Block):
        def forward(self, x):
            return nd.argsort(x)

    net = mx.gluon.nn.Sequential()
    net.add(Sorts())
    loss = mx.gluon.loss.L1Loss()(net(nd.ones(BIG)), nd.ones(BIG))
    assert "in forward" in notes_of(loss)[0]
    (note,) = notes_of(mx.gluon.loss.L1Loss()(nd.argsort(nd.ones(BIG)), nd.ones(BIG)))
    assert f":{line(9)}," in note


def test_compilation_failures_are_located_too(monkeypatch: pytest.MonkeyPatch):
    drop_generation()
    x = nd.ones(BIG)
    monkeypatch.setattr("twofold_numpy.adapter.NumpyBackend.compile", broken)
    y = x * 2
    y = y + 1
    (note,) = notes_of(y)
    assert f":{line(4)}," in note or f":{line(5)}," in note
    drop_generation()


def test_frames_are_not_kept_alive():
    class Big:
        pass

    import weakref

    def issue():
        local = Big()
        return nd.ones(BIG) * 2, weakref.ref(local)

    y, ref = issue()
    assert ref() is None
    y.wait_to_read()


def test_a_failure_on_another_cpu_device_is_located(sorting_fails, monkeypatch: pytest.MonkeyPatch):
    executor = mx.sym.argsort(mx.sym.Variable("x")).bind(mx.cpu(1), {"x": nd.ones((400, 400), ctx=mx.cpu(1))})
    monkeypatch.setattr("twofold.imperative.dispatch.HAND_OVER", 0)
    out = executor.forward()[0]
    assert f":{line(3)}," in notes_of(out)[0]
    with pytest.raises(MXNetError):
        nd.waitall()

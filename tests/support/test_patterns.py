"""Regular expressions of callers: what is none raises an error that says so, and that MXNet's programs catch."""

import pickle
import re

import pytest

import twofold as mx
from twofold.errors import ParameterError

USES = {
    "Monitor": lambda pattern: mx.mon.Monitor(1, pattern=pattern),
    "collect_params": lambda pattern: mx.gluon.nn.Dense(1).collect_params(pattern),
    "Mixed": lambda pattern: mx.init.Mixed([pattern], [mx.init.One()]),
}


@pytest.mark.parametrize("pattern", ["*weight", "(", "a{99999999999999999999}"])
@pytest.mark.parametrize("use", USES)
def test_a_text_that_is_no_regular_expression_is_refused(use, pattern):
    with pytest.raises(ParameterError, match=rf"^{use}.*this is no regular expression: .*given '{re.escape(pattern)}'; escape") as caught:
        USES[use](pattern)
    assert isinstance(caught.value, re.error)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

"""States that are not those of the iterator are refused, and change nothing."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import EngineError, ParameterError
from twofold.io.iterator import REGISTERED


def rest(batches: Any) -> list[Any]:
    return [batch.data[0].asnumpy().tolist() for batch in batches]


def wrong(state: dict[str, Any]) -> list[Any]:
    """The state with each of its values beyond all limits, or of another type, or missing, and what is none."""
    found: list[Any] = [None, {}, 3, [1]]
    for name in state:
        if name != "epoch":  # there is no last one
            found.append({**state, name: 10**9})
        found += [{**state, name: "x"}, {**state, name: -(10**9)}, {**state, name: 0.5}]
        if name != "start":  # which older states lack
            found.append({key: value for key, value in state.items() if key != name})
    return found


def check_that_other_states_are_refused(iterator: Any) -> None:
    """The iterator, within an epoch, stays as it was, and its own state is accepted."""
    state = json.loads(json.dumps(iterator.state_dict()))
    for other in wrong(state):
        with pytest.raises(ParameterError, match="the state of"):
            iterator.load_state_dict(other)
    assert iterator.state_dict() == state
    expected = rest(iterator)
    assert expected
    iterator.load_state_dict(state)
    assert rest(iterator) == expected


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_iterators_refuse_other_states(name: str, tmp_path: Path) -> None:
    iterator = REGISTERED[name].sample(tmp_path)
    next(iterator)
    check_that_other_states_are_refused(iterator)


@pytest.mark.parametrize("last", ["pad", "roll_over"])
def test_image_iter_refuses_other_states(last: str, tmp_path: Path) -> None:
    path = str(tmp_path / "a.rec")
    file = mx.recordio.MXRecordIO(path, "w")
    for k in range(5):
        file.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, k, k, 0), np.full((2, 2, 3), 9 * k, "uint8"), img_fmt=".png"))
    file.close()
    iterator = mx.image.ImageIter(2, (3, 2, 2), path_imgrec=path, last_batch_handle=last)
    list(iterator)
    iterator.reset()
    next(iterator)
    check_that_other_states_are_refused(iterator)


def test_an_epoch_that_is_over_can_be_saved() -> None:
    one, other = (mx.io.NDArrayIter(np.zeros((5, 1)), batch_size=2) for _ in range(2))
    list(one)
    for _ in range(3):
        assert next(one, None) is None
    other.load_state_dict(one.state_dict())
    assert next(other, None) is None


def test_loaders_refuse_other_states() -> None:
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(list(range(6))), batch_size=2)
    batches = iter(loader)
    next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    for other in wrong(state):
        with pytest.raises(ParameterError, match="the state of"):
            loader.load_state_dict(other)
    loader.load_state_dict(state)
    assert [batch.asnumpy().tolist() for batch in loader] == [[2, 3], [4, 5]]


class Exits(mx.gluon.data.Dataset):
    """Ends the program at one sample."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, idx: int) -> int:
        if idx == 2:
            sys.exit(3)
        return idx


def test_a_dataset_that_exits_in_a_thread_is_an_error() -> None:
    with pytest.raises(EngineError, match="SystemExit in thread DataLoader_0 for sample 2: 3"):
        list(mx.gluon.data.DataLoader(Exits(), 1, num_workers=1, thread_pool=True))

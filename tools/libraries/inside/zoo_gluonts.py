"""The training networks of GluonTS's estimators, with a batch that their own transformations have made of drawn series."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gluonts.dataset.common import ListDataset
from gluonts.mx import (
    CanonicalRNNEstimator,
    DeepAREstimator,
    DeepFactorEstimator,
    DeepStateEstimator,
    DeepVAREstimator,
    GaussianProcessEstimator,
    GPVAREstimator,
    LSTNetEstimator,
    MQCNNEstimator,
    MQRNNEstimator,
    NBEATSEstimator,
    RNN2QRForecaster,
    SimpleFeedForwardEstimator,
    TemporalFusionTransformerEstimator,
    Trainer,
    TransformerEstimator,
    WaveNetEstimator,
)
from gluonts.mx.distribution import NegativeBinomialOutput, StudentTOutput
from gluonts.mx.util import get_hybrid_forward_input_names
from networks import Way

LENGTH, HORIZON, CONTEXT, BATCH = 96, 8, 16, 4
START = "2020-01-01"


def series(count: int, several: bool) -> ListDataset:
    """Waves with noise; as one series of several values, or as many series."""
    random = np.random.RandomState(1)
    waves = 10 + 5 * np.sin(np.arange(LENGTH) / 4 + np.arange(count)[:, None]) + random.standard_normal((count, LENGTH))
    entries = [{"start": START, "target": waves}] if several else [{"start": START, "target": wave} for wave in waves]
    for index, entry in enumerate(entries):
        entry.update({"feat_static_cat": [index], "item_id": str(index)})
    return ListDataset(entries, freq="D", one_dim_target=not several)


def estimator(kind: Any, **arguments: Any) -> Any:
    """An estimator of a kind with small networks, trained by steps of one batch."""
    return functools.partial(kind, trainer=Trainer(epochs=1, num_batches_per_epoch=1, hybridize=False), **arguments)


DAILY = {"freq": "D", "prediction_length": HORIZON, "context_length": CONTEXT}
SHORT = {"prediction_length": HORIZON, "context_length": CONTEXT}
ESTIMATORS = {
    "SimpleFeedForward": (estimator(SimpleFeedForwardEstimator, **SHORT), False),
    "DeepAR": (estimator(DeepAREstimator, **DAILY, dropout_rate=0.0), False),
    "DeepAR with GRU cells and categories": (
        estimator(DeepAREstimator, **DAILY, cell_type="gru", dropout_rate=0.0, use_feat_static_cat=True, cardinality=[8]),
        False,
    ),
    "DeepAR, negative binomial": (estimator(DeepAREstimator, **DAILY, dropout_rate=0.0, distr_output=NegativeBinomialOutput()), False),
    "CanonicalRNN": (estimator(CanonicalRNNEstimator, **DAILY, cardinality=[8]), False),
    "DeepFactor": (estimator(DeepFactorEstimator, **DAILY, cardinality=[8]), False),
    "DeepState": (estimator(DeepStateEstimator, freq="D", prediction_length=HORIZON, cardinality=[8], use_feat_static_cat=True), False),
    "DeepVAR": (estimator(DeepVAREstimator, **DAILY, target_dim=3, dropout_rate=0.0), True),
    "GPVAR": (estimator(GPVAREstimator, **DAILY, target_dim=3, dropout_rate=0.0), True),
    "GaussianProcess": (estimator(GaussianProcessEstimator, **DAILY, cardinality=8), False),
    "LSTNet": (
        estimator(LSTNetEstimator, **SHORT, num_series=3, skip_size=4, ar_window=8, channels=8, kernel_size=4, dropout_rate=0.0),
        True,
    ),
    "MQCNN": (estimator(MQCNNEstimator, **DAILY), False),
    "MQRNN": (estimator(MQRNNEstimator, **DAILY), False),
    "NBEATS": (estimator(NBEATSEstimator, **DAILY, num_stacks=4, widths=[32]), False),
    "RNN2QR": (
        estimator(
            RNN2QRForecaster,
            **DAILY,
            cardinality=[8],
            embedding_dimension=4,
            encoder_rnn_layer=1,
            encoder_rnn_num_hidden=8,
            decoder_mlp_layer=[8],
            decoder_mlp_static_dim=3,
        ),
        False,
    ),
    "TemporalFusionTransformer": (estimator(TemporalFusionTransformerEstimator, **DAILY, dropout_rate=0.0), False),
    "Transformer": (estimator(TransformerEstimator, **DAILY, dropout_rate=0.0), False),
    "Transformer, Student's t": (estimator(TransformerEstimator, **DAILY, dropout_rate=0.0, distr_output=StudentTOutput()), False),
    "WaveNet": (estimator(WaveNetEstimator, freq="D", prediction_length=HORIZON), False),
}


def names() -> list[str]:
    """The estimators that are tried."""
    return list(ESTIMATORS)


class Batch:
    """An estimator's training network and its inputs, made once."""

    def __init__(self, name: str) -> None:
        make, several = ESTIMATORS[name]
        np.random.seed(7)  # noqa: NPY002  (the instance splitters draw from it)
        self.estimator = make()
        self.estimator.batch_size = BATCH  # two of them take no such argument
        data = series(3 if several else 8, several)
        transformed = self.estimator.create_transformation().apply(data)
        loader = self.estimator.create_training_data_loader(transformed)
        self.fields = next(iter(loader))

    def network(self) -> Any:
        """A new training network."""
        return self.estimator.create_training_network()

    def inputs(self) -> list[Any]:
        """What the network is called with."""
        return [self.fields[name] for name in get_hybrid_forward_input_names(type(self.network()))]


def candidates(name: str) -> list[Way]:
    """The one way."""
    batch = Batch(name)
    return [Way(batch.network, batch.inputs)]

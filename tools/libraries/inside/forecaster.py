"""GluonTS: DeepAR learns to forecast waves."""

from __future__ import annotations

from gluonts.evaluation import Evaluator, make_evaluation_predictions
from gluonts.mx import DeepAREstimator, Trainer
from programs import answer_with
from zoo_gluonts import HORIZON, series


def train(version: str) -> tuple[float, float]:
    """The mean weighted quantile loss of forecasts for the last days."""
    data = series(12, several=False)
    estimator = DeepAREstimator(
        freq="D",
        prediction_length=HORIZON,
        context_length=3 * HORIZON,
        num_cells=20,
        trainer=Trainer(epochs=6, num_batches_per_epoch=20, learning_rate=1e-2),
    )
    predictor = estimator.train(data)
    forecasts, wholes = make_evaluation_predictions(data, predictor=predictor, num_samples=50)
    measures, _ = Evaluator(quantiles=[0.1, 0.5, 0.9], num_workers=0)(wholes, forecasts)
    return measures["mean_wQuantileLoss"], 0.1


if __name__ == "__main__":
    answer_with(train)

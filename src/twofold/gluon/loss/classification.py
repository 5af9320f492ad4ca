"""Losses of predicted classes: cross-entropies, divergences, margins, alignments of sequences."""

from typing import Any

from ...errors import ParameterError
from ..refusals import Refused
from .base import Loss

__all__ = [
    "CTCLoss",
    "HingeLoss",
    "KLDivLoss",
    "LogisticLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
]

TINY = 1e-12


def _softplus_of_minus_abs(F: Any, x: Any) -> Any:
    """``log(1 + exp(−|x|))``, which cannot overflow."""
    return F.Activation(-F.abs(x), act_type="softrelu")


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of independent yes-or-no labels: ``−mean(label · log(p) + (1 − label) · log(1 − p))``.

    Parameters
    ----------
    from_sigmoid
        Whether probabilities p are predicted; else their logits, which is more exact.
    weight
        What the loss is multiplied by.
    batch_axis
        The samples' axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None) -> Any:
        """The loss (n,) of predictions and labels (n, …); ``pos_weight`` multiplies the part of positive labels."""
        label = F.reshape_like(label, pred)
        loss = self._of_probabilities(F, pred, label, pos_weight) if self._from_sigmoid else self._of_logits(F, pred, label, pos_weight)
        return self._mean(F, self._weighted(F, loss, sample_weight))

    @staticmethod
    def _of_logits(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        if pos_weight is None:
            return F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        factor = 1 + F.broadcast_mul(pos_weight - 1, label)
        return pred - pred * label + factor * (_softplus_of_minus_abs(F, pred) + F.relu(-pred))

    @staticmethod
    def _of_probabilities(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        positive = F.log(pred + TINY) * label
        if pos_weight is not None:
            positive = F.broadcast_mul(positive, pos_weight)
        return -(positive + F.log(1 - pred + TINY) * (1 - label))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of one label out of several classes: ``−log(softmax(pred)[label])``.

    Parameters
    ----------
    axis
        The classes' axis.
    sparse_label
        Whether labels are numbers of classes; else probabilities of all classes.
    from_logits
        Whether logarithms of probabilities are predicted, as `log_softmax` gives them.
    weight
        What the loss is multiplied by.
    batch_axis
        The samples' axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    >>> loss(mx.nd.array([[0, 0], [200, 0]]), mx.nd.array([1, 0])).asnumpy().round(3).tolist()
    [0.6930000185966492, 0.0]
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss (n,) of predictions (n, …, classes) and labels: without the classes' axis if sparse, else of the same shape."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * F.reshape_like(label, pred), axis=self._axis, keepdims=True)
        return self._mean(F, self._weighted(F, loss, sample_weight))


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of labels from predictions, summed over each sample: ``Σ label · (log(label) − pred)``.

    Parameters
    ----------
    from_logits
        Whether logarithms of probabilities are predicted; else what `log_softmax` makes them of.
    axis
        The axis of probabilities.
    weight
        What the loss is multiplied by.
    batch_axis
        The samples' axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss (n,) of predictions and probabilities (n, …)."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = self._weighted(F, label * (F.log(label + TINY) - pred), sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """The negative log likelihood of label sequences that are not aligned with the predictions.

    Parameters
    ----------
    layout
        ``"NTC"`` or ``"TNC"``: the axes of predictions.
    label_layout
        ``"NT"`` or ``"TN"``: the axes of labels.
    weight
        What the loss is multiplied by.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        For another layout.

    Notes
    -----
    Graves, Fernández, Gomez and Schmidhuber, Connectionist temporal classification, ICML 2006. The last class is the blank; labels
    are padded with -1, or their lengths are given.
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any) -> None:
        if layout not in ("NTC", "TNC"):
            raise Refused("Only 'NTC' and 'TNC' layouts for pred are supported", f"Got: {layout}", "transpose the predictions")
        if label_layout not in ("NT", "TN"):
            raise Refused("Only 'NT' and 'TN' layouts for label are supported", f"Got: {label_layout}", "transpose the labels")
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, pred_lengths: Any = None, label_lengths: Any = None, sample_weight: Any = None
    ) -> Any:
        """The loss (n,) of logits (n, t, classes), labels (n, l), and lengths (n,) of both where sequences are shorter."""
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, dim1=0, dim2=1)
        has_pred, has_label = pred_lengths is not None, label_lengths is not None
        loss = F.CTCLoss(
            pred, label, pred_lengths, label_lengths, use_data_lengths=has_pred, use_label_lengths=has_label, blank_label="last"
        )
        return self._weighted(F, loss, sample_weight)


class HingeLoss(Loss):
    """``mean(max(0, margin − pred · label))`` of labels −1 and 1.

    Parameters
    ----------
    margin
        The margin.
    weight
        What the loss is multiplied by.
    batch_axis
        The samples' axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss (n,) of predictions and labels (n, …), and weights that broadcast to them."""
        loss = self._of_slack(F, F.relu(self._margin - pred * F.reshape_like(label, pred)))
        return self._mean(F, self._weighted(F, loss, sample_weight))

    @staticmethod
    def _of_slack(F: Any, slack: Any) -> Any:
        return slack


class SquaredHingeLoss(HingeLoss):
    """``mean(max(0, margin − pred · label)²)`` of labels −1 and 1; parameters as `HingeLoss`."""

    @staticmethod
    def _of_slack(F: Any, slack: Any) -> Any:
        return F.square(slack)


class LogisticLoss(Loss):
    """``mean(log(1 + exp(−pred · label)))`` of labels −1 and 1.

    Parameters
    ----------
    weight
        What the loss is multiplied by.
    batch_axis
        The samples' axis.
    label_format
        ``"signed"``: labels are −1 and 1; ``"binary"``: they are 0 and 1.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        For another format.
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ParameterError("label_format can only be signed or binary", f"recieved {label_format}", "use one of these")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """The loss (n,) of predictions and labels (n, …), and weights that broadcast to them."""
        label = F.reshape_like(label, pred)
        if self._label_format == "signed":
            label = (label + 1) / 2
        loss = F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        return self._mean(F, self._weighted(F, loss, sample_weight))

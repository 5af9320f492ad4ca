"""Classification losses: cross-entropies, divergences, margin losses, connectionist temporal classification."""

import math
from typing import Unpack

from ...errors import InvalidValue, ParameterError
from ..hybrid_block import Mistake, Naming, Shape
from ..signatures import Functions, Operand
from .base import Loss, unlike_predictions

TINY = 1e-12


def _softplus_of_minus_abs(F: Functions, x: Operand) -> Operand:
    """``log(1 + exp(−|x|))``, which cannot overflow."""
    return F.Activation(-F.abs(x), act_type="softrelu")


class SigmoidBinaryCrossEntropyLoss(Loss, arrays="nd"):
    """Cross-entropy of independent binary labels: ``−mean(label · log(p) + (1 − label) · log(1 − p))``.

    Parameters
    ----------
    from_sigmoid
        Whether predictions are probabilities p instead of logits, which are numerically more stable.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    _labels_elements = True

    def __init__(self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None, pos_weight: Operand | None = None
    ) -> Operand:
        """The loss (n,) of predictions and labels (n, …); ``pos_weight`` multiplies the term of positive labels."""
        label = F.reshape_like(label, pred)
        loss = self._of_probabilities(F, pred, label, pos_weight) if self._from_sigmoid else self._of_logits(F, pred, label, pos_weight)
        return self._mean(F, self._weighted(F, loss, sample_weight))

    @staticmethod
    def _of_logits(F: Functions, pred: Operand, label: Operand, pos_weight: Operand | None) -> Operand:
        if pos_weight is None:
            # max(x, 0) − x · z + log(1 + exp(−|x|)): the usual form of the cross-entropy of logits x, in which no exponential overflows
            return F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        factor = 1 + F.broadcast_mul(pos_weight - 1, label)
        # The last term is log(1 + exp(-pred)) as a sum that cannot overflow; the factor weights positive labels.
        return pred - pred * label + factor * (_softplus_of_minus_abs(F, pred) + F.relu(-pred))

    @staticmethod
    def _of_probabilities(F: Functions, pred: Operand, label: Operand, pos_weight: Operand | None) -> Operand:
        # Probabilities of exactly 0 or 1 are common in float32; their logarithms would make the loss infinite.
        positive = F.log(pred + TINY) * label
        if pos_weight is not None:
            positive = F.broadcast_mul(positive, pos_weight)
        return -(positive + F.log(1 - pred + TINY) * (1 - label))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss, arrays="nd"):
    """Cross-entropy of one of several classes: ``−log(softmax(pred)[label])``.

    Parameters
    ----------
    axis
        The class axis.
    sparse_label
        Whether labels are class indices instead of probabilities of all classes.
    from_logits
        Whether predictions are log probabilities, as returned by `log_softmax`.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    label_smoothing
        Share of each label, in [0, 1], that all classes get in equal parts.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If ``label_smoothing`` is outside of [0, 1].

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
        label_smoothing: float = 0.0,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits
        if not 0 <= label_smoothing <= 1:
            raise ParameterError("SoftmaxCrossEntropyLoss: label_smoothing is a share", label_smoothing, "pass a number in [0, 1]")
        self._smoothing = label_smoothing

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions (n, …, classes) and labels, which lack the class axis if sparse."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            # the axis stays, so that sample weights broadcast as for dense labels
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * F.reshape_like(label, pred), axis=self._axis, keepdims=True)
        if self._smoothing:
            # the cross-entropy with all classes in equal parts
            even = -F.mean(pred, axis=self._axis, keepdims=True)
            loss = (1 - self._smoothing) * loss + self._smoothing * even
        return self._mean(F, self._weighted(F, loss, sample_weight))

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        if self._sparse_label and shapes[0] == shapes[1]:
            what = "the labels have a value for each class, where class numbers are expected"
            given = f"labels {shapes[1]} for predictions {shapes[0]}"
            return what, given, "pass class numbers, or make the loss with sparse_label=False"
        is_sparse = math.prod(shapes[1]) == math.prod(shapes[0][:-1])
        return None if is_sparse or math.prod(shapes[0]) == math.prod(shapes[1]) else unlike_predictions(shapes[0], shapes[1])


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss, arrays="nd"):
    """The Kullback-Leibler divergence of labels from predictions, summed over each sample: ``Σ label · (log(label) − pred)``.

    Parameters
    ----------
    from_logits
        Whether predictions are log probabilities instead of inputs of `log_softmax`.
    axis
        The class axis.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    _labels_elements = True

    def __init__(
        self, from_logits: bool = True, axis: int = -1, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and probabilities (n, …)."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        # TINY: a label of 0 adds 0, where 0 · log(0) would be NaN
        loss = self._weighted(F, label * (F.log(label + TINY) - pred), sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss, arrays="nd"):
    """Negative log likelihood of label sequences that are not aligned with the predictions.

    Parameters
    ----------
    layout
        Order of the axes of predictions: ``"NTC"`` or ``"TNC"``.
    label_layout
        Order of the axes of labels: ``"NT"`` or ``"TN"``.
    weight
        Factor of the loss; None for 1.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If a layout is unknown.

    Notes
    -----
    Graves, Fernández, Gomez and Schmidhuber, Connectionist temporal classification, ICML 2006. The last class is the blank. Labels
    are padded with -1 unless their lengths are passed.
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Unpack[Naming]) -> None:
        if layout not in ("NTC", "TNC"):
            raise InvalidValue("Only 'NTC' and 'TNC' layouts for pred are supported", f"Got: {layout}", "transpose the predictions")
        if label_layout not in ("NT", "TN"):
            raise InvalidValue("Only 'NT' and 'TN' layouts for label are supported", f"Got: {label_layout}", "transpose the labels")
        self._layout = layout
        self._label_layout = label_layout
        # the batch axis of the labels; the loss itself has only the batch axis
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self,
        F: Functions,
        pred: Operand,
        label: Operand,
        pred_lengths: Operand | None = None,
        label_lengths: Operand | None = None,
        sample_weight: Operand | None = None,
    ) -> Operand:
        """The loss (n,) of logits (n, t, classes), labels (n, l), and optional sequence lengths (n,) of both."""
        if self._layout == "NTC":
            # the operator wants time first in predictions, and the batch first in labels
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, dim1=0, dim2=1)
        # The operator has flags for the lengths, because in MXNet's graphs a missing optional input is not an argument.
        has_pred, has_label = pred_lengths is not None, label_lengths is not None
        loss = F.CTCLoss(
            pred, label, pred_lengths, label_lengths, use_data_lengths=has_pred, use_label_lengths=has_label, blank_label="last"
        )
        return self._weighted(F, loss, sample_weight)


class HingeLoss(Loss, arrays="nd"):
    """``mean(max(0, margin − pred · label))`` for labels −1 and 1.

    Parameters
    ----------
    margin
        The margin.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    _labels_elements = True

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and labels (n, …), with sample weights that broadcast to them."""
        loss = self._of_slack(F, F.relu(self._margin - pred * F.reshape_like(label, pred)))
        return self._mean(F, self._weighted(F, loss, sample_weight))

    @staticmethod
    def _of_slack(F: Functions, slack: Operand) -> Operand:
        return slack


class SquaredHingeLoss(HingeLoss):
    """``mean(max(0, margin − pred · label)²)`` for labels −1 and 1; parameters as for `HingeLoss`."""

    @staticmethod
    def _of_slack(F: Functions, slack: Operand) -> Operand:
        return F.square(slack)


class LogisticLoss(Loss, arrays="nd"):
    """``mean(log(1 + exp(−pred · label)))`` for labels −1 and 1.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    label_format
        ``"signed"`` for labels −1 and 1, ``"binary"`` for labels 0 and 1.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Raises
    ------
    ParameterError
        If the format is unknown.
    """

    _labels_elements = True

    def __init__(self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ParameterError("label_format can only be signed or binary", f"recieved {label_format}", "use one of these")
        self._label_format = label_format

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and labels (n, …), with sample weights that broadcast to them."""
        label = F.reshape_like(label, pred)
        # With labels 0 and 1 it is the cross-entropy of a sigmoid.
        if self._label_format == "signed":
            label = (label + 1) / 2
        loss = F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        return self._mean(F, self._weighted(F, loss, sample_weight))

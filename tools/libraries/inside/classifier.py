"""GluonNLP: a small BERT learns which of two words comes first in a text."""

from __future__ import annotations

import gluonnlp as nlp
import mxnet as mx
import numpy as np
from programs import answer_with

WORDS = [f"word{i}" for i in range(20)]


def texts(count: int) -> list[tuple[list[str], int]]:
    """Texts of several lengths that have the first two words in one order or the other."""
    random = np.random.RandomState(2)
    found = []
    for _ in range(count):
        words = [WORDS[i] for i in random.randint(2, len(WORDS), random.randint(6, 12))]
        label = int(random.randint(2))
        places = sorted(random.permutation(len(words))[:2])
        for place, word in zip(places, WORDS[1::-1] if label else WORDS[:2]):
            words[place] = word
        found.append((words, label))
    return found


def train(version: str) -> tuple[float, float]:
    """The mean loss of the last batches."""
    vocabulary = nlp.Vocab(nlp.data.count_tokens([w for words, _ in texts(200) for w in words]))
    encoder = nlp.model.BERTEncoder(units=32, hidden_size=64, num_layers=2, num_heads=4, max_length=16, dropout=0.0)
    bert = nlp.model.BERTModel(
        encoder, vocab_size=len(vocabulary), units=32, embed_size=32, token_type_vocab_size=2, use_decoder=False, use_classifier=False
    )
    net = nlp.model.BERTClassifier(bert, num_classes=2, dropout=0.0)
    net.initialize(mx.init.Normal(0.05))
    net.hybridize()
    data = mx.gluon.data.SimpleDataset(texts(1600)).transform(lambda words, label: (vocabulary[words], len(words), label))
    pad = nlp.data.batchify
    together = pad.Tuple(pad.Pad(pad_val=vocabulary[vocabulary.padding_token]), pad.Stack("float32"), pad.Stack("float32"))
    sampler = nlp.data.FixedBucketSampler([len(words) for words, _ in texts(1600)], batch_size=32, num_buckets=3, shuffle=True)
    batches = mx.gluon.data.DataLoader(data, batch_sampler=sampler, batchify_fn=together)
    trainer = mx.gluon.Trainer(net.collect_params(), "bertadam", {"learning_rate": 2e-3})
    loss_of = mx.gluon.loss.SoftmaxCELoss()
    losses: list[float] = []
    for _ in range(6):
        for batch in batches:
            words, lengths, labels = (part.as_in_context(mx.cpu()) for part in batch)
            with mx.autograd.record():
                loss = loss_of(net(words, mx.nd.zeros_like(words), lengths), labels).mean()
            loss.backward()
            nlp.utils.clip_grad_global_norm([p for p in net.collect_params().values() if p.grad_req != "null"], 1.0)
            trainer.step(1)
            losses.append(loss.asscalar())
    return sum(losses[-20:]) / 20, 0.1


if __name__ == "__main__":
    answer_with(train)

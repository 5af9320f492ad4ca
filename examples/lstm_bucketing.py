"""A language model as scripts of 2017 wrote it: sentences in buckets, stacked LSTM cells, BucketingModule. Prints words per second.

Run: python -m twofold run examples/lstm_bucketing.py --num-epochs 3
"""

import argparse
import random
import time

import mxnet as mx
import numpy as np

parser = argparse.ArgumentParser(description="Train an LSTM language model on generated sentences")
parser.add_argument("--num-layers", type=int, default=2, help="number of stacked cells")
parser.add_argument("--num-hidden", type=int, default=100, help="hidden units of each")
parser.add_argument("--num-embed", type=int, default=100, help="size of word vectors")
parser.add_argument("--num-epochs", type=int, default=3)
parser.add_argument("--num-sentences", type=int, default=2000)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--fused", action="store_true", help="one RNN operator for all layers and steps instead of cells")
args = parser.parse_args()

buckets = [8, 12, 16]
start_label, invalid_label = 1, 0
random.seed(1)
np.random.seed(1)
mx.random.seed(1)

# Sentences such as "the gray cat sees a dog that the old horse likes": the model can learn which word class follows.
nouns = "cat dog horse bird fish mouse child king".split()
adjectives = "gray old small happy tired".split()
verbs = "sees likes follows hears paints".split()


def noun_phrase(depth):
    words = [random.choice(["the", "a"])]
    words += random.sample(adjectives, random.choice([0, 1, 1, 2])) + [random.choice(nouns)]
    if depth and random.random() < 0.4:
        words += ["that"] + noun_phrase(depth - 1) + [random.choice(verbs)]
    return words


sentences = [noun_phrase(2) + [random.choice(verbs)] + noun_phrase(1) + ["."] for _ in range(args.num_sentences)]
coded, vocab = mx.rnn.encode_sentences(sentences, start_label=start_label, invalid_label=invalid_label)
coded = [sentence for sentence in coded if len(sentence) <= buckets[-1]]
train = mx.rnn.BucketSentenceIter(coded, args.batch_size, buckets=buckets, invalid_label=invalid_label)

if args.fused:
    stack = mx.rnn.FusedRNNCell(args.num_hidden, num_layers=args.num_layers, mode="lstm", prefix="lstm_")
else:
    stack = mx.rnn.SequentialRNNCell()
    for i in range(args.num_layers):
        stack.add(mx.rnn.LSTMCell(num_hidden=args.num_hidden, prefix="lstm_l%d_" % i))


def sym_gen(seq_len):
    data = mx.sym.Variable("data")
    label = mx.sym.Variable("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=len(vocab) + 1, output_dim=args.num_embed, name="embed")
    stack.reset()
    outputs, states = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
    pred = mx.sym.Reshape(outputs, shape=(-1, args.num_hidden))
    pred = mx.sym.FullyConnected(data=pred, num_hidden=len(vocab) + 1, name="pred")
    label = mx.sym.Reshape(label, shape=(-1,))
    pred = mx.sym.SoftmaxOutput(data=pred, label=label, use_ignore=True, ignore_label=invalid_label, name="softmax")
    return pred, ("data",), ("softmax_label",)


speeds = []
started = [time.time(), 0]


def count_words(param):
    shape = param.locals["data_batch"].data[0].shape
    started[1] += shape[0] * shape[1]


def at_epoch_end(epoch, symbol, arg_params, aux_params):
    speeds.append(started[1] / (time.time() - started[0]))
    started[:] = [time.time(), 0]


model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=train.default_bucket_key, context=mx.cpu())
perplexity = mx.metric.Perplexity(invalid_label)
model.fit(
    train_data=train,
    eval_metric=perplexity,
    optimizer="adam",
    optimizer_params={"learning_rate": 0.005},
    initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
    num_epoch=args.num_epochs,
    batch_end_callback=count_words,
    epoch_end_callback=at_epoch_end,
)
print("perplexity: {:.3f}".format(perplexity.get()[1]))
print("words/s: {:.0f}".format(max(speeds)))

"""A key-value store step by step: initialize, push from four devices, run a custom updater, and pull to all of them.

Run: python examples/key_value_store.py (with TWOFOLD_FAKE_GPUS=4 on simulated GPUs)
"""

import twofold as mx
from twofold import nd

devices = [mx.gpu(k) if k < mx.num_gpus() else mx.cpu(k) for k in range(4)]
store = mx.kv.create("device")

store.init("weight", nd.ones((2, 3)) * 2)
out = nd.zeros((2, 3))
store.pull("weight", out=out)
print("initial     ", out.asnumpy().tolist())

store.push("weight", [nd.ones((2, 3), device) for device in devices])
store.pull("weight", out=out)
print("the sum of 4", out.asnumpy().tolist())


def update(key, pushed, stored):
    """Add twice what was pushed."""
    stored += pushed * 2


store._set_updater(update)
store.push("weight", nd.ones((2, 3)))
outs = [nd.zeros((2, 3), device) for device in devices]
store.pull("weight", out=outs)
for array in outs:
    print(f"on {array.context}:", array.asnumpy().tolist())

"""Nine networks to train, written once in Gluon, for Twofold and MXNet, and once in torch, with the same weights."""

#: Steps over which the losses of all libraries have to agree.
STEPS = 20
#: The libraries that train a network in a process of their own to measure its memory.
LIBRARIES = ("twofold", "torch", "torch.compile", "mxnet")

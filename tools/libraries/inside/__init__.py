"""What runs in a library's own process, by Twofold and by MXNet 1.9.1 alike: this package is read by Python 3.9 too.

It imports neither Twofold nor the rest of `tools`: `mxnet` is what the process has under that name.
"""

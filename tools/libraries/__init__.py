"""Libraries that were built on MXNet 1.x, unmodified, by Twofold and by MXNet: `python -m tools.libraries`."""

"""What environment variables ask to happen when the package is imported."""

import importlib
import os

if os.environ.get("MXNET_PROFILER_AUTOSTART", "0") == "1":  # the profiler starts when it is loaded
    importlib.import_module(".profiler", __package__)

"""The rows of the history: each file one aspect. asv times ``time_*``, takes what ``track_*`` return and the peak of ``peakmem_*``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # asv finds this folder by itself, but not what it shares with other measurements

"""asv's benchmarks, one file per aspect: ``time_*`` are timed, ``track_*`` return a value, ``peakmem_*`` measure peak memory."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # asv finds this folder, but not the modules that it shares with the others

"""The rows of the history: each file one aspect. asv times ``time_*``, takes what ``track_*`` return and the peak of ``peakmem_*``."""

"""Operations and patterns at every size beside NumPy, to find the sizes at which one becomes slow: ``make bench-cliffs``."""

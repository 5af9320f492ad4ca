"""The items in each library: modules with ``about()`` and ``CASES``, functions from arrays to a case by workload and variant."""

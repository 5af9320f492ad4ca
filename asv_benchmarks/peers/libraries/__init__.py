"""How each library does the items: in every module ``about()`` and ``CASES``, which makes a case from arrays, by work and by way."""

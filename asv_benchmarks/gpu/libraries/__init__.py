"""How each library runs the items on a GPU: a table ``CASES``, its version and device (``about``), and how it frees memory."""

"""How each library does the items on a GPU: a table ``CASES`` of work and way, what it says ``about`` itself, how it gives memory back."""

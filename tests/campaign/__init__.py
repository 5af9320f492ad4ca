"""``make campaign``: the random searches, for hours, and the page that says what they found."""

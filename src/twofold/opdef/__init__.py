"""What an operator is and how it is declared, found and shown; knows no array library."""

"""What the program finds in some 200 takes, as a table, and the comparison with it."""

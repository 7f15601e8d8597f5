"""Tables of numbers as people write them: lines, columns, and what their names mean."""

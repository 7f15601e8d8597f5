"""From files to one take that can be fitted: before there is a figure."""

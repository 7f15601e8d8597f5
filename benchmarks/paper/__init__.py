"""The paper's experiments done again, each with its numbers beside the paper's.

One module per experiment: `measure` gives its numbers as plain values, `section` its part of the page, `rivals` what is
compared with whom. `python -m benchmarks.paper` runs them and writes docs/paper-results.md.
"""

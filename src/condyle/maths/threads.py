"""One thread for the matrices of a fit: they are small, and threads would wait for each other most of the time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limit_threads() -> Iterator[None]:
    """One thread for linear algebra meanwhile, as many as before afterwards; nothing where one is set already."""
    if all(os.environ.get(name) == "1" for name in THREAD_VARIABLES):
        yield
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1, user_api="blas"):
        yield
